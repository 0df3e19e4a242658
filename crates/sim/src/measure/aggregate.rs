//! Whole aggregates of packets that are only counted: their latencies by column.

use airbound_air::exchange::EqualMpdus;
use airbound_control::frame::{Mpdu, TxDescriptor};
use airbound_record::{FlowLatency, Stage};
use airbound_units::{Instant, Span};

use super::{Meters, OnAir};
use crate::packet::Packet;

/// Packets counted at a time.
const MOST: usize = 64;

/// Whether datagrams of one flow and size differ in nothing but their arrival at the queue and, by that, their time in it.
fn are_alike(mpdus: &[Mpdu<Packet>], first: &Mpdu<Packet>, measured_from: Instant) -> bool {
    let before = |packet: &Packet| packet.enqueued.as_nanos().wrapping_sub(packet.sent.as_nanos());
    let (size, first) = (first.size, &first.packet);
    let (differ, unmeasured) = mpdus.iter().fold((0, 0), |(differ, unmeasured), mpdu| {
        let packet = &mpdu.packet;
        let one = u64::from(packet.flow.0 ^ first.flow.0)
            | packet.contending.as_nanos() ^ first.contending.as_nanos()
            | packet.first_transmission.as_nanos() ^ first.first_transmission.as_nanos()
            | before(packet) ^ before(first)
            | mpdu.size.as_u64() ^ size.as_u64()
            | u64::from(!packet.kind.is_datagram())
            | u64::from(packet.enqueued > packet.contending);
        (differ | one, unmeasured + usize::from(packet.sent < measured_from))
    });
    differ == 0 && (unmeasured == 0 || unmeasured == mpdus.len())
}

/// The reception times of the last aggregates of a flow, and the number of packets in each place. Aggregates of equal MPDUs at one rate
/// have the same ones, which are counted together.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    equal: Option<EqualMpdus>,
    packets: Vec<u32>,
}

impl Places {
    /// The reception times since the start of the exchange of a whole aggregate, which is counted if it `is_measured`. `None` if all are
    /// received at the end.
    fn count(
        &mut self,
        one: &OnAir,
        descriptor: &TxDescriptor<Packet>,
        is_measured: bool,
        latency: &mut FlowLatency,
    ) -> Option<&[Span]> {
        let mpdus = descriptor.mpdus.len();
        let size = descriptor.mpdus.first()?.size;
        let equal = EqualMpdus::of(one.start, &one.timing, (mpdus as u64, size, descriptor.psdu))?;
        if !self.equal.as_ref().is_some_and(|before| before.are_like(&equal)) {
            self.enter(latency);
            self.equal = Some(equal);
        }
        let times = self.equal.as_mut()?.times(mpdus, one.start, &one.timing)?;
        if is_measured {
            if self.packets.len() < mpdus {
                self.packets.resize(mpdus, 0);
            }
            self.packets[..mpdus].iter_mut().for_each(|packets| *packets += 1);
        }
        Some(times)
    }

    /// Adds the counted packets to the distribution of their airtime.
    pub(super) fn enter(&mut self, latency: &mut FlowLatency) {
        let Some(equal) = &self.equal else { return };
        for (airtime, packets) in equal.known().iter().zip(&self.packets) {
            latency.record_alike(Stage::Airtime, *airtime, *packets);
        }
        self.packets.clear();
    }

    /// Whether no packet is pending.
    pub(super) const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Meters {
    /// [`Meters::on_delivered`] of all packets of a whole aggregate, each delivered and at its destination when it is received. Returns
    /// `false` if more than a count follows from them, or their stages or sizes differ; then nothing is counted.
    pub(crate) fn on_aggregate(&mut self, one: &OnAir, descriptor: &TxDescriptor<Packet>) -> bool {
        let mpdus = descriptor.mpdus.as_slice();
        let Some(first) = mpdus.first() else { return false };
        let packet = &first.packet;
        let meter = &mut self.flows[packet.flow.0 as usize];
        let [contending, first_tx, last_tx] = [packet.contending, packet.first_transmission, one.start];
        if !self.journeys.is_empty()
            || self.rows.audience.wants.packets
            || meter.has_open_frames()
            || one.start < self.measured_from
            || one.timing.end > self.end
            || ![packet.sent, packet.enqueued, contending, first_tx, last_tx].is_sorted()
            || !are_alike(mpdus, first, self.measured_from)
        {
            return false;
        }
        let is_measured = packet.sent >= self.measured_from;
        let keeps = is_measured && meter.keeps_latency();
        let mut places = std::mem::take(&mut meter.places);
        let airtimes = places.count(one, descriptor, keeps, &mut meter.latency);
        let is_counted = airtimes.is_some();
        let wired = packet.enqueued - packet.sent;
        let common = [
            (Stage::Wired, wired),
            (Stage::Contention, first_tx - contending),
            (Stage::Retries, last_tx - first_tx),
            (Stage::Reordering, Span::ZERO),
        ];
        // No packet is sent after these times.
        let [contending, last_tx, end] =
            [contending - wired, last_tx, one.timing.end - wired].map(Instant::as_nanos);
        let [mut latency, mut queueing, mut wifi] = [[Span::ZERO; MOST]; 3];
        for (mpdus, airtimes) in mpdus.chunks(MOST).zip(airtimes.unwrap_or_default().chunks(MOST)) {
            let columns = latency.iter_mut().zip(&mut queueing).zip(&mut wifi);
            for (((latency, queueing), wifi), (mpdu, airtime)) in columns.zip(mpdus.iter().zip(airtimes)) {
                let sent = mpdu.packet.sent.as_nanos();
                *latency = Span::from_nanos((last_tx + airtime.as_nanos()).wrapping_sub(sent));
                *queueing = Span::from_nanos(contending.wrapping_sub(sent));
                *wifi = Span::from_nanos(end.wrapping_sub(sent));
            }
            let all = ..mpdus.len();
            meter.on_arrivals(mpdus.len() as u64, packet);
            if is_measured {
                meter.on_measured_alike(one.timing.end, &wifi[all], |flow| {
                    flow.record_aggregate(&latency[all], (Stage::Queueing, &queueing[all]), common);
                });
            }
            if self.rows.audience.wants.series {
                meter.on_window_latencies(&latency[all]);
            }
        }
        meter.places = places;
        is_counted
    }
}
