//! Sensing without a relay: the aggregation level of what arrives, by a monitor interface and by the kernel's stamps.

use std::sync::atomic::Ordering;

use airbound_linux::captures::Captures;
use airbound_linux::interface::Interface;
use airbound_linux::radiotap::captured;
use airbound_linux::udp::stamp_now;
use airbound_senders::allocation::{AllocationConfig, FrameSensor, Observation, Report, Stamps};
use airbound_units::{ByteCount, Instant, Span};
use serde_json::json;

use super::args::SenseOptions;
use super::client::Phy;
use super::error::RelayError;
use super::wait::Waiter;
use super::{say, settle};
use crate::protocol::{Monitor, Ppdu};

/// The numbers of the sockets.
const MONITOR: u64 = 0;
const KERNEL: u64 = 1;
/// Time between two looks for what the sensors have to report.
const LOOK: Span = Span::from_millis(50);
/// and for the PHY rate.
const ASK: Span = Span::from_millis(250);

/// Runs until a signal or the end of the asked time.
pub(super) fn run(options: &SenseOptions) -> Result<(), RelayError> {
    let interface = Interface::find(&options.interface)?;
    let mut kernel = Captures::open(&interface, false)?;
    let mut monitor = Captures::open(&Interface::find(&options.monitor)?, true)?;
    let waiter = Waiter::new()?;
    waiter.add(&monitor, MONITOR).map_err(RelayError::io("wait for the monitor interface"))?;
    waiter.add(&kernel, KERNEL).map_err(RelayError::io("wait for the interface"))?;
    let end = settle()?;
    let mut by_monitor = Sense::new("monitor", Stamps::Exact)?;
    let mut by_kernel = Sense::new("kernel", Stamps::Jittered)?;
    let (mut frames, mut number) = (Monitor::default(), 0);
    // As the client: the kernel's packets do not show their rate.
    let mut phy = Phy::of_interface(&options.interface)?;
    let (mut rate, mut asked) = (phy.rate(), airbound_linux::now());
    let until = options.time.map(|time| airbound_linux::now() + time);
    let mut ready = Vec::new();
    while !end.load(Ordering::Relaxed) && until.is_none_or(|until| airbound_linux::now() < until) {
        waiter.wait(airbound_linux::now() + LOOK, &mut ready);
        if airbound_linux::now() - asked >= ASK {
            (rate, asked) = (phy.rate(), airbound_linux::now());
        }
        let mut take = |stamp, bytes: &[u8]| {
            let Some(frame) = captured(bytes) else { return };
            if (frame.to, frame.tid) == (interface.address, options.tid) {
                let ppdu = frame.aggregate.map(Ppdu::Aggregate).or(frame.at.map(Ppdu::At));
                by_monitor.take(frames.observe(stamp, ppdu, frame.sequence, frame.payload, frame.rate));
            }
        };
        while monitor.receive(&mut take).map_err(RelayError::io("read the monitor interface"))? {}
        let mut take = |at, bytes: &[u8]| {
            // What the kernel hands on is in order: nothing tells a loss.
            if matches!(bytes.first().map(|first| first >> 4), Some(4 | 6)) {
                let payload = ByteCount::new(bytes.len() as u64);
                by_kernel.take(Observation { at, sequence: number, packets: 1, payload, rate });
                number += 1;
            }
        };
        while kernel.receive(&mut take).map_err(RelayError::io("read the interface"))? {}
        by_monitor.report()?;
        by_kernel.report()?;
    }
    Ok(())
}

/// A sensor and the name of its source.
struct Sense {
    source: &'static str,
    sensor: FrameSensor,
}

impl Sense {
    fn new(source: &'static str, stamps: Stamps) -> Result<Self, RelayError> {
        let sensor = FrameSensor::new(AllocationConfig::default().sensor(stamps));
        Ok(Self { source, sensor: sensor.map_err(|error| RelayError::Input(error.to_string()))? })
    }

    fn take(&mut self, observation: Observation) {
        self.sensor.on_packet(&observation);
    }

    fn report(&mut self) -> Result<(), RelayError> {
        let now = stamp_now();
        self.sensor.on_deadline(now).map_or(Ok(()), |report| say(&self.line(now, &report)))
    }

    fn line(&self, now: Instant, report: &Report) -> String {
        json!({
            "source": self.source,
            "at_s": now.as_secs_f64(),
            "level": report.level(),
            "spread": report.spread,
            "frames": report.frames,
            "repeats": report.repeats,
            "packets": report.packets,
            "transmissions": report.transmissions,
            "retransmitted": report.retransmitted,
            "phy_mbps": report.phy_rate.map(|rate| rate.as_mbps_f64()),
        })
        .to_string()
    }
}
