//! The medium: decides when each frame of the kernel is on the air, which radios receive it, and whether it is acknowledged.
//!
//! A state machine without clock or device: feed it the driver's events, [`Medium::advance`] it to a time, and drain its commands; call it
//! again at [`Medium::next_deadline`]. Contention, exchanges and errors are those of [`airbound_air::channel::Channel`], as in the
//! simulator; queues, rate control and the number of tries are the kernel's, or at the access point those of Law.

mod chain;
mod connection;
mod exchange;
mod law;
mod packet;
mod store;

use std::collections::VecDeque;

use airbound_air::channel::{AccessId, Channel, Exchange, TxId};
use airbound_air::edca::Edcaf;
use airbound_air::propagation::Propagation;
use airbound_random::{Purpose, Stream};
use airbound_scenario::{Preset, Scenario};
use airbound_units::{Instant, Span};
use airbound_wifi::Band;
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::error::noise_floor;

use crate::LabError;
use crate::channel::{Command, Event, Frame, Step};
use crate::log::Row;
use law::{LawDescriptor, LawDriver};
use store::{Mpdu, Store};

/// Interval of reports of the channel's load.
const SURVEY: Span = Span::from_millis(100);
/// The radio of the access point, before those of the stations.
const ACCESS_POINT: TxId = TxId(0);

/// A PPDU that contends or is on the air.
#[derive(Debug)]
struct InHardware {
    mpdus: Vec<Mpdu>,
    /// Start of its contention.
    contending: Instant,
    /// Number of transmissions, the TXOP of the last one, and the airtime of all.
    transmissions: u32,
    txop: u64,
    airtime: Span,
    /// Law's descriptor, if Law formed this PPDU.
    law_descriptor: Option<Box<LawDescriptor>>,
}

impl InHardware {
    const fn new(mpdus: Vec<Mpdu>, contending: Instant) -> Self {
        Self { mpdus, contending, transmissions: 0, txop: 0, airtime: Span::ZERO, law_descriptor: None }
    }
}

/// The next timed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// A channel access, or a beacon.
    Begin,
    /// A frame of a PPDU on the air is received.
    Arrival,
    /// The end of the exchanges on the air.
    End,
    /// The time limit of a PPDU of Law expires.
    TimeLimit(Category),
}

/// One radio.
#[derive(Debug)]
struct Radio {
    store: Store,
    /// Law, if it replaces the kernel's queue and rate control.
    law: Option<Box<LawDriver>>,
    /// Limit of transmissions of a PPDU of the store, besides that of its rate chain.
    hardware_tries: u32,
    /// PPDUs by category; the first contends. Only Law has more than one.
    hardware: [VecDeque<InHardware>; 4],
    edca: [EdcaParameters; 4],
    beacons: VecDeque<Mpdu>,
    /// Airtime of its own exchanges.
    own: Span,
    /// Centre frequency of the channel that it is on, MHz; `None` before the driver says one.
    frequency: Option<u16>,
}

/// The medium.
#[derive(Debug)]
pub struct Medium {
    /// By transmitter number on the channel.
    radios: Vec<Radio>,
    links: Vec<Propagation>,
    channel: Channel,
    seed: u64,
    /// Noise floor, dBm.
    noise: f64,
    /// Time zero of the scenario; before it channels have the quality of time zero.
    zero: Instant,
    /// Flows of the scenario.
    flows: u16,
    /// Whether packets of other connections are logged too.
    connections: bool,
    now: Instant,
    winners: Vec<AccessId>,
    /// The frames of the PPDU on the air that are still to be received, each at the end of its subframe. Of PPDUs that collide none is.
    arrivals: VecDeque<(Instant, Command)>,
    /// The beacon on the air.
    beacon: Option<(Exchange, InHardware)>,
    txops: u64,
    /// A-MPDUs so far; wraps, without 0.
    ampdus: u32,
    /// Busy time of the channel, without that since `busy_since` if it is busy now.
    busy: Span,
    busy_since: Instant,
    next_survey: Instant,
    commands: Vec<Command>,
    rows: Vec<Row>,
}

/// The category of mac80211's queue number: 0 voice to 3 background.
const fn category_of(queue: u8) -> Category {
    Category::ALL[3 - (queue & 3) as usize]
}

/// The contention function of a category of a radio.
fn edcaf(seed: u64, at: AccessId, parameters: EdcaParameters, band: Band) -> Edcaf {
    let number = u64::from(at.tx.0) * 4 + at.category.index() as u64;
    let draws = Stream::new(seed, Purpose::Backoff, number);
    Edcaf::new(parameters, band.aifs(parameters.aifsn), band.slot(), draws)
}

impl Medium {
    /// The medium of a scenario from `now` on. Radio 0 is the access point, followed by the stations. If the scheme is Law, it runs in the
    /// access point's driver.
    ///
    /// # Errors
    /// A parameter of Law is out of range.
    pub fn new(scenario: &Scenario, seed: u64, now: Instant) -> Result<Self, LabError> {
        let air = &scenario.air;
        let noise = noise_floor(air.width, air.noise_figure);
        let mut channel = Channel::new(air.phy_config(), air.eifs);
        let path = &scenario.access_point.path;
        let edca = Category::ALL.map(EdcaParameters::linux_station);
        let radio = |number| {
            let tx = TxId(number as u16);
            let functions = Category::ALL
                .map(|category| edcaf(seed, AccessId { tx, category }, edca[category.index()], air.band));
            channel.add(functions, Stream::new(seed, Purpose::Reception, number));
            // The stations have the path of the kernel's preset.
            let path = if tx == ACCESS_POINT { path.clone() } else { Preset::Mac80211.path(air.standard) };
            Radio {
                hardware_tries: path.hardware_tries.into(),
                store: Store::new(path, air.band),
                law: None,
                hardware: Default::default(),
                edca,
                beacons: VecDeque::new(),
                own: Span::ZERO,
                frequency: None,
            }
        };
        let mut radios: Vec<Radio> = (0..=scenario.stations.len() as u64).map(radio).collect();
        if scenario.scheme.queue.is_law()
            && let Some(access_point) = radios.first_mut()
        {
            access_point.law = Some(Box::new(LawDriver::new(scenario, seed)?));
        }
        let links = scenario.stations.iter().zip(0..);
        Ok(Self {
            radios,
            links: links.map(|(station, link)| station.propagation(air, path, seed, link)).collect(),
            channel,
            seed,
            noise: noise.value(),
            zero: Instant::MAX,
            flows: u16::try_from(scenario.flows.len()).unwrap_or(u16::MAX),
            connections: false,
            now,
            winners: Vec::new(),
            arrivals: VecDeque::new(),
            beacon: None,
            txops: 0,
            ampdus: 0,
            busy: Span::ZERO,
            busy_since: now,
            next_survey: now + SURVEY,
            commands: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Sets time zero of the scenario.
    pub fn set_zero(&mut self, zero: Instant) {
        self.zero = zero;
    }

    /// Processes an event of the driver.
    pub fn on_event(&mut self, event: Event) {
        match event {
            Event::Time(_) => {}
            Event::Frame(frame) => self.on_frame(&frame),
            Event::Entry(entry) => self.rows.extend(packet::row_of(&entry).map(Row::Entry)),
            Event::Tuned { radio, at, frequency } => {
                self.advance(at);
                if let Some(radio) = self.radios.get_mut(usize::from(radio)) {
                    radio.frequency = Some(frequency);
                }
            }
            Event::Edca { radio, queue, aifsn, cw_min, cw_max, txop } => {
                let at = AccessId { tx: TxId(radio.into()), category: category_of(queue) };
                let Some(one) = self.radios.get_mut(usize::from(radio)) else { return };
                let parameters = EdcaParameters {
                    aifsn: u8::try_from(aifsn).unwrap_or(u8::MAX),
                    cw_min,
                    cw_max,
                    txop_limit: Span::from_micros(32) * u64::from(txop),
                };
                let known = &mut one.edca[at.category.index()];
                // Parameters are set before traffic begins; a function that contends keeps its parameters.
                if *known != parameters && !self.channel.is_ready(at) {
                    *known = parameters;
                    let band = self.channel.band();
                    self.channel.replace(at, edcaf(self.seed, at, parameters, band));
                }
            }
        }
    }

    fn on_frame(&mut self, frame: &Frame) {
        let mpdu = Mpdu::of(frame);
        let at = frame.at.max(self.now);
        // An access at this very time cannot sense the new one: they collide.
        self.advance(Instant::from_nanos(at.as_nanos().saturating_sub(1)));
        let radios = self.radios.len();
        let Some(radio) = self.radios.get_mut(usize::from(frame.radio)) else { return };
        let category = category_of(frame.queue);
        if frame.beacon {
            radio.beacons.push_back(mpdu);
        } else if let Some(law) = &mut radio.law
            && let Some(station) = law::receiver(&mpdu, radios)
        {
            law.enqueue(at, category, station, mpdu);
            self.refill(at);
        } else {
            let replaced = radio.law.as_ref().and_then(|_| radio.store.replaced_by(category, &mpdu));
            self.commands.extend(replaced.map(|mpdu| done(frame.radio, mpdu.cookie, true)));
            radio.store.enqueue(category, mpdu);
            self.channel.set_ready(at, AccessId { tx: TxId(frame.radio.into()), category });
        }
    }

    /// Processes all changes up to `now`.
    pub fn advance(&mut self, now: Instant) {
        loop {
            let (next, change) = self.next_change();
            if next > now || next == Instant::MAX {
                break;
            }
            self.now = self.now.max(next);
            match change {
                Change::Begin => self.begin(),
                Change::Arrival => {
                    self.commands.extend(self.arrivals.pop_front().map(|(_, deliver)| deliver))
                }
                Change::End => self.end(),
                Change::TimeLimit(category) => self.on_time_limit(category),
            }
        }
        self.now = self.now.max(now);
        if self.now >= self.next_survey {
            self.next_survey = self.now + SURVEY;
            for (number, radio) in (0u8..).zip(&self.radios) {
                let own = u32::try_from(radio.own.as_micros()).unwrap_or(u32::MAX);
                self.commands.push(Command::Survey { radio: number, busy: self.busy.as_micros(), own });
            }
        }
    }

    /// The time of the next call of [`Medium::advance`] if no event arrives.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.next_change().0.min(self.next_survey)
    }

    /// The next change and its time; [`Instant::MAX`] for never. Beacons precede other accesses, and an exchange on the air precedes a time
    /// limit that expires at its end.
    fn next_change(&self) -> (Instant, Change) {
        let next = match self.channel.busy_until(ACCESS_POINT) {
            Some(end) => match self.arrivals.front() {
                Some((at, _)) if *at <= end => (*at, Change::Arrival),
                _ => (end, Change::End),
            },
            None if self.beaconing().is_some() => (self.channel.next_beacon(self.now), Change::Begin),
            None => (self.channel.next_access(self.now), Change::Begin),
        };
        let is_before = |(limit, _): &(Instant, Category)| {
            *limit < next.0 || (*limit == next.0 && next.1 == Change::Begin)
        };
        let limit = self.next_time_limit().filter(is_before);
        limit.map_or(next, |(at, category)| (at, Change::TimeLimit(category)))
    }

    /// The first radio with a beacon to send.
    fn beaconing(&self) -> Option<usize> {
        self.radios.iter().position(|radio| !radio.beacons.is_empty())
    }

    /// Drains the commands to the driver.
    pub fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// Drains the rows of the log.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Reports all remaining frames as lost, at the end of the run.
    pub fn close(&mut self) {
        let beacon = self.beacon.take();
        let mut on_air = beacon.into_iter().flat_map(|(exchange, beacon)| {
            let radio = exchange.at.tx.0 as u8;
            beacon.mpdus.into_iter().map(move |mpdu| (radio, mpdu.cookie))
        });
        let mut left: Vec<(u8, u32)> = on_air.by_ref().collect();
        for (number, radio) in (0u8..).zip(&mut self.radios) {
            let hardware = radio.hardware.iter_mut().flat_map(|ppdus| ppdus.drain(..));
            let law = radio.law.iter_mut().flat_map(|law| law.drain());
            let mpdus = hardware.flat_map(|ppdu| ppdu.mpdus).chain(radio.store.drain()).chain(law);
            left.extend(mpdus.chain(radio.beacons.drain(..)).map(|mpdu| (number, mpdu.cookie)));
        }
        self.commands.extend(left.into_iter().map(|(radio, cookie)| done(radio, cookie, false)));
    }
}

/// The completion of a frame without reported transmissions.
const fn done(radio: u8, cookie: u32, acked: bool) -> Command {
    Command::Done { radio, cookie, acked, rates: [Step::NONE; 4] }
}
