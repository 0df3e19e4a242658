//! Queues driven one packet and one fact at a time.

use airbound_control::frame::{Dropped, PlainPacket, StationId, TxDescriptor, TxReport};
use airbound_control::queue::{Direction, Eligibility, Fact, Queue, Sink, Turn};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// A sink with one place, which counts nothing below the queue.
#[derive(Default)]
struct One(Option<PlainPacket>);

impl Sink<PlainPacket> for One {
    fn has_room(&mut self, _size: impl FnOnce() -> Option<ByteCount>) -> bool {
        self.0.is_none()
    }

    fn put(&mut self, packet: PlainPacket) -> Result<Option<Span>, PlainPacket> {
        self.0 = Some(packet);
        Ok(None)
    }
}

/// A packet of which only the station, the category and the estimate matter.
fn estimated(station: StationId, category: Category, estimate: Span) -> PlainPacket {
    PlainPacket { category, estimate, ..PlainPacket::new(station, airbound_control::frame::FlowId(0)) }
}

/// Single steps and facts of a queue.
pub(crate) trait Calls: Queue<PlainPacket> + Sized {
    fn next_station(&mut self, now: Instant, category: Category) -> Option<StationId> {
        self.select(now, category).map(|turn| turn.station)
    }

    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<PlainPacket>>,
    ) -> Option<PlainPacket> {
        let mut one = One::default();
        self.dequeue_into(now, &Turn::new(station, category), &mut one, dropped);
        one.0
    }

    fn set_eligibility(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    ) {
        self.on(now, Fact::Eligibility { station, category, eligibility });
    }

    fn on_handed(&mut self, now: Instant, station: StationId, category: Category, estimate: Span) {
        self.on(now, Fact::Handed(&estimated(station, category, estimate)));
    }

    fn on_returned(&mut self, now: Instant, station: StationId, category: Category, estimate: Span) {
        self.on(now, Fact::Dropped(&estimated(station, category, estimate)));
    }

    fn on_airtime(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        airtime: Span,
        direction: Direction,
    ) {
        self.on(now, Fact::Airtime { station, category, airtime, direction });
    }

    fn on_granted(&mut self, now: Instant, descriptor: &TxDescriptor<PlainPacket>) {
        self.on(now, Fact::Granted(descriptor));
    }

    fn on_report(&mut self, now: Instant, report: &TxReport<PlainPacket>) {
        self.on(now, Fact::Reported(report));
    }

    fn on_expected_throughput(&mut self, now: Instant, station: StationId, throughput: BitRate) {
        self.on(now, Fact::Throughput { station, throughput });
    }

    fn on_rate(&mut self, now: Instant, station: StationId, rate: BitRate, mpdus: u16) {
        self.on(now, Fact::Rate { station, rate, mpdus });
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.on(now, Fact::ChannelLoad { busy, own });
    }
}

impl<Q: Queue<PlainPacket>> Calls for Q {}
