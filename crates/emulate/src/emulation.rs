//! An emulation from its preparation to its results.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use airbound_linux::internet::Internet;
use airbound_linux::namespace::{Closed, Network, Sign, World, set_exact_timers, set_real_time};
use airbound_linux::packet::mark_congestion;
use airbound_linux::tun::Tun;
use airbound_record::{EmulationSummary, Lateness, RunFolder, Summary};
use airbound_runs::{AirCapture, BuiltRun, Contents, Named, Opened, PreparedCapture};
use airbound_scenario::Scenario;
use airbound_sim::Run;
use airbound_units::{Instant, Span};

use crate::bridge::{Bridge, MTU};
use crate::clock::Clock;
use crate::enter::sign_of;
use crate::error::EmulateError;
use crate::hosts::{GATEWAY, Hosts, PREFIX, Place, switch_file};
use crate::jobs::Jobs;
use crate::lanes::Lanes;
use crate::load::Load;
use crate::machine::{Machine, Part};
use crate::port::Port;
use crate::request::Request;

/// Longest emulation.
pub(crate) const LONGEST: Span = Span::from_secs(86_400);
/// Packets that may wait in a device for the emulator.
const DEVICE_QUEUE: u32 = 4000;
/// Between two looks at commands, and between two reports of the status.
const LOOK: Span = Span::from_millis(10);
pub(crate) const REPORT: Span = Span::from_secs(1);
/// After a request to stop, commands are asked to end, and then ended; after a further one sooner.
const ASK: Span = Span::from_millis(500);
const FORCE: Span = Span::from_secs(3);
const HURRY: Span = Span::from_millis(100);

/// Requests from outside to stop, which the loop looks at.
#[derive(Debug, Clone, Copy)]
pub struct Stop<'a> {
    /// End the commands, and leave the results.
    pub asked: &'a AtomicBool,
    /// Do not wait for commands that end slowly.
    pub hurried: &'a AtomicBool,
}

impl Stop<'_> {
    pub(crate) fn is_asked(self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    fn is_hurried(self) -> bool {
        self.hurried.load(Ordering::Relaxed)
    }
}

/// The scheduling class of the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// SCHED_FIFO: it runs as soon as it has something to do.
    RealTime,
    /// The ordinary class: other processes delay it.
    Ordinary,
}

impl Class {
    /// Its name in the summary.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RealTime => "fifo",
            Self::Ordinary => "other",
        }
    }

    /// The time before a deadline from which it waits busily: the delay of most wake-ups.
    pub(crate) const fn margin(self) -> Span {
        match self {
            Self::RealTime => Span::from_micros(50),
            Self::Ordinary => Span::from_micros(100),
        }
    }
}

/// An emulation whose namespaces are made.
pub struct Emulation {
    request: Request,
    hosts: Hosts,
    built: BuiltRun,
    lanes: Lanes,
    tuns: Vec<Port>,
    internet: Vec<Option<Internet>>,
    closed: Closed,
    capture: Option<PreparedCapture>,
    class: Class,
    load: Option<Load>,
    /// Open for `enter`, which finds them by the signs.
    _networks: Vec<Network>,
    /// Names by which `enter` finds the hosts.
    _signs: Vec<Sign>,
}

/// The state of a running emulation.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    /// Time since its start.
    pub elapsed: Span,
    /// Share of packets that were more than 1 ms late.
    pub late_share: Option<f64>,
    /// Lateness of first packets.
    pub first: Lateness,
    /// Slips so far.
    pub slips: u64,
    /// Packets released so far.
    pub packets: u64,
    /// Packets dropped at the devices so far.
    pub device_drops: Option<u64>,
}

/// A finished emulation.
pub struct Finished {
    /// Folder of the run.
    pub folder: RunFolder,
    /// Its summary.
    pub summary: Summary,
    /// The exit code of the first command that failed, else 0.
    pub code: u8,
    /// Commands that ended otherwise than with 0, and how.
    pub failed: Vec<String>,
    /// Packets that the capture lacks, because the disk was too slow.
    pub left_out: u64,
    /// Conditions of demands that no connection began with.
    pub unmet: Vec<String>,
}

impl Emulation {
    /// Builds the simulation, and makes a network for each host. Call it before any thread is started.
    ///
    /// # Errors
    /// The request is wrong, or the system does not permit it.
    pub fn prepare(request: Request) -> Result<Self, EmulateError> {
        let hosts = request.hosts()?;
        let mut scenario = request.scenario()?;
        scenario.duration = LONGEST;
        let Named { label, scheme, mut plugins } = request.named.clone();
        let lanes = Lanes::add(&mut scenario, &mut plugins, hosts.all(), request.protected.clone());
        let opened = Opened { name: request.opened.name.clone(), scenario };
        let named = Named { label, scheme, plugins };
        let load = Load::check(&opened, &named)?;
        let mut built = BuiltRun::new(&opened, named)?;
        lanes
            .check_demands(built.run())
            .map_err(|(condition, reason)| EmulateError::Demand { condition, reason })?;

        let capture = capture_of(request.capture.as_deref())?;
        let class = if set_real_time().is_ok() { Class::RealTime } else { Class::Ordinary };
        let mut signs: Vec<Sign> = hosts.all().iter().filter_map(|_| Sign::blank().ok()).collect();
        let internet = ways_out(&hosts, request.internet)?;
        let world = World::enter(&files(&hosts))?;
        let (mut networks, mut tuns) = (Vec::new(), Vec::new());
        for (number, host) in hosts.all().iter().enumerate() {
            networks.push(world.add_network()?);
            let (four, six) = Hosts::addresses(number);
            let addresses = [(four.into(), PREFIX.0), (six.into(), PREFIX.1)];
            let device = if host.place == Place::Wire { "eth0" } else { "air0" };
            let tun = Tun::create(device, MTU, DEVICE_QUEUE, &addresses)?;
            if internet.get(number).is_some_and(Option::is_some) {
                tun.set_way_out()?;
            }
            tuns.push(Port::Tun(tun));
        }
        let number = |host: &str| hosts.number(host).and_then(|number| networks.get(number));
        let commands = request
            .all_commands()
            .filter_map(|command| Some((command.line.command(request.output), number(&command.host)?)));
        let closed = world.close(commands.collect())?;
        for ((host, network), sign) in hosts.all().iter().zip(&networks).zip(&mut signs) {
            // Without a sign nobody can enter, and all else works.
            let _ = sign.show(&sign_of(&host.name, &closed, network));
        }
        Ok(Self {
            request,
            hosts,
            built,
            lanes,
            tuns,
            internet,
            closed,
            capture,
            class,
            load,
            _networks: networks,
            _signs: signs,
        })
    }

    /// The scheduling class that it got.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The load of the scenario's own traffic, if it has any.
    #[must_use]
    pub const fn load(&self) -> Option<Load> {
        self.load
    }

    /// The hosts.
    #[must_use]
    pub const fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Runs the commands until those on stations have ended, or `stop` says so, and leaves the results in the folder. `report` is called
    /// each second, by a thread of its own.
    ///
    /// # Errors
    /// A command cannot be started, or the folder cannot be written; nothing remains then.
    pub fn run(self, stop: Stop<'_>, report: impl FnMut(Status) + Send) -> Result<Finished, EmulateError> {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<Status>(1);
            let mut report = report;
            scope.spawn(move || receiver.into_iter().for_each(&mut report));
            self.run_reporting(stop, sender)
        })
    }

    fn run_reporting(self, stop: Stop<'_>, report: SyncSender<Status>) -> Result<Finished, EmulateError> {
        let Self {
            request,
            hosts,
            built,
            lanes,
            mut tuns,
            internet,
            closed,
            capture,
            class,
            load: _,
            _networks,
            _signs,
        } = self;
        let (contents, capture) = with_contents(capture, &request.opened.scenario);
        let mut paced = built.record(&request.folder, request.tables, capture)?;
        let run = paced.run();
        run.advance_to(Instant::ZERO + request.opened.scenario.warm_up);

        let mut jobs = Jobs::new(closed, &request);
        let is_server = |number: &usize| {
            let name = &hosts.all()[*number].name;
            request.servers.iter().any(|command| command.host == *name)
        };
        let mut serving: Vec<&mut Port> =
            tuns.iter_mut().enumerate().filter(|(number, _)| is_server(number)).map(|(_, tun)| tun).collect();
        jobs.start_servers(&mut serving)?;
        jobs.start();

        set_exact_timers();
        let before = Machine::now();
        let began = airbound_linux::now();
        let clock = Clock::new(began, run.now());
        let mut bridge = Bridge::new(hosts.clone(), tuns, lanes, clock, class.margin());
        bridge.open(internet);
        if let Some(contents) = contents {
            bridge.keep(contents);
        }
        let (mut next_look, mut next_report) = (began, began + REPORT);
        let (mut asked, mut hurried): (Option<Instant>, Option<Instant>) = (None, None);
        let (mut is_over, mut terminated) = (false, false);
        loop {
            bridge.turn(run).map_err(|(host, source)| EmulateError::Device {
                host: hosts.all()[host].name.clone(),
                source,
            })?;
            let now = airbound_linux::now();
            if now < next_look {
                continue;
            }
            next_look = now + LOOK;
            if jobs.look() {
                break;
            }
            jobs.check_started()?;
            is_over |= request.limit.is_some_and(|limit| now.since(began) >= limit) || run.now() >= run.end();
            if asked.is_none() && (is_over || stop.is_asked()) {
                asked = Some(now);
            }
            if let Some(asked) = asked {
                let waited = now.since(asked);
                if !terminated && (waited >= ASK || is_over || stop.is_hurried()) {
                    jobs.terminate();
                    terminated = true;
                }
                if stop.is_hurried() && hurried.is_none() {
                    hurried = Some(now);
                }
                if waited >= FORCE || hurried.is_some_and(|since| now.since(since) >= HURRY) {
                    break;
                }
            }
            if now >= next_report {
                next_report = now + REPORT;
                // A terminal that is slow misses some.
                let _ = report.try_send(status(&mut bridge, now.since(began)));
            }
        }
        let machine = Machine::now();
        drop(report);
        let (code, failed) = jobs.end(is_over);
        let unmet = bridge.lanes().unmet();
        let emulation = summary(&mut bridge, run, class, machine.since(&before));
        // An emulation that was shorter has no rates.
        run.advance_to(Instant::ZERO + request.opened.scenario.warm_up + Span::from_millis(1));
        let (folder, summary, left_out) = paced.finish(&request.scenario()?, emulation)?;
        Ok(Finished { folder, summary, code, failed, left_out, unmet })
    }
}

pub(crate) fn status(bridge: &mut Bridge, elapsed: Span) -> Status {
    let lateness = bridge.lateness();
    let (first, _) = lateness.figures();
    let (late_share, packets) = (lateness.late_share(), lateness.packets());
    let slips = bridge.clock().slips().0;
    Status { elapsed, late_share, first, slips, packets, device_drops: bridge.device_drops() }
}

pub(crate) fn summary(bridge: &mut Bridge, run: &mut Run, class: Class, part: Part) -> EmulationSummary {
    let device_drops = bridge.device_drops();
    let lateness = bridge.lateness();
    let (first, last) = lateness.figures();
    let (slips, slipped) = bridge.clock().slips();
    EmulationSummary {
        counts: lateness.counts(),
        late_share: lateness.late_share(),
        class: class.name().to_owned(),
        first,
        last,
        packets: lateness.packets(),
        aggregates: lateness.aggregates(),
        slips,
        slipped_s: slipped.as_secs_f64(),
        device_drops,
        marked: bridge.marked(),
        strays: bridge.strays(),
        steal_share: part.steal,
        processors: part.processors,
        spinning: bridge.spun().as_secs_f64() / part.length.as_secs_f64().max(1e-9),
        system: part.system,
        flows: bridge.lanes().used(run),
    }
}

/// A file for the capture, where one is wanted.
pub(crate) fn capture_of(path: Option<&Path>) -> Result<Option<PreparedCapture>, EmulateError> {
    let Some(path) = path else { return Ok(None) };
    Ok(Some(PreparedCapture::new(path)?))
}

/// The capture of a run, and the bytes that it shares with the bridge.
pub(crate) fn with_contents(
    prepared: Option<PreparedCapture>,
    scenario: &Scenario,
) -> (Option<Contents>, Option<AirCapture<'_>>) {
    let Some(prepared) = prepared else { return (None, None) };
    let contents = Contents::new(mark_congestion);
    (Some(contents.clone()), Some(AirCapture { prepared, contents, scenario }))
}

/// The ways out of stations, by host; none at all where none is wanted.
fn ways_out(hosts: &Hosts, wanted: bool) -> Result<Vec<Option<Internet>>, EmulateError> {
    let hosts = if wanted { hosts.all() } else { &[] };
    let ways = hosts.iter().enumerate().map(|(number, host)| {
        let start = || Internet::start(Hosts::addresses(number).0, PREFIX.0, GATEWAY);
        (host.place != Place::Wire).then(start).transpose()
    });
    Ok(ways.collect::<Result<_, _>>()?)
}

/// The files that hosts see with other content.
fn files(hosts: &Hosts) -> [(&'static Path, String); 3] {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let switch = std::fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
    let names = format!("nameserver {GATEWAY}\n");
    [
        (Path::new("/etc/hosts"), hosts.hosts_file(own.trim())),
        (Path::new("/etc/resolv.conf"), names),
        (Path::new("/etc/nsswitch.conf"), switch_file(&switch)),
    ]
}
