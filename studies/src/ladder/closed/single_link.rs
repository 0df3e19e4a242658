//! One link whose every exchange is known: saturated, and with single packets on an idle channel.

use airbound_record::TxopRow;
use airbound_report::{Tolerance, ValidationRow};
use airbound_sim::{Event, Events, Observer};
use airbound_units::{ByteCount, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::mpdu::{DATA_HEADER, DELIMITER, FCS, LLC_SNAP, Protection, mpdu_of_packet, psdu_size};
use airbound_wifi::timing::ppdu_duration;
use airbound_wifi::{Band, EdcaParameters, Format, Legacy, Rate, control_frames};

use super::super::scene::Scene;
use crate::trial::in_parallel;
use crate::{Effort, Trial, TrialError};

const BAND: Band = Band::Ghz5;
/// UDP payload of the packets.
const PAYLOAD: u64 = 1_470;
/// IPv4 and UDP.
const HEADERS: u64 = 28;
/// Control frames.
const CONTROL: Legacy = Legacy::Mbps24;

/// The links: a rate, and the standard, width and streams that it needs.
const LINKS: [(&str, &str, &str, u8); 5] = [
    ("OFDM 54 Mbit/s", "legacy", "20 MHz", 1),
    ("HT20 MCS7 1SS LGI", "ht", "20 MHz", 1),
    ("HT40 MCS12 2SS LGI", "ht", "40 MHz", 2),
    ("VHT80 MCS9 2SS LGI", "vht", "80 MHz", 2),
    ("HE80 MCS11 2SS 0.8us", "he", "80 MHz", 2),
];

/// Closed-form values of a link.
struct Formula {
    /// MPDUs of a full aggregate.
    mpdus: u64,
    /// From the first symbol of the data to the last of the acknowledgement, full aggregate.
    exchange: Span,
    /// AIFS and the mean backoff.
    access: Span,
    /// From the first symbol to when the receiver has a single packet.
    single: Span,
    /// SIFS and the acknowledgement of a single packet.
    answer: Span,
}

impl Formula {
    fn of(rate: Rate) -> Self {
        let packet = ByteCount::new(PAYLOAD + HEADERS);
        let legacy = rate.format() == Format::Legacy;
        let mpdu = if legacy {
            DATA_HEADER + LLC_SNAP + packet + FCS
        } else {
            mpdu_of_packet(packet, Protection::Open)
        };
        let limits = AmpduLimits::of(rate.format());
        let mpdus = if legacy { 1 } else { u64::from(limits.max_mpdus_of(mpdu, rate)) };
        // An HT packet alone travels as a plain MPDU; in VHT and HE it is an A-MPDU of one (802.11-2020, 10.12.7). Either is
        // answered by an ACK.
        let psdu = if legacy { mpdu } else { psdu_size(std::iter::repeat_n(mpdu, mpdus as usize)) };
        let single =
            if matches!(rate.format(), Format::Legacy | Format::Ht) { mpdu } else { DELIMITER + mpdu };
        let control = if legacy { control_frames::ack } else { control_frames::block_ack };
        let edca = EdcaParameters::dcf();
        Self {
            mpdus,
            exchange: ppdu_duration(rate, psdu) + BAND.sifs() + control(CONTROL, BAND),
            access: BAND.aifs(edca.aifsn) + BAND.slot() * u64::from(edca.cw_min) / 2,
            single: ppdu_duration(rate, single),
            answer: BAND.sifs() + control_frames::ack(CONTROL, BAND),
        }
    }

    /// Saturated goodput in Mb/s.
    fn goodput(&self) -> f64 {
        (self.mpdus * PAYLOAD * 8) as f64 / (self.exchange + self.access).as_secs_f64() / 1e6
    }
}

fn scenario(link: (&str, &str, &str, u8), load: &str, seconds: u32) -> String {
    let (rate, standard, width, streams) = link;
    Scene::downlinks(seconds)
        .air(&format!(
            "standard = \"{standard}\"\nwidth = \"{width}\"\nedca = \"dcf\"\ncontrol-rate = \"24 Mbit/s\"\nbeacons = false"
        ))
        .access_point(&format!("streams = {streams}"))
        .stations("station", 1, &format!("rate = \"{rate}\""))
        .named_flow(
            "stream",
            "station",
            &format!("kind = \"cbr\"\nrate = \"{load}\"\nsize = \"{PAYLOAD} B\""),
        )
        .text()
}

/// Statistics of the exchanges of a saturated link.
#[derive(Debug, Clone, Copy, Default)]
struct Exchanges {
    count: u64,
    shortest: Option<Span>,
    longest: Span,
    first: u64,
    last: u64,
}

impl Exchanges {
    fn on_txop(&mut self, row: &TxopRow) {
        // The first exchanges are shorter: the queue has to fill.
        if row.start.as_nanos() < 1_000_000_000 {
            return;
        }
        let length = row.end - row.start;
        if self.count == 0 {
            self.first = row.start.as_nanos();
        }
        self.count += 1;
        self.shortest = Some(self.shortest.map_or(length, |shortest| shortest.min(length)));
        self.longest = self.longest.max(length);
        self.last = row.start.as_nanos();
    }
}

impl Observer for Exchanges {
    fn wants(&self) -> Events {
        Events { txops: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Txop(row) = event {
            self.on_txop(row);
        }
    }
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let rows = in_parallel(&LINKS, effort.jobs, |link| {
        let rate = link
            .0
            .parse::<Rate>()
            .map_err(|error| TrialError { name: link.0.to_owned(), reason: error.to_string() })?;
        let formula = Formula::of(rate);
        let mut rows = saturated(*link, &formula, effort)?;
        rows.extend(unloaded(*link, &formula)?);
        Ok(rows)
    })?;
    Ok(rows.into_iter().flatten().collect())
}

fn saturated(
    link: (&str, &str, &str, u8),
    formula: &Formula,
    effort: Effort,
) -> Result<Vec<ValidationRow>, TrialError> {
    let seconds = effort.seconds(20, 5);
    let load = "1500 Mbit/s";
    let trial = Trial::new(format!("saturated {}", link.0), scenario(link, load, seconds), 1);
    let (outcome, seen) = trial.observed(Exchanges::default())?;
    let micros = |span: Span| span.as_nanos() as f64 / 1e3;
    let goodput = outcome.summary.flows.first().map(|flow| flow.goodput_mbps);
    let exchange = formula.exchange.as_nanos();
    let gaps = (seen.last - seen.first).saturating_sub(exchange * (seen.count - 1)) as f64;
    let gap = gaps / (seen.count - 1) as f64 / 1e3;
    let row = |metric: &str, unit: &str, reference: f64, measured: Option<f64>, tolerance, note: &str| {
        let metric = format!("{metric}, {}", link.0);
        ValidationRow::judged("single-link", metric, unit, Some(reference), measured, Some(tolerance), note)
    };
    Ok(vec![
        row(
            "shortest exchange",
            "us",
            micros(formula.exchange),
            seen.shortest.map(micros),
            Tolerance::Absolute(1e-9),
            &format!("PPDU of {} MPDUs, SIFS, acknowledgement at 24 Mb/s; exact", formula.mpdus),
        ),
        row(
            "longest exchange",
            "us",
            micros(formula.exchange),
            Some(micros(seen.longest)),
            Tolerance::Absolute(1e-9),
            "the same: every aggregate is full",
        ),
        row(
            "mean access time",
            "us",
            micros(formula.access),
            Some(gap),
            Tolerance::Absolute(3.0),
            "DIFS and the mean of 0 to 15 slots; drawn, so within a third of a slot",
        ),
        row(
            "saturated goodput",
            "Mb/s",
            formula.goodput(),
            goodput,
            Tolerance::Relative(0.003),
            "payload over exchange and mean access time; the backoff is drawn",
        ),
    ])
}

/// Packets far apart on an idle channel leave at once: their latency is that of one PPDU.
fn unloaded(link: (&str, &str, &str, u8), formula: &Formula) -> Result<Vec<ValidationRow>, TrialError> {
    let trial = Trial::new(format!("unloaded {}", link.0), scenario(link, "1 Mbit/s", 5), 1);
    let outcome = trial.run()?;
    let micros = |span: Span| span.as_nanos() as f64 / 1e3;
    let latency = outcome.summary.flows.first().map(|flow| flow.latency_ms);
    let acknowledged = outcome.wifi_latency.first().copied();
    let exact = |metric: &str, reference: Span, measured: Option<f64>, note: &str| {
        let metric = format!("{metric}, {}", link.0);
        let tolerance = Some(Tolerance::Absolute(1e-3));
        let reference = Some(micros(reference));
        let measured = measured.map(|millis| millis * 1e3);
        ValidationRow::judged("unloaded-latency", metric, "us", reference, measured, tolerance, note)
    };
    let at_once = "sent at once (802.11-2020, 10.23.2.2); the receiver has it when the PPDU ends";
    let answered = "and SIFS and acknowledgement";
    Ok(vec![
        exact("mean latency", formula.single, latency.and_then(|latency| latency.mean), at_once),
        exact("longest latency", formula.single, latency.and_then(|latency| latency.max), at_once),
        exact(
            "mean time to the acknowledgement",
            formula.single + formula.answer,
            acknowledged.and_then(|latency| latency.mean),
            answered,
        ),
    ])
}
