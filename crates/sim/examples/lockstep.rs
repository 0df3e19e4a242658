//! Programs in virtual time over the simulated air: one server behind the wire, and a program on each of some stations.
//!
//! ```text
//! lockstep SCENARIO [--set KEY=VALUE] [--scheme NAME] [--without FLOW] [--seed N] --stations a,b PROGRAM [OPTION ...]
//! ```
//!
//! starts `PROGRAM send stations=N OPTION …` and for each station `PROGRAM view station=I OPTION …`. Each tells on its standard output
//! what it does (S: send a packet, W: wait, R: a line of results) and reads on its standard input the time, its PHY rate and its packets.
//! Computing takes no time. The same program, scenario and seed give the same results, however busy the machine is. `studies/live` has
//! the other end (`world_lockstep.c`). All numbers are little-endian.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use airbound_record::TxopKind;
use airbound_scenario::{ChannelSpec, Datagrams, Direction, Flow, Overrides, Scenario, TraceUse, Traffic};
use airbound_sim::{Event, Events, Observer, Plugins, Reach, Run};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

type Failure = Box<dyn Error>;

/// Headers of IPv4 and UDP.
const HEADERS: u32 = 28;
/// Packets of a wake-up.
const BATCH: usize = 64;

/// Frames on the air to a station.
#[derive(Debug, Clone, Copy, Default)]
struct Received {
    rate: BitRate,
    frames: u64,
    packets: u64,
    /// Whether a trace gives its PHY rates. The rate of a frame's symbols is not that then.
    is_traced: bool,
}

/// Counts the frames that stations receive.
struct Air {
    stations: Rc<RefCell<Vec<Received>>>,
    /// Frames before do not count.
    from: Instant,
}

impl Observer for Air {
    fn wants(&self) -> Events {
        Events { txops: true, ..Events::NONE }
    }

    fn on_event(&mut self, event: Event<'_>) {
        let Event::Txop(row) = event else { return };
        if row.transmitter != 0 || row.receiver == 0 || row.kind != TxopKind::Data || row.acked == 0 {
            return;
        }
        let mut stations = self.stations.borrow_mut();
        let place = usize::from(row.receiver) - 1;
        if place >= stations.len() {
            stations.resize(place + 1, Received::default());
        }
        let one = &mut stations[place];
        let airtime = row.end.since(row.start);
        one.rate = if one.is_traced { row.rate.min(BitRate::of(row.size, airtime)) } else { row.rate };
        if row.start >= self.from {
            one.frames += 1;
            one.packets += u64::from(row.mpdus);
        }
    }
}

/// A packet between two programs.
struct Parcel {
    at: Instant,
    peer: u32,
    size: u32,
    head: Vec<u8>,
}

/// A program that waits.
struct End {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    until: Instant,
    inbox: VecDeque<Parcel>,
    /// Number among the scenario's stations; `None` for the server.
    station: Option<usize>,
}

/// An act of a program.
enum Act {
    Send { peer: u32, size: u32, head: Vec<u8> },
    Wait(Instant),
    Result(String),
    Ended,
}

impl End {
    fn start(program: &str, arguments: &[String], station: Option<usize>) -> Result<Self, Failure> {
        let mut child =
            Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let input = child.stdin.take();
        Ok(Self { child, input, output, until: Instant::ZERO, inbox: VecDeque::new(), station })
    }

    fn act(&mut self) -> Result<Act, Failure> {
        let mut kind = [0];
        if self.output.read(&mut kind)? == 0 {
            self.input = None;
            self.until = Instant::MAX;
            return Ok(Act::Ended);
        }
        Ok(match kind[0] {
            b'S' => {
                let [peer, length, size] = [self.number()?, self.number()?, self.number()?];
                Act::Send { peer, size, head: self.bytes(length)? }
            }
            b'W' => Act::Wait(Instant::ZERO + Span::from_nanos(u64::from_le_bytes(self.array()?))),
            b'R' => {
                let length = self.number()?;
                Act::Result(String::from_utf8(self.bytes(length)?)?)
            }
            other => return Err(format!("a program says {other}; allowed are S, W and R").into()),
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        self.output.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, Failure> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn bytes(&mut self, length: u32) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; length as usize];
        self.output.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Ends the wait with the time, the PHY rate and the packets that came.
    fn wake(&mut self, now: Instant, rate: BitRate) -> Result<(), Failure> {
        let count = self.inbox.len().min(BATCH);
        let mut message = Vec::new();
        message.extend(nanos(now).to_le_bytes());
        message.extend(rate.as_bps().to_le_bytes());
        message.extend((count as u32).to_le_bytes());
        for parcel in self.inbox.drain(..count) {
            message.extend(nanos(parcel.at).to_le_bytes());
            for number in [parcel.peer, parcel.head.len() as u32, parcel.size] {
                message.extend(number.to_le_bytes());
            }
            message.extend(parcel.head);
        }
        if let Some(input) = &mut self.input {
            input.write_all(&message)?;
            input.flush()?;
        }
        Ok(())
    }
}

fn nanos(at: Instant) -> u64 {
    (at - Instant::ZERO).as_nanos()
}

/// The arguments of the program.
#[derive(Default)]
struct Arguments {
    scenario: String,
    overrides: Option<Overrides>,
    scheme: Option<String>,
    without: Vec<String>,
    seed: u64,
    stations: Vec<String>,
    program: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self, Failure> {
        let mut words = std::env::args().skip(1);
        let mut read = Self { scenario: words.next().ok_or("name a scenario")?, seed: 1, ..Self::default() };
        let mut overrides = Overrides::none();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--set" => overrides.set(&value()?)?,
                "--scheme" => read.scheme = Some(value()?),
                "--without" => read.without.push(value()?),
                "--seed" => read.seed = value()?.parse()?,
                "--stations" => read.stations = value()?.split(',').map(str::to_owned).collect(),
                _ => {
                    read.program = std::iter::once(word.clone()).chain(words.by_ref()).collect();
                }
            }
        }
        if read.stations.is_empty() || read.program.is_empty() {
            return Err("name --stations and a program".into());
        }
        read.overrides = Some(overrides);
        Ok(read)
    }
}

/// The programs, and the run that carries their packets.
struct World {
    run: Run,
    ends: Vec<End>,
    /// By station of the programs: number of its flow down and up in the scenario, and of the next packet in each.
    flows: Vec<[(usize, u64); 2]>,
    /// Packets on their way: destination, and the packet.
    parcels: Vec<Option<(usize, Parcel)>>,
    free: Vec<usize>,
    stations: Rc<RefCell<Vec<Received>>>,
}

impl World {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let overrides = arguments.overrides.clone().unwrap_or_else(Overrides::none);
        let mut scenario = Scenario::open(&arguments.scenario, &overrides)?;
        if let Some(name) = &arguments.scheme {
            scenario.scheme = scenario.scheme.with_name(name)?;
        }
        for name in &arguments.without {
            scenario.flows.retain(|flow| flow.name != *name && flow.group != *name);
        }
        scenario.duration = Span::from_secs(86_400);
        let mut plugins = Plugins::default();
        let mut flows = Vec::new();
        let mut numbers = Vec::new();
        for name in &arguments.stations {
            let number = scenario.station_index(name).ok_or(format!("there is no station {name}"))?;
            numbers.push(number);
            let mut pair = [(0, 0); 2];
            for (direction, place) in [Direction::Down, Direction::Up].into_iter().zip(&mut pair) {
                let flow = format!("{name}:{direction:?}");
                plugins.open_gate(&flow, Reach::Wire);
                *place = (scenario.flows.len(), 0);
                scenario.flows.push(Flow {
                    name: flow.clone(),
                    group: flow,
                    station: name.clone(),
                    direction,
                    category: Category::Be,
                    start: Span::ZERO,
                    stop: None,
                    protected: false,
                    demand: None,
                    wire: scenario.wire.way,
                    traffic: Traffic::Cbr(Datagrams {
                        rate: BitRate::from_kbps(1),
                        size: ByteCount::new(1000),
                    }),
                });
            }
            flows.push(pair);
        }
        let mut run = Run::with_plugins("live", &scenario, &scenario.scheme, arguments.seed, &plugins)?;
        let received = scenario.stations.iter().map(|station| Received {
            is_traced: matches!(&station.channel, ChannelSpec::Trace(link) if link.used_as == TraceUse::Phy),
            ..Received::default()
        });
        let stations = Rc::new(RefCell::new(received.collect::<Vec<_>>()));
        // As long as the programs leave out at their start (`skip`).
        let from = Instant::ZERO + scenario.warm_up + Span::from_secs(5);
        run.observe(Box::new(Air { stations: Rc::clone(&stations), from }));
        run.advance_to(Instant::ZERO + scenario.warm_up);
        let (program, options) = arguments.program.split_first().ok_or("name a program")?;
        let with = |words: &[String]| words.iter().chain(options).cloned().collect::<Vec<_>>();
        let count = format!("stations={}", numbers.len());
        let mut ends = vec![End::start(program, &with(&["send".to_owned(), count]), None)?];
        for (place, number) in numbers.iter().enumerate() {
            let words = ["view".to_owned(), format!("station={place}")];
            ends.push(End::start(program, &with(&words), Some(*number))?);
        }
        Ok(Self { run, ends, flows, parcels: Vec::new(), free: Vec::new(), stations })
    }

    /// Lets a program act until it waits.
    fn follow(&mut self, place: usize) -> Result<(), Failure> {
        loop {
            match self.ends[place].act()? {
                Act::Send { peer, size, head } => self.send(place, peer, size, head),
                Act::Wait(until) => {
                    self.ends[place].until = until;
                    return Ok(());
                }
                Act::Result(line) => println!("{line}"),
                Act::Ended => return Ok(()),
            }
        }
    }

    fn send(&mut self, from: usize, peer: u32, size: u32, head: Vec<u8>) {
        let (station, way, to) = match from {
            0 => (peer as usize, 0, peer as usize + 1),
            _ => (from - 1, 1, 0),
        };
        let Some(flow) = self.flows.get(station) else { return };
        let (flow, number) = flow[way];
        self.flows[station][way].1 += 1;
        let tag = self.free.pop().unwrap_or_else(|| {
            self.parcels.push(None);
            self.parcels.len() - 1
        });
        let parcel = Parcel { at: Instant::ZERO, peer: station as u32, size, head };
        self.parcels[tag] = Some((to, parcel));
        self.run.push(flow, number, tag as u64, ByteCount::new(u64::from(size + HEADERS)));
    }

    /// Moves packets that have come to the programs.
    fn deliver(&mut self) {
        let mut passed = Vec::new();
        self.run.take_passed(&mut passed);
        for fate in passed {
            let tag = fate.tag as usize;
            let Some((to, mut parcel)) = self.parcels[tag].take() else { continue };
            self.free.push(tag);
            if fate.lost.is_none() {
                parcel.at = fate.at;
                // On a station the only peer is the server.
                if to > 0 {
                    parcel.peer = 0;
                }
                self.ends[to].inbox.push_back(parcel);
            }
        }
    }

    fn play(&mut self) -> Result<(), Failure> {
        // The first wait of each program.
        for place in 0..self.ends.len() {
            self.follow(place)?;
        }
        // The server's end is the end of all.
        while self.ends[0].input.is_some() {
            let now = self.run.now();
            for place in 0..self.ends.len() {
                if self.is_due(place) {
                    let station = self.ends[place].station;
                    let rate = station.map_or(BitRate::ZERO, |station| self.stations.borrow()[station].rate);
                    self.ends[place].wake(now, rate)?;
                    self.follow(place)?;
                }
            }
            if (0..self.ends.len()).any(|place| self.is_due(place)) {
                continue;
            }
            let wait = self.ends.iter().map(|end| end.until).min().unwrap_or(Instant::MAX);
            let next = self.run.next_event().max(now + Span::from_nanos(1)).min(wait);
            self.run.advance_to(next);
            self.deliver();
        }
        for end in &mut self.ends {
            end.input = None;
            loop {
                match end.act() {
                    Ok(Act::Result(line)) => println!("{line}"),
                    Ok(Act::Send { .. } | Act::Wait(_)) => {}
                    Ok(Act::Ended) | Err(_) => break,
                }
            }
            let status = end.child.wait()?;
            if !status.success() {
                return Err(format!("a program ended with {status}").into());
            }
        }
        Ok(())
    }

    fn is_due(&self, place: usize) -> bool {
        let end = &self.ends[place];
        end.input.is_some() && (end.until <= self.run.now() || !end.inbox.is_empty())
    }

    /// The frames of the air, a line for each station of a program.
    fn print_air(&self) {
        let stations = self.stations.borrow();
        for (place, number) in self.ends.iter().filter_map(|end| end.station).enumerate() {
            let Received { rate, frames, packets, .. } = stations[number];
            let level = packets as f64 / (frames.max(1)) as f64;
            println!(
                "{{\"role\": \"air\", \"station\": {place}, \"level\": {level:.3}, \"frames\": {frames}, \"phy_mbps\": {:.1}}}",
                rate.as_mbps_f64()
            );
        }
    }
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::read()?;
    let mut world = World::new(&arguments)?;
    world.play()?;
    world.print_air();
    Ok(())
}
