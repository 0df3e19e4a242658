//! The medium at work on the driver's device.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use airbound_units::Instant;

use super::{DEVICE, LOGS, STOP, scenario, zero};
use crate::LabError;
use crate::channel::{Command, EVENT_SIZE, Event};
use crate::log::Row;
use crate::medium::Medium;

/// Events read at once.
const EVENTS: usize = 256;

/// Carries the air of the scenario until the run is over.
///
/// # Errors
/// The device or a file fails.
pub fn medium() -> Result<(), LabError> {
    let scenario = scenario()?;
    let mut device = OpenOptions::new().read(true).write(true).open(DEVICE).map_err(LabError::io("open", DEVICE))?;
    let log = format!("{LOGS}/air.log");
    let mut log = BufWriter::new(File::create(&log).map_err(LabError::io("create", &log))?);
    let mut medium = Medium::new(&scenario, scenario.seed, super::now());
    let mut buffer = vec![0; EVENTS * EVENT_SIZE];
    let mut out = Vec::new();
    let mut run: Option<(Instant, Idle)> = None;
    let mut next_look = Instant::ZERO;
    let mut now = super::now();
    loop {
        medium.advance(now);
        carry_out(&mut medium, &mut device, &mut out)?;
        let read = device.read(&mut buffer).map_err(LabError::io("read", DEVICE))?;
        for raw in buffer[..read].chunks_exact(EVENT_SIZE) {
            let Ok(raw) = raw.try_into() else { continue };
            match Event::read(raw) {
                Some(Event::Time(time)) => now = time,
                Some(event) => medium.on_event(event),
                None => {}
            }
        }
        for row in medium.take_rows() {
            row.write(&mut log).map_err(LabError::io("write", LOGS))?;
        }
        // Now and then: whether time zero, or the end, has been set.
        if now >= next_look {
            next_look = now + airbound_units::Span::from_millis(50);
            if run.is_none()
                && let Some(zero) = zero()
            {
                medium.set_zero(zero);
                run = Some((zero, Idle::read()));
            }
            if Path::new(STOP).exists() {
                break;
            }
        }
    }
    if let Some((zero, before)) = run {
        let after = Idle::read();
        let (idle, of) = (after.idle - before.idle, after.all - before.all);
        Row::Run { zero, idle, of }.write(&mut log).map_err(LabError::io("write", LOGS))?;
    }
    medium.close();
    carry_out(&mut medium, &mut device, &mut out)?;
    log.flush().map_err(LabError::io("write", LOGS))
}

fn carry_out(medium: &mut Medium, device: &mut File, out: &mut Vec<u8>) -> Result<(), LabError> {
    out.clear();
    for command in medium.take_commands() {
        command.write(out);
    }
    Command::Alarm(medium.next_deadline()).write(out);
    device.write_all(out).map_err(LabError::io("write", DEVICE))
}

/// Ticks of the processor since the guest started, from `/proc/stat`.
#[derive(Debug, Clone, Copy, Default)]
struct Idle {
    idle: u64,
    all: u64,
}

impl Idle {
    fn read() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        Self { idle: ticks.get(3).copied().unwrap_or(0), all: ticks.iter().sum() }
    }
}
