//! The cores of real-time video under arbitrary calls.

use std::collections::BTreeMap;

use airbound_senders::rtp::fec::{FecConfig, FecDecoder, FecEncoder, FecKind, MediaPacket, ParityPacket};
use airbound_senders::rtp::gcc::{
    FeedbackCollector, FeedbackConfig, Gcc, GccConfig, LossResponse, Pacer, PacketResult, PacketSent,
    Priority, ProbeCluster, TransportFeedback,
};
use airbound_senders::rtp::{HistoryConfig, NackConfig, NackRequester, RetransmissionHistory};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use bolero::TypeGenerator;

/// The clock advances, or goes back.
fn pass(now: &mut Instant, micros: i32) {
    let span = Span::from_micros(u64::from(micros.unsigned_abs()));
    *now = if micros < 0 { *now - span } else { *now + span };
}

#[derive(Debug, Clone, TypeGenerator)]
enum GccOp {
    Pass(i32),
    /// The next packets are sent together.
    Send(u8, u16),
    /// A packet with any number.
    SendAny(u64, u64, Option<u32>),
    /// The oldest unreported packets are reported; each arrives some time after the last, or not at all.
    Report(Vec<Option<u16>>),
    /// A report of unknown packets, or of another clock.
    ReportAny(Vec<(u64, Option<u64>)>),
    Deadline,
}

#[test]
fn congestion_control_survives_any_order_of_calls_and_keeps_its_bounds() {
    bolero::check!().with_type::<(bool, u8, Vec<GccOp>)>().for_each(|(probing, loss_based, ops)| {
        let loss_based =
            [LossResponse::Model, LossResponse::Ranges, LossResponse::Off][usize::from(loss_based % 3)];
        let config = GccConfig { probing: *probing, loss_based, ..GccConfig::default() };
        let mut gcc = Gcc::new(config).expect("valid");
        let (mut now, mut arrival) = (Instant::ZERO, Instant::ZERO);
        let (mut next, mut reported) = (0, 0);
        for op in ops {
            match op {
                GccOp::Pass(micros) => pass(&mut now, *micros),
                GccOp::Send(count, size) => {
                    for _ in 0..*count {
                        let size = ByteCount::new(u64::from(*size));
                        gcc.on_sent(now, PacketSent { sequence: next, size, probe: Some(next as u32 / 10) });
                        next += 1;
                    }
                }
                GccOp::SendAny(sequence, size, probe) => {
                    let (sequence, size, probe) = (*sequence, ByteCount::new(*size), *probe);
                    gcc.on_sent(now, PacketSent { sequence, size, probe });
                }
                GccOp::Report(arrivals) => {
                    let mut packets = Vec::new();
                    for later in arrivals {
                        if let Some(later) = later {
                            arrival += Span::from_micros(u64::from(*later));
                        }
                        packets.push(PacketResult { sequence: reported, arrival: later.map(|_| arrival) });
                        reported += 1;
                    }
                    gcc.on_feedback(now, &TransportFeedback { packets });
                }
                GccOp::ReportAny(packets) => {
                    let any = |&(sequence, arrival): &(u64, Option<u64>)| PacketResult {
                        sequence,
                        arrival: arrival.map(Instant::from_nanos),
                    };
                    let feedback = TransportFeedback { packets: packets.iter().map(any).collect() };
                    assert!(feedback.wire_size().as_u64() >= 20);
                    gcc.on_feedback(now, &feedback);
                }
                GccOp::Deadline => gcc.on_deadline(now),
            }
            for _ in 0..100 {
                let Some(probe) = gcc.next_probe(now) else { break };
                assert!(probe.rate <= config.max_rate && probe.packets > 0);
            }
            assert!(gcc.next_probe(now).is_none(), "probes never end");
            assert!((config.min_rate..=config.max_rate).contains(&gcc.target_rate()));
            assert!(gcc.pacing().rate >= gcc.target_rate());
            assert!((0.0..=1.0).contains(&gcc.loss_fraction()));
            let metrics = gcc.metrics();
            assert!((6.0..=600.0).contains(&metrics.threshold) && metrics.trend.is_finite(), "{metrics:?}");
            let _ = (gcc.next_deadline(), gcc.round_trip());
        }
    });
}

#[derive(Debug, Clone, TypeGenerator)]
enum PacerOp {
    Pass(i32),
    Enqueue(u8, u16),
    Rate(u32),
    Probe { rate: u32, packets: u8, bytes: u16 },
    Poll,
    Deadline,
    Pad,
}

#[test]
fn the_pacer_gives_out_each_packet_once_in_the_order_of_its_priority() {
    bolero::check!().with_type::<Vec<PacerOp>>().for_each(|ops| {
        let mut pacer = Pacer::new(BitRate::from_mbps(1));
        let mut now = Instant::ZERO;
        let mut waiting: BTreeMap<Priority, std::collections::VecDeque<u64>> = BTreeMap::new();
        let mut number = 0;
        for op in ops {
            match op {
                PacerOp::Pass(micros) => pass(&mut now, *micros),
                PacerOp::Enqueue(priority, size) => {
                    let all = [Priority::Audio, Priority::Retransmission, Priority::Video, Priority::Padding];
                    let priority = all[usize::from(priority % 4)];
                    pacer.enqueue(now, priority, ByteCount::new(u64::from(*size)), (priority, number));
                    waiting.entry(priority).or_default().push_back(number);
                    number += 1;
                }
                PacerOp::Rate(rate) => pacer.set_rate(now, BitRate::from_bps(u64::from(*rate))),
                PacerOp::Probe { rate, packets, bytes } => {
                    let (rate, bytes) =
                        (BitRate::from_bps(u64::from(*rate)), ByteCount::new(u64::from(*bytes)));
                    let duration = rate.time_for(bytes);
                    let packets = u32::from(*packets);
                    pacer.start_probe(now, ProbeCluster { id: 1, rate, packets, bytes, duration });
                }
                PacerOp::Poll => {
                    while let Some(((priority, item), _)) = pacer.poll(now) {
                        let first = waiting.values_mut().find_map(std::collections::VecDeque::pop_front);
                        assert_eq!(first, Some(item), "{priority:?}");
                    }
                }
                PacerOp::Deadline => {
                    let deadline = pacer.next_deadline();
                    assert!(
                        waiting
                            .get(&Priority::Audio)
                            .is_none_or(|audio| audio.is_empty() || deadline.is_some())
                    );
                    now = deadline.filter(|later| *later < Instant::from_nanos(1 << 60)).unwrap_or(now);
                }
                PacerOp::Pad => {
                    assert!(pacer.padding_wanted(now).is_none_or(|bytes| bytes > ByteCount::ZERO));
                }
            }
            assert_eq!(pacer.len(), waiting.values().map(std::collections::VecDeque::len).sum::<usize>());
        }
    });
}

#[derive(Debug, Clone, TypeGenerator)]
enum ReportOp {
    Pass(i32),
    /// A packet near the last one.
    Near(i8),
    Any(u64),
    Bandwidth(u64),
    Poll,
}

#[test]
fn reports_have_no_hole_and_end_with_an_arrival() {
    bolero::check!().with_type::<Vec<ReportOp>>().for_each(|ops| {
        let mut collector = FeedbackCollector::new(FeedbackConfig::default()).expect("valid");
        let (mut now, mut sequence) = (Instant::ZERO, 1000_u64);
        for op in ops {
            match op {
                ReportOp::Pass(micros) => pass(&mut now, *micros),
                ReportOp::Near(step) => {
                    sequence = sequence.saturating_add_signed(i64::from(*step));
                    collector.on_packet(now, sequence);
                }
                ReportOp::Any(any) => collector.on_packet(now, *any),
                ReportOp::Bandwidth(rate) => collector.set_bandwidth(BitRate::from_bps(*rate)),
                ReportOp::Poll => {
                    let mut reports = 0;
                    while let Some(report) = collector.poll(now) {
                        let pairs = report.packets.windows(2);
                        assert!(pairs.into_iter().all(|pair| pair[0].sequence + 1 == pair[1].sequence));
                        assert!(report.packets.last().is_some_and(|packet| packet.arrival.is_some()));
                        assert!(report.packets.len() <= 1000);
                        reports += 1;
                        assert!(reports <= ops.len() + 1, "reports never end");
                    }
                }
            }
        }
    });
}

#[derive(Debug, Clone, TypeGenerator)]
enum RepairOp {
    Pass(i32),
    Media(i16, bool),
    MediaAny(u64, bool),
    Recovered(i8),
    RoundTrip(u32),
    Poll,
    Forget(i8),
    Sent(i8),
    Resent(i8),
    /// Media packets pass the encoder; bits select which of them and of their parity packets arrive.
    Protect(u8, bool, u64),
    Parity {
        block: u8,
        index: u8,
        reed_solomon: bool,
        covers: Vec<u64>,
    },
}

#[test]
fn loss_repair_survives_any_order_of_calls() {
    bolero::check!().with_type::<(u8, Vec<RepairOp>)>().for_each(|(kind, ops)| {
        let kinds = [FecKind::Row, FecKind::Column, FecKind::TwoDimensional, FecKind::ReedSolomon];
        let config = FecConfig { kind: kinds[usize::from(kind % 4)], ..FecConfig::default() };
        let mut encoder = FecEncoder::new(config).expect("valid");
        let mut decoder = FecDecoder::new();
        let mut nack = NackRequester::new(NackConfig::default()).expect("valid");
        let mut history = RetransmissionHistory::new(HistoryConfig::default()).expect("valid");
        let (mut now, mut sequence) = (Instant::ZERO, 1000_u64);
        let near = |sequence: u64, step: i8| sequence.saturating_add_signed(i64::from(step));
        for op in ops {
            match op {
                RepairOp::Pass(micros) => pass(&mut now, *micros),
                RepairOp::Media(step, again) => {
                    sequence = sequence.saturating_add_signed(i64::from(*step));
                    nack.on_packet(now, sequence, *again);
                }
                RepairOp::MediaAny(any, again) => {
                    nack.on_packet(now, *any, *again);
                    decoder.on_media(*any);
                }
                RepairOp::Recovered(step) => nack.on_recovered(near(sequence, *step)),
                RepairOp::RoundTrip(micros) => {
                    nack.on_round_trip(Span::from_micros(u64::from(*micros)));
                    history.on_round_trip(Span::from_micros(u64::from(*micros)));
                }
                RepairOp::Poll => {
                    let asked = nack.poll(now);
                    assert!(asked.windows(2).all(|pair| pair[0] < pair[1]));
                    assert!(asked.len() <= nack.missing() && nack.missing() <= 1000);
                    for sequence in asked {
                        let _ = history.request(now, sequence);
                    }
                    let _ = (nack.next_deadline(), nack.take_key_frame_request());
                }
                RepairOp::Forget(step) => nack.forget_before(near(sequence, *step)),
                RepairOp::Sent(step) => history.on_sent(now, near(sequence, *step), ()),
                RepairOp::Resent(step) => history.on_resent(now, near(sequence, *step)),
                RepairOp::Protect(count, ends, arrive) => {
                    for place in 0..*count {
                        sequence = sequence.saturating_add(1);
                        let media = MediaPacket { sequence, size: ByteCount::new(u64::from(place)) };
                        let parity = encoder.on_media(media, *ends && place + 1 == *count);
                        if arrive >> (place % 64) & 1 == 1 {
                            assert!(!decoder.on_media(sequence).contains(&sequence), "it was not lost");
                        }
                        for (packet, bit) in parity.into_iter().zip(0..) {
                            let covers = packet.covers.clone();
                            assert!(!covers.is_empty() && covers.len() <= config.packets);
                            if arrive.rotate_left(bit) & 1 == 1 {
                                decoder.on_parity(packet);
                            }
                        }
                    }
                }
                RepairOp::Parity { block, index, reed_solomon, covers } => {
                    let kind = if *reed_solomon { FecKind::ReedSolomon } else { FecKind::Row };
                    let (block, index) = (u64::from(*block), u32::from(*index));
                    let parity =
                        ParityPacket { block, index, kind, covers: covers.clone(), size: ByteCount::ZERO };
                    let rebuilt = decoder.on_parity(parity);
                    assert!(rebuilt.windows(2).all(|pair| pair[0] < pair[1]), "each packet once");
                }
            }
        }
    });
}
