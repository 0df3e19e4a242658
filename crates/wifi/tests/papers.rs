//! The airtimes stated by the papers, computed with this crate and, where they differ, with the papers' constants.

use airbound_units::{ByteCount, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::mpdu::{Protection, mpdu_of_packet};
use airbound_wifi::timing::preamble;
use airbound_wifi::{Band, EdcaParameters, GuardInterval, Legacy, Rate, Width, control_frames};

const BAND: Band = Band::Ghz5;

/// papers/wqm.md Sec. IV-B. Its equations are in `airbound-control`, with their controller.
#[test]
fn an_ht_aggregate_cannot_hold_64_full_packets() {
    // 65 535 B hold 42, below the paper's bound.
    let mpdu = mpdu_of_packet(ByteCount::new(1_500), Protection::Open);
    let fastest = Rate::ht(31, Width::Mhz40, GuardInterval::Ns400).unwrap();
    assert_eq!(AmpduLimits::ht().max_mpdus_of(mpdu, fastest), 42);
}

/// papers/low-delay-rate-allocation.md Sec. 4.1, footnote 6.
mod rate_allocation {
    use super::*;

    #[test]
    fn t_acc_is_difs_and_eight_slots() {
        let cw_min = u64::from(EdcaParameters::dcf().cw_min);
        // 106 us is the mean over a window of CW_min + 1 slots; footnote 5's interval up to 169 us is DIFS and 15.
        assert_eq!(BAND.difs() + BAND.slot() * (cw_min + 1) / 2, Span::from_micros(106));
        assert_eq!(BAND.difs() + BAND.slot() * cw_min, Span::from_micros(169));
        // The mean of 0 to 15 slots is half a slot less.
        assert_eq!(BAND.difs() + BAND.slot() * cw_min / 2, Span::from_nanos(101_500));
    }

    #[test]
    fn t_oh_is_preamble_sifs_and_block_ack() {
        let rate = Rate::vht(9, 3, Width::Mhz80, GuardInterval::Ns400).unwrap();
        let sifs_and_block_ack = |rate| BAND.sifs() + control_frames::block_ack(rate, BAND);
        let vht_sig_b = Span::from_micros(4);
        // 108 us exactly: a preamble of three streams without VHT-SIG-B (48 us, as long as that of HT and as ns-3
        // counts it), SIFS, and a BlockAck at 12 Mbit/s (44 us).
        assert_eq!(preamble(rate) - vht_sig_b + sifs_and_block_ack(Legacy::Mbps12), Span::from_micros(108));
        // With the standard's preamble 108 lies between BlockAcks at 24 and at 12 Mbit/s.
        let standard = |basic| (preamble(rate) + sifs_and_block_ack(basic)).as_micros();
        assert_eq!([Legacy::Mbps24, Legacy::Mbps12].map(standard), [100, 112]);
    }

    #[test]
    fn mu_r_are_rates_between_those_of_three_streams() {
        // 513 and 850 Mbit/s are means over rates that a card with three streams at 80 MHz chooses from.
        let rates =
            |mcs| Rate::vht(mcs, 3, Width::Mhz80, GuardInterval::Ns400).unwrap().bit_rate().as_mbps_f64();
        assert!(rates(3) < 513.0 && 513.0 < rates(4));
        assert!(rates(5) < 850.0 && 850.0 < rates(7));
    }
}
