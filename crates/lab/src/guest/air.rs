//! The process that runs the medium on the driver's device.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use airbound_units::{Instant, Span};

use super::commands::COMMANDS;
use super::{DEVICE, LOGS, STOP, scenario};
use crate::LabError;
use crate::channel::{Command, EVENT_SIZE, Event};
use crate::log::Row;
use crate::medium::Medium;

/// Events per read.
const EVENTS: usize = 256;
/// Interval at which the files for time zero and for the end are checked.
const CHECK: Span = Span::from_millis(50);

/// Runs the medium of the scenario until the end of the run.
///
/// # Errors
/// An operation on the device or a file failed.
pub fn medium() -> Result<(), LabError> {
    let scenario = scenario()?;
    let mut device =
        OpenOptions::new().read(true).write(true).open(DEVICE).map_err(LabError::io("open", DEVICE))?;
    let log = format!("{LOGS}/air.log");
    let mut log = BufWriter::new(File::create(&log).map_err(LabError::io("create", &log))?);
    let mut medium = Medium::new(&scenario, scenario.seed, super::now())?;
    if Path::new(COMMANDS).exists() {
        medium.log_connections();
    }
    let mut buffer = vec![0; EVENTS * EVENT_SIZE];
    let mut out = Vec::new();
    let mut zero = None;
    let mut run: Option<(Instant, Instant)> = None;
    let mut next_check = Instant::ZERO;
    let mut now = super::now();
    loop {
        medium.advance(now);
        send_commands(&mut medium, &mut device, &mut out)?;
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
        if now >= next_check {
            next_check = now + CHECK;
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
    send_commands(&mut medium, &mut device, &mut out)?;
    log.flush().map_err(LabError::io("write", LOGS))
}

fn send_commands(medium: &mut Medium, device: &mut File, out: &mut Vec<u8>) -> Result<(), LabError> {
    out.clear();
    for command in medium.take_commands() {
        command.write(out);
    }
    Command::Alarm(medium.next_deadline()).write(out);
    device.write_all(out).map_err(LabError::io("write", DEVICE))
}

/// The idle time of the processor since the guest's boot. Of the times in `/proc/stat` only the idle time is measured, others are sampled.
fn idle_time() -> Instant {
    const TICK: Span = Span::from_millis(10);
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.lines().next().and_then(|line| line.split_whitespace().nth(4)?.parse::<u64>().ok());
    Instant::ZERO + TICK * ticks.unwrap_or(0)
}
