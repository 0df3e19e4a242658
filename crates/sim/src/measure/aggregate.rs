//! Whole aggregates of packets that are only counted: their latencies by column.

use airbound_control::frame::Mpdu;
use airbound_record::Stage;
use airbound_units::{ByteCount, Instant, Span};

use super::{Meters, OnAir};
use crate::packet::Packet;

/// Packets counted at a time.
const MOST: usize = 64;

/// Whether datagrams of one flow differ in nothing but their arrival at the queue and, by that, their time in it.
fn are_alike(mpdus: &[Mpdu<Packet>], first: &Packet, measured_from: Instant) -> bool {
    let before = |packet: &Packet| packet.enqueued.as_nanos().wrapping_sub(packet.sent.as_nanos());
    let (measured, before_first) = (first.sent >= measured_from, before(first));
    mpdus.iter().all(|Mpdu { packet, .. }| {
        packet.flow == first.flow
            && packet.kind.is_datagram()
            && packet.contending == first.contending
            && packet.first_transmission == first.first_transmission
            && packet.enqueued <= packet.contending
            && before(packet) == before_first
            && (packet.sent >= measured_from) == measured
    })
}

impl Meters {
    /// [`Meters::on_delivered`] of all packets of an aggregate, each delivered and at its destination when it is `received`. Returns `false`
    /// if more than a count follows from them, or their stages differ; then nothing is counted.
    pub(crate) fn on_aggregate(
        &mut self,
        one: &OnAir,
        mpdus: &[Mpdu<Packet>],
        mut received: impl Iterator<Item = Instant>,
    ) -> bool {
        let Some(Mpdu { packet: first, .. }) = mpdus.first() else { return false };
        let meter = &mut self.flows[first.flow.0 as usize];
        let [contending, first_tx, last_tx] = [first.contending, first.first_transmission, one.start];
        if !self.journeys.is_empty()
            || self.rows.audience.wants.packets
            || meter.has_open_frames()
            || one.start < self.measured_from
            || one.timing.end > self.end
            || ![first.sent, first.enqueued, contending, first_tx, last_tx].is_sorted()
            || !are_alike(mpdus, first, self.measured_from)
        {
            return false;
        }
        let measured = first.sent >= self.measured_from;
        let common = [
            (Stage::Wired, first.enqueued - first.sent),
            (Stage::Contention, first_tx - contending),
            (Stage::Retries, last_tx - first_tx),
            (Stage::Reordering, Span::ZERO),
        ];
        for mpdus in mpdus.chunks(MOST) {
            let [mut latency, mut queueing, mut airtime, mut wifi] = [[Span::ZERO; MOST]; 4];
            let mut payload = ByteCount::ZERO;
            for (place, (Mpdu { packet, .. }, received)) in mpdus.iter().zip(&mut received).enumerate() {
                payload += meter.payload(packet);
                latency[place] = received - packet.sent;
                queueing[place] = contending - packet.enqueued;
                airtime[place] = received - last_tx;
                wifi[place] = one.timing.end - packet.enqueued;
            }
            let all = ..mpdus.len();
            meter.on_arrivals(mpdus.len() as u64, payload);
            if measured {
                let differ = [(Stage::Queueing, &queueing[all]), (Stage::Airtime, &airtime[all])];
                meter.on_measured_alike(one.timing.end, &wifi[all], |flow| {
                    flow.record_aggregate(&latency[all], differ, common);
                });
            }
            if self.rows.audience.wants.series {
                meter.on_window_latencies(&latency[all]);
            }
        }
        true
    }
}
