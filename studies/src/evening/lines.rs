//! The five lines, and what they are judged by.

use airbound_record::{FlowSummary, StationSummary, Summary};
use serde::Serialize;

/// Level of a stream that nobody asks to hold another, packets.
pub(super) const STREAM_TARGET: f64 = 32.0;
/// Share of the headset's packets that has to arrive, as for `airbound plan`.
const ARRIVING: f64 = 0.95;
/// Share of the seconds in which the headset's demand has to be kept.
const KEPT: f64 = 0.95;
/// Lost packets of the call.
const CALL_LOSS: f64 = 0.01;
/// Delay that the network may add to the call's frames, over that under `linux`.
const CALL_DELAY: f64 = 0.5;
/// Latency of downloads over that behind a FIFO.
const LATENCY: f64 = 0.2;
/// Goodput of downloads over that under `linux`.
const GOODPUT: f64 = 0.95;
/// Distance from fair airtime, and from the target level.
const OFF: f64 = 0.1;
/// Lost packets of the stream that counts as none.
const STREAM_LOSS: f64 = 0.001;
/// Utility of the session over that of `linux+plain`.
const UTILITY: f64 = 1.05;

/// Downloads, each with the station that it alone goes to.
const DOWNLOADS: [(&str, &str); 3] = [("film", "television"), ("download", "desktop"), ("update", "console")];

/// Figures of a run. Zero where a run has not got the flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Share of seconds in which the headset's demand was kept.
    pub kept: f64,
    /// Share of the headset's packets that arrived.
    pub arrived: f64,
    /// 99th percentile of the latency of the call's frames, ms.
    pub call_p99_ms: f64,
    /// Lost packets of the call over those whose fate is known.
    pub call_loss: f64,
    /// Mean bitrate of the call, Mb/s.
    pub call_mbps: f64,
    /// Mean latency of downloads, from the server on, ms.
    pub download_ms: f64,
    /// Goodput of all downloads together, Mb/s.
    pub download_mbps: f64,
    /// Largest distance of a download's station from the mean of their airtime, over that.
    pub unfair: f64,
    /// Mean number of packets in a frame to the tablet.
    pub level: f64,
    /// The level that is asked for.
    pub target: f64,
    /// Lost packets of the stream over those whose fate is known.
    pub stream_loss: f64,
    /// Goodput of the stream, Mb/s.
    pub stream_mbps: f64,
    /// Utility of the session.
    pub utility: f64,
}

impl Figures {
    pub(super) fn of(summary: &Summary, level: f64, target: f64) -> Self {
        let flow = |name: &str| summary.flows.iter().find(|flow| flow.name == name);
        let station = |name: &str| summary.stations.iter().find(|station| station.name == name);
        let loss = |flow: Option<&FlowSummary>| flow.and_then(|flow| flow.loss_rate).unwrap_or_default();
        let (headset, call, stream) = (flow("headset"), flow("call"), flow("stream"));
        let downloads: Vec<&FlowSummary> = DOWNLOADS.iter().filter_map(|(name, _)| flow(name)).collect();
        let airtimes: Vec<f64> = DOWNLOADS
            .iter()
            .filter_map(|(_, name)| station(name))
            .map(|station: &StationSummary| station.airtime_share)
            .collect();
        let fair = mean(&airtimes);
        let latencies: Vec<f64> = downloads.iter().filter_map(|flow| flow.latency_ms.mean).collect();
        Self {
            kept: headset.and_then(|flow| flow.demand?.met_share).unwrap_or_default(),
            arrived: headset.map_or(0.0, |flow| 1.0 - flow.loss_rate.unwrap_or(1.0)),
            // A call without frames is late for ever.
            call_p99_ms: call.and_then(|flow| flow.frame_latency_ms?.p99).unwrap_or(1e3 * summary.duration_s),
            call_loss: loss(call),
            call_mbps: call.and_then(|flow| Some(flow.rtc?.bitrate_mbps)).unwrap_or_default(),
            download_ms: mean(&latencies),
            download_mbps: downloads.iter().map(|flow| flow.goodput_mbps).sum(),
            unfair: airtimes.iter().map(|own| (own / fair - 1.0).abs()).fold(0.0, f64::max),
            level,
            target,
            stream_loss: loss(stream),
            stream_mbps: stream.map_or(0.0, |flow| flow.goodput_mbps),
            utility: summary.session.as_ref().map_or(0.0, |session| session.utility),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Figures of other runs with the same seed, which a line is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reference {
    /// 99th percentile of the call's frames under `linux`, ms.
    pub linux_call_ms: f64,
    /// The same with nobody else at home: the wire, the pacer and the call's own airtime.
    pub alone_call_ms: f64,
    /// Mean latency of downloads behind a FIFO as deep as mac80211's queues, ms.
    pub fifo_download_ms: f64,
    /// Goodput of all downloads under `linux`, Mb/s.
    pub linux_download_mbps: f64,
    /// Utility under `linux` with every stream for itself.
    pub plain_utility: f64,
}

impl Reference {
    pub(super) const fn of(linux: &Figures, fifo: &Figures, alone: &Figures) -> Self {
        Self {
            linux_call_ms: linux.call_p99_ms,
            alone_call_ms: alone.call_p99_ms,
            fifo_download_ms: fifo.download_ms,
            linux_download_mbps: linux.download_mbps,
            plain_utility: linux.utility,
        }
    }

    /// Delay that the network adds to the call, over what it adds under `linux`.
    pub(super) fn call_delay(&self, figures: &Figures) -> f64 {
        (figures.call_p99_ms - self.alone_call_ms) / (self.linux_call_ms - self.alone_call_ms).max(1e-3)
    }
}

/// A line that passes or fails.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Its name in tables.
    pub name: &'static str,
    /// Its condition, as a sentence.
    pub meaning: &'static str,
    /// Whether a run passes.
    pub passes: fn(&Figures, &Reference) -> bool,
}

/// The five lines.
pub const LINES: [Line; 5] = [
    Line {
        name: "headset",
        meaning: "p95 of a second within 20 ms in 95 % of the seconds, and 95 % of the packets arrive",
        passes: |own, _| own.kept >= KEPT && own.arrived >= ARRIVING,
    },
    Line {
        name: "call",
        meaning: "loss below 1 %; p99 of frames, less that of the call alone, at most half of Linux's",
        passes: |own, to| own.call_loss < CALL_LOSS && to.call_delay(own) <= CALL_DELAY,
    },
    Line {
        name: "downloads",
        meaning: "mean latency a fifth of a FIFO's, goodput 95 % of Linux's, airtime of each station within 10 % of the mean",
        passes: |own, to| {
            own.download_ms <= LATENCY * to.fifo_download_ms
                && own.download_mbps >= GOODPUT * to.linux_download_mbps
                && own.unfair <= OFF
        },
    },
    Line {
        name: "stream",
        meaning: "mean level within 10 % of the target; loss below 0.1 %",
        passes: |own, _| (own.level / own.target - 1.0).abs() <= OFF && own.stream_loss < STREAM_LOSS,
    },
    Line {
        name: "session",
        meaning: "utility at least 1.05 times that of linux+plain",
        passes: |own, to| own.utility >= UTILITY * to.plain_utility,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: Reference = Reference {
        linux_call_ms: 60.0,
        alone_call_ms: 20.0,
        fifo_download_ms: 200.0,
        linux_download_mbps: 100.0,
        plain_utility: 0.8,
    };

    /// A line, and a change that fails it.
    type Break = (&'static str, fn(&mut Figures));

    /// On the very edge of each line.
    const EDGE: Figures = Figures {
        kept: 0.95,
        arrived: 0.95,
        call_p99_ms: 40.0,
        call_loss: 0.0099,
        call_mbps: 3.0,
        download_ms: 40.0,
        download_mbps: 95.0,
        unfair: 0.1,
        level: 29.0,
        target: 32.0,
        stream_loss: 0.0,
        stream_mbps: 20.0,
        utility: 0.8401,
    };

    fn passed(figures: &Figures) -> Vec<&'static str> {
        LINES.iter().filter(|line| (line.passes)(figures, &REFERENCE)).map(|line| line.name).collect()
    }

    #[test]
    fn each_condition_of_a_line_can_fail_it_alone() {
        let names = LINES.map(|line| line.name);
        assert_eq!(passed(&EDGE), names);
        let broken: [Break; 11] = [
            ("headset", |own| own.kept = 0.94),
            ("headset", |own| own.arrived = 0.94),
            ("call", |own| own.call_loss = 0.01),
            ("call", |own| own.call_p99_ms = 40.1),
            ("downloads", |own| own.download_ms = 40.1),
            ("downloads", |own| own.download_mbps = 94.9),
            ("downloads", |own| own.unfair = 0.11),
            ("stream", |own| own.level = 28.0),
            ("stream", |own| own.level = 36.0),
            ("stream", |own| own.stream_loss = 0.001),
            ("session", |own| own.utility = 0.839),
        ];
        for (name, change) in broken {
            let mut figures = EDGE;
            change(&mut figures);
            let others: Vec<&str> = names.into_iter().filter(|other| *other != name).collect();
            assert_eq!(passed(&figures), others, "{figures:?}");
        }
    }
}
