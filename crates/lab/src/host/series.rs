//! The time series of a laboratory run, computed from the rows of packets and transmissions.

use airbound_record::{Fate, LatencyHistogram, PacketRow, Resolution, SeriesRow, TxopKind, TxopRow};
use airbound_units::{Instant, Span};

/// Data at an endpoint of a flow: times, and bytes of payload.
pub(super) type Arrivals = Vec<(Instant, u64)>;

/// The input of a flow's series.
pub(super) struct Flow<'a> {
    /// Its packets, for latency, loss and backlog.
    pub packets: Vec<&'a PacketRow>,
    /// Payload sent by its source.
    pub offered: &'a Arrivals,
    /// Payload received.
    pub received: &'a Arrivals,
    /// Number of its station on the air, from 1.
    pub station: u16,
}

/// The windows from time zero to the end of the run, of which the last may be shorter.
pub(super) struct Windows {
    length: Span,
    end: Instant,
    count: usize,
}

impl Windows {
    pub(super) fn new(length: Span, end: Instant) -> Self {
        let length = length.max(Span::from_nanos(1));
        let whole = end.as_nanos().div_ceil(length.as_nanos());
        Self { length, end, count: usize::try_from(whole).unwrap_or(0) }
    }

    /// The window of a time; `None` after the end.
    fn of(&self, at: Instant) -> Option<usize> {
        let number = usize::try_from(at.as_nanos() / self.length.as_nanos()).ok()?;
        (at <= self.end).then(|| number.min(self.count.saturating_sub(1)))
    }

    fn start(&self, number: usize) -> Instant {
        Instant::ZERO + self.length * number as u64
    }

    fn seconds(&self, number: usize) -> f64 {
        let start = self.start(number);
        self.length.min(self.end.since(start)).as_secs_f64()
    }

    fn mbps(&self, moved: &Arrivals) -> Vec<f64> {
        let mut bytes = vec![0; self.count];
        for (at, size) in moved {
            if let Some(number) = self.of(*at) {
                bytes[number] += size;
            }
        }
        let rate = |(number, bytes)| bytes as f64 * 8.0 / self.seconds(number) / 1e6;
        (0..).zip::<Vec<u64>>(bytes).map(rate).collect()
    }

    /// By window, the mean PHY rate of data sent to a station in Mb/s, if any, and its share of airtime.
    fn air(&self, txops: &[TxopRow], station: u16) -> Vec<(Option<f64>, f64)> {
        let mut sums = vec![(0.0, 0_u64, 0.0); self.count];
        let data = txops.iter().filter(|row| row.kind == TxopKind::Data);
        for row in data.filter(|row| row.transmitter.max(row.receiver) == station) {
            let Some(sum) = self.of(row.start).and_then(|number| sums.get_mut(number)) else { continue };
            sum.2 += row.end.since(row.start).as_secs_f64();
            if row.transmitter == 0 {
                sum.0 += f64::from(row.mpdus) * row.rate.as_mbps_f64();
                sum.1 += u64::from(row.mpdus);
            }
        }
        let of = |(number, (rates, mpdus, airtime)): (usize, (f64, u64, f64))| {
            ((mpdus > 0).then(|| rates / mpdus as f64), airtime / self.seconds(number))
        };
        sums.into_iter().enumerate().map(of).collect()
    }

    /// The rows of a flow, one for each window.
    fn rows(&self, number: u32, flow: &Flow<'_>, txops: &[TxopRow]) -> Vec<SeriesRow> {
        let mut latency: Vec<_> =
            (0..self.count).map(|_| LatencyHistogram::new(Resolution::Coarse)).collect();
        let (mut dropped, mut came, mut went) =
            (vec![0; self.count], vec![0_u64; self.count], vec![0_u64; self.count]);
        for packet in &flow.packets {
            let gone = match packet.fate {
                Fate::Delivered => packet.arrived,
                Fate::Queued => Instant::MAX,
                // The time of a drop in mac80211's queues is unknown; the packet counts as never queued.
                Fate::Dropped(_) if packet.completed == Instant::MAX => packet.sent,
                Fate::Dropped(_) => packet.completed,
            };
            if let Some(window) = self.of(packet.sent) {
                came[window] += 1;
            }
            let Some(window) = self.of(gone) else { continue };
            went[window] += 1;
            match packet.fate {
                Fate::Delivered => latency[window].record(packet.arrived.since(packet.sent)),
                _ => dropped[window] += 1,
            }
        }
        let (offered, goodput) = (self.mbps(flow.offered), self.mbps(flow.received));
        let air = self.air(txops, flow.station);
        let mut queued = 0;
        let row = |window: usize| {
            queued = queued + came[window] - went[window];
            let quantile = |q: f64| latency[window].quantile(q).map(Span::as_millis_f64);
            let (phy_rate_mbps, airtime_share) = air[window];
            SeriesRow {
                window_start: self.start(window),
                flow: number,
                offered_mbps: offered[window],
                goodput_mbps: goodput[window],
                latency_p50_ms: quantile(0.5),
                latency_p95_ms: quantile(0.95),
                latency_max_ms: (latency[window].count() > 0).then(|| latency[window].max().as_millis_f64()),
                dropped: dropped[window],
                queue_packets: queued,
                phy_rate_mbps,
                airtime_share,
            }
        };
        (0..self.count).map(row).collect()
    }
}

/// The rows of all flows, by window.
pub(super) fn of(windows: &Windows, flows: &[Flow<'_>], txops: &[TxopRow]) -> Vec<SeriesRow> {
    let all = (0..).zip(flows).flat_map(|(number, flow)| windows.rows(number, flow, txops));
    let mut rows: Vec<SeriesRow> = all.collect();
    rows.sort_by_key(|row| (row.window_start, row.flow));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_units::{BitRate, ByteCount};

    fn ms(at: u64) -> Instant {
        Instant::ZERO + Span::from_millis(at)
    }

    fn packet(sent: Instant, arrived: Instant, completed: Instant, fate: Fate) -> PacketRow {
        PacketRow {
            packet: 0,
            flow: 0,
            station: 1,
            category: 1,
            size: ByteCount::new(1500),
            sent,
            enqueued: sent,
            contending: Instant::MAX,
            first_tx: Instant::MAX,
            last_tx: Instant::MAX,
            received: arrived,
            delivered: arrived,
            arrived,
            completed,
            fate,
            tries: 1,
            txop: 1,
        }
    }

    #[test]
    fn windows_count_their_packets() {
        let packets = [
            packet(ms(10), ms(40), ms(40), Fate::Delivered),
            packet(ms(90), ms(130), ms(130), Fate::Delivered),
            packet(ms(95), Instant::MAX, ms(240), Fate::Dropped(1)),
            packet(ms(95), Instant::MAX, Instant::MAX, Fate::Dropped(0)),
            packet(ms(210), Instant::MAX, Instant::MAX, Fate::Queued),
        ];
        let sent = vec![(ms(10), 1000), (ms(90), 1000), (ms(95), 2000), (ms(210), 1000)];
        let received = vec![(ms(40), 1000), (ms(130), 1000)];
        let txop = TxopRow {
            txop: 1,
            transmitter: 0,
            receiver: 1,
            category: 1,
            kind: TxopKind::Data,
            contending: ms(20),
            start: ms(30),
            end: ms(40),
            rate: BitRate::from_mbps(65),
            mpdus: 2,
            acked: 2,
            size: ByteCount::new(3000),
            collided: false,
        };
        let back = TxopRow { transmitter: 1, receiver: 0, start: ms(120), end: ms(130), ..txop };
        let flow =
            Flow { packets: packets.iter().collect(), offered: &sent, received: &received, station: 1 };
        // The last window is half as long.
        let rows = of(&Windows::new(Span::from_millis(100), ms(250)), &[flow], &[txop, back]);
        assert_eq!(rows.len(), 3);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.max(1.0);
        // 4000 bytes in 100 ms are 0.32 Mb/s.
        assert!(near(rows[0].offered_mbps, 0.32) && near(rows[0].goodput_mbps, 0.08), "{rows:?}");
        assert!(near(rows[2].offered_mbps, 0.16), "{rows:?}");
        assert_eq!(rows.iter().map(|row| row.dropped).collect::<Vec<_>>(), [1, 0, 1]);
        assert_eq!(rows.iter().map(|row| row.queue_packets).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(rows[0].latency_max_ms.map(f64::round), Some(30.0));
        assert_eq!(rows[1].latency_max_ms.map(f64::round), Some(40.0));
        assert_eq!(rows[2].latency_p50_ms, None);
        assert_eq!(rows[0].phy_rate_mbps, Some(65.0));
        assert_eq!(rows[1].phy_rate_mbps, None);
        assert!(near(rows[0].airtime_share, 0.1) && near(rows[1].airtime_share, 0.1), "{rows:?}");
    }

    #[test]
    fn without_flows_there_are_no_rows() {
        assert!(of(&Windows::new(Span::from_millis(100), Instant::ZERO), &[], &[]).is_empty());
        let nothing = Vec::new();
        let flow = Flow { packets: Vec::new(), offered: &nothing, received: &nothing, station: 1 };
        assert!(of(&Windows::new(Span::from_millis(100), Instant::ZERO), &[flow], &[]).is_empty());
    }
}
