//! The medium at work on the driver's device.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use airbound_units::{Instant, Span};

use super::{DEVICE, LOGS, STOP, scenario};
use crate::LabError;
use crate::channel::{Command, EVENT_SIZE, Event};
use crate::log::Row;
use crate::medium::Medium;

/// Events read at once.
const EVENTS: usize = 256;
/// Between two looks whether time zero, or the end, has been set.
const LOOK: Span = Span::from_millis(50);

/// Carries the air of the scenario until the run is over.
///
/// # Errors
/// The device or a file fails.
pub fn medium() -> Result<(), LabError> {
    let scenario = scenario()?;
    let mut device =
        OpenOptions::new().read(true).write(true).open(DEVICE).map_err(LabError::io("open", DEVICE))?;
    let log = format!("{LOGS}/air.log");
    let mut log = BufWriter::new(File::create(&log).map_err(LabError::io("create", &log))?);
    let mut medium = Medium::new(&scenario, scenario.seed, super::now())?;
    let mut buffer = vec![0; EVENTS * EVENT_SIZE];
    let mut out = Vec::new();
    let mut zero = None;
    let mut run: Option<(Instant, Instant)> = None;
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
        if now >= next_look {
            next_look = now + LOOK;
            match (zero, run) {
                (None, _) => {
                    zero = super::zero();
                    zero.into_iter().for_each(|zero| medium.set_zero(zero));
                }
                (Some(zero), None) if now >= zero => run = Some((zero, idle_time())),
                _ => {}
            }
            if Path::new(STOP).exists() {
                break;
            }
        }
    }
    if let Some((zero, before)) = run {
        let row =
            Row::Run { zero, idle: idle_time().since(before).as_nanos(), of: now.since(zero).as_nanos() };
        row.write(&mut log).map_err(LabError::io("write", LOGS))?;
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

/// Returns the time for which the processor has idled since the guest started. `/proc/stat` measures idle time; other times it samples.
fn idle_time() -> Instant {
    const TICK: Span = Span::from_millis(10);
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.lines().next().and_then(|line| line.split_whitespace().nth(4)?.parse::<u64>().ok());
    Instant::ZERO + TICK * ticks.unwrap_or(0)
}
