//! The air between two devices of this machine: what one network sends to the other is carried over the air of one station. This is the
//! place of ns-3 in the container layout of quic-network-simulator.

use std::path::PathBuf;

use airbound_linux::forward::Forwarder;
use airbound_linux::namespace::{set_exact_timers, set_real_time};
use airbound_record::Tables;
use airbound_runs::{BuiltRun, Named, Opened, PreparedCapture};
use airbound_units::{Instant, Span};

use crate::bridge::Bridge;
use crate::clock::Clock;
use crate::emulation::{
    Class, Finished, LONGEST, REPORT, Status, Stop, capture_of, status, summary, with_contents,
};
use crate::error::EmulateError;
use crate::hosts::Hosts;
use crate::lanes::{Lanes, Protected};
use crate::load::Load;
use crate::machine::Machine;
use crate::port::Port;
use crate::request::without;

/// Two devices, and the air between them.
#[derive(Debug, Clone)]
pub struct Between {
    /// The scenario.
    pub opened: Opened,
    /// The scheme.
    pub named: Named,
    /// The station whose place the networks behind the first device have.
    pub station: String,
    /// The device of the station, and that behind the wire.
    pub devices: [String; 2],
    /// Flows and groups of flows that are left out of the scenario.
    pub without: Vec<String>,
    /// Demands on connections.
    pub protected: Vec<Protected>,
    /// It ends after this time at the latest.
    pub limit: Option<Span>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// The tables in it.
    pub tables: Tables,
    /// File for the packets of the station.
    pub capture: Option<PathBuf>,
}

/// Devices that are open, and a simulation that is built.
pub struct Opening {
    request: Between,
    hosts: Hosts,
    built: BuiltRun,
    lanes: Lanes,
    ports: Vec<Port>,
    capture: Option<PreparedCapture>,
    class: Class,
}

impl Between {
    /// Opens the devices and builds the simulation.
    ///
    /// # Errors
    /// The request is wrong, or the system does not permit it.
    pub fn prepare(self) -> Result<Opening, EmulateError> {
        let hosts = Hosts::new(&self.opened.scenario, &[&self.station], &[])?;
        let mut scenario = without(&self.opened.scenario, &self.without)?;
        scenario.duration = LONGEST;
        let Named { label, scheme, mut plugins } = self.named.clone();
        let lanes = Lanes::add(&mut scenario, &mut plugins, hosts.all(), self.protected.clone());
        let opened = Opened { name: self.opened.name.clone(), scenario };
        let named = Named { label, scheme, plugins };
        Load::check(&opened, &named)?;
        let mut built = BuiltRun::new(&opened, named)?;
        lanes
            .check_demands(built.run())
            .map_err(|(condition, reason)| EmulateError::Demand { condition, reason })?;
        let capture = capture_of(self.capture.as_deref())?;
        let class = if set_real_time().is_ok() { Class::RealTime } else { Class::Ordinary };
        let [near, far] = &self.devices;
        // In the order of the hosts: the server's side first.
        let ports = [far, near].map(|name| Forwarder::open(name).map(Port::Device));
        let ports = ports.into_iter().collect::<Result<_, _>>()?;
        Ok(Opening { request: self, hosts, built, lanes, ports, capture, class })
    }
}

impl Opening {
    /// The scheduling class that it got.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// Carries packets until `stop` says so, and leaves the results in the folder. `ready` is called when packets begin to pass, and
    /// `report` each second.
    ///
    /// # Errors
    /// A device fails, or the folder cannot be written; nothing remains then.
    pub fn run(
        self,
        stop: Stop<'_>,
        ready: impl FnOnce(),
        mut report: impl FnMut(Status),
    ) -> Result<Finished, EmulateError> {
        let Self { request, hosts, built, lanes, ports, capture, class } = self;
        let (contents, capture) = with_contents(capture, &request.opened.scenario);
        let mut paced = built.record(&request.folder, request.tables, capture)?;
        let run = paced.run();
        run.advance_to(Instant::ZERO + request.opened.scenario.warm_up);
        set_exact_timers();
        let before = Machine::now();
        let began = airbound_linux::now();
        let mut bridge = Bridge::new(hosts, ports, lanes, Clock::new(began, run.now()), class.margin());
        if let Some(contents) = contents {
            bridge.keep(contents);
        }
        ready();
        let mut next_report = began + REPORT;
        loop {
            bridge.turn(run).map_err(|(host, source)| EmulateError::Device {
                host: request.devices[1 - host.min(1)].clone(),
                source,
            })?;
            let now = airbound_linux::now();
            let is_over = request.limit.is_some_and(|limit| now.since(began) >= limit);
            if is_over || stop.is_asked() || run.now() >= run.end() {
                break;
            }
            if now >= next_report {
                next_report = now + REPORT;
                report(status(&mut bridge, now.since(began)));
            }
        }
        let emulation = summary(&mut bridge, run, class, Machine::now().since(&before));
        let unmet = bridge.lanes().unmet();
        // One that was shorter has no rates.
        run.advance_to(Instant::ZERO + request.opened.scenario.warm_up + Span::from_millis(1));
        let scenario = without(&request.opened.scenario, &request.without)?;
        let (folder, summary, left_out) = paced.finish(&scenario, emulation)?;
        Ok(Finished { folder, summary, code: 0, failed: Vec::new(), left_out, unmet })
    }
}
