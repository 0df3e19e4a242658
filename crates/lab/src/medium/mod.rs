//! The medium: decides when each frame that the kernel sends is on the air, who hears it, and whether it is acknowledged.
//!
//! A state machine without clock or device: feed it the driver's events, [`Medium::advance`] it to a time, and carry out the
//! commands that it leaves; [`Medium::next_deadline`] says when it wants to be called again. Contention, durations, error curves
//! and channels are those of the simulator; queues, rate control and the number of tries are the kernel's.

mod exchange;
mod phy;
mod queue;

use std::collections::VecDeque;

use airbound_air::edca::Edcaf;
use airbound_air::propagation::{LinkQuality, Propagation};
use airbound_random::{Purpose, Stream};
use airbound_sim::scenario::{Path, Preset, Scenario};
use airbound_units::{ByteCount, Decibel, Instant, Span};
use airbound_wifi::control_frames::{Band, Basic, ControlTiming};
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::error::noise_floor;

use crate::channel::{Command, Event, Frame};
use crate::log::Row;
use phy::{Course, Phy};
use queue::{Mpdu, Waiting};

/// Frames of the window of a block-ack agreement (802.11-2020, 10.25.6).
const WINDOW: u16 = 64;
/// Between two reports of how busy the channel is.
const SURVEY: Span = Span::from_millis(100);

/// A PPDU that contends or is on the air.
#[derive(Debug)]
struct Ppdu {
    mpdus: Vec<Mpdu>,
    contending: Instant,
    transmissions: u32,
    airtime: Span,
}

/// One category of one radio.
#[derive(Debug)]
struct Function {
    edcaf: Edcaf,
    parameters: EdcaParameters,
    waiting: Waiting,
    current: Option<Ppdu>,
}

/// One radio.
#[derive(Debug)]
struct Radio {
    /// How large aggregates get, and when an MPDU is given up: the scenario's at the access point, those of the preset `mac80211` at
    /// stations, which run the same kernel.
    path: Path,
    functions: [Function; 4],
    beacons: VecDeque<Mpdu>,
    reception: Stream,
    own: Span,
}

/// A transmission under way.
#[derive(Debug)]
struct OnAir {
    radio: usize,
    /// Index of its function; `None` of a beacon.
    function: Option<usize>,
    start: Instant,
    end: Instant,
    course: Course,
    rate: airbound_wifi::Rate,
    acknowledged: Vec<bool>,
    transmitters: usize,
    txop: u64,
    opportunity_end: Instant,
}

/// The medium.
#[derive(Debug)]
pub struct Medium {
    radios: Vec<Radio>,
    links: Vec<Propagation>,
    phy: Phy,
    band: Band,
    seed: u64,
    eifs: bool,
    noise: f64,
    /// The time at which the scenario's time is zero; before that channels are as at zero.
    zero: Instant,
    idle_since: Option<Instant>,
    on_air: Vec<OnAir>,
    now: Instant,
    txops: u64,
    busy: Span,
    next_survey: Instant,
    commands: Vec<Command>,
    rows: Vec<Row>,
}

/// The function of a queue as mac80211 numbers them: 0 voice to 3 background; and the other way.
const fn function_of(queue: u8) -> usize {
    3 - (queue & 3) as usize
}

impl Medium {
    /// The medium of a scenario, in which radio 0 is the access point and the stations follow; its first event may come at `now`.
    #[must_use]
    pub fn new(scenario: &Scenario, seed: u64, now: Instant) -> Self {
        let air = &scenario.air;
        let control = ControlTiming { band: air.band, basic: Basic::MANDATORY, fixed: air.control_rate };
        let noise = noise_floor(air.width, air.noise_figure);
        let detection = air.sensitivity.map_or(Decibel::new(-300.0), |weakest| weakest - noise);
        let path = &scenario.access_point.path;
        let links = scenario.stations.iter().zip(0u64..);
        let radios = 0..=scenario.stations.len();
        Self {
            radios: radios
                .map(|number| Radio {
                    path: if number == 0 { path.clone() } else { Preset::Mac80211.path(air.standard) },
                    functions: std::array::from_fn(|index| Function {
                        edcaf: edcaf(
                            EdcaParameters::linux_station(Category::ALL[index]),
                            air.band,
                            seed,
                            number,
                            index,
                        ),
                        parameters: EdcaParameters::linux_station(Category::ALL[index]),
                        waiting: Waiting::default(),
                        current: None,
                    }),
                    beacons: VecDeque::new(),
                    reception: Stream::new(seed, Purpose::Reception, number as u64),
                    own: Span::ZERO,
                })
                .collect(),
            links: links.map(|(station, link)| station.propagation(air, path, seed, link)).collect(),
            phy: Phy::new(control, air.rts_threshold.unwrap_or(ByteCount::MAX), detection),
            band: air.band,
            seed,
            eifs: air.eifs,
            noise: noise.value(),
            zero: Instant::MAX,
            idle_since: Some(now),
            on_air: Vec::new(),
            now,
            txops: 0,
            busy: Span::ZERO,
            next_survey: now + SURVEY,
            commands: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The scenario begins at `zero`.
    pub fn set_zero(&mut self, zero: Instant) {
        self.zero = zero;
    }

    /// Takes what the driver told.
    pub fn on_event(&mut self, event: Event) {
        match event {
            Event::Time(_) => {}
            Event::Frame(frame) => self.on_frame(&frame),
            Event::Edca { radio, queue, aifsn, cw_min, cw_max, txop } => {
                let index = function_of(queue);
                let (band, seed) = (self.band, self.seed);
                let Some(one) = self.radios.get_mut(usize::from(radio)) else { return };
                let parameters = EdcaParameters {
                    aifsn: u8::try_from(aifsn).unwrap_or(u8::MAX),
                    cw_min,
                    cw_max,
                    txop_limit: Span::from_micros(32) * u64::from(txop),
                };
                let function = &mut one.functions[index];
                // A function at work keeps what it has: parameters change before traffic begins.
                if function.parameters != parameters && !function.edcaf.is_ready() {
                    function.parameters = parameters;
                    function.edcaf = edcaf(parameters, band, seed, usize::from(radio), index);
                }
            }
        }
    }

    fn on_frame(&mut self, frame: &Frame) {
        let mpdu = Mpdu::of(frame);
        let at = frame.at.max(self.now);
        // What begins at the very time does not hear this one coming: it collides.
        self.advance(Instant::from_nanos(at.as_nanos().saturating_sub(1)));
        let idle_since = self.idle_since;
        let Some(radio) = self.radios.get_mut(usize::from(frame.radio)) else { return };
        if frame.beacon {
            radio.beacons.push_back(mpdu);
        } else {
            let function = &mut radio.functions[function_of(frame.queue)];
            function.waiting.push(mpdu);
            function.edcaf.set_ready(at, idle_since);
        }
    }

    /// Does all that is due until `now`.
    pub fn advance(&mut self, now: Instant) {
        while let Some(next) = self.next_change().filter(|next| *next <= now) {
            self.now = self.now.max(next);
            if self.on_air.is_empty() {
                self.transmit();
            } else {
                self.finish();
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

    /// When it wants to be advanced next if no event comes.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.next_change().unwrap_or(Instant::MAX).min(self.next_survey)
    }

    /// Takes the commands that have gathered.
    pub fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// Takes what is to be written down.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Gives back what still waits, as lost: the run is over.
    pub fn close(&mut self) {
        let none = [crate::channel::Step::NONE; 4];
        for (number, radio) in (0u8..).zip(&mut self.radios) {
            let current = radio.functions.iter_mut().filter_map(|one| one.current.take());
            let mut left: Vec<Mpdu> = current.flat_map(|ppdu| ppdu.mpdus).collect();
            left.extend(radio.functions.iter_mut().flat_map(|one| one.waiting.drain()));
            left.extend(radio.beacons.drain(..));
            for mpdu in left {
                self.commands.push(Command::Done {
                    radio: number,
                    cookie: mpdu.cookie,
                    acked: false,
                    rates: none,
                });
            }
        }
        self.on_air.clear();
    }

    /// When a transmission ends or the next one begins.
    fn next_change(&self) -> Option<Instant> {
        if let Some(end) = self.on_air.iter().map(|one| one.end).max() {
            return Some(end);
        }
        let idle_since = self.idle_since?;
        if self.radios.iter().any(|radio| !radio.beacons.is_empty()) {
            // Beacons wait for PIFS (802.11-2020, 10.3.2.3.4).
            return Some(self.now.max(idle_since + self.band.sifs() + self.band.slot()));
        }
        let functions = self.radios.iter().flat_map(|radio| &radio.functions);
        functions.filter_map(|one| one.edcaf.access(idle_since)).min().map(|access| access.max(self.now))
    }

    /// What a frame between the access point and a station meets now.
    fn quality(&self, station: usize) -> LinkQuality {
        let time =
            if self.zero == Instant::MAX { Instant::ZERO } else { Instant::ZERO + self.now.since(self.zero) };
        self.links.get(station.wrapping_sub(1)).map_or(LinkQuality::Perfect, |link| link.quality(time))
    }
}

fn edcaf(parameters: EdcaParameters, band: Band, seed: u64, radio: usize, index: usize) -> Edcaf {
    let draws = Stream::new(seed, Purpose::Backoff, (radio * 4 + index) as u64);
    Edcaf::new(parameters, band.aifs(parameters.aifsn), band.slot(), draws)
}
