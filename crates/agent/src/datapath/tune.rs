//! WQM on a buffer of the kernel: sets its size and holds no packet.

use airbound_control::queue::wqm::equations::bandwidth_delay_product;
use airbound_linux::nl80211::{Survey, Wireless};
use airbound_linux::now;
use airbound_linux::privileges::{self, Capability};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::plan::{Action, Plan};
use super::settings::Settings;
use super::{Callbacks, cpu_s, publish};
use crate::engine::{Tuner, Waiting};
use crate::error::AgentError;
use crate::journal::{Event, Journal};
use crate::snapshot::Snapshot;

/// Longest interval between two checks for a shutdown request.
const STOP_CHECK: Span = Span::from_millis(50);

/// The share of the channel that other transmitters left free since the last reading.
pub(super) fn free_share(before: Option<Survey>, now: Option<Survey>) -> Option<f64> {
    let (busy, own) = shares(before, now);
    Some(1.0 - (busy? - own.unwrap_or(0.0)).clamp(0.0, 1.0))
}

/// The busy share of the channel and the share of the own transmissions since the last reading.
pub(super) fn shares(before: Option<Survey>, now: Option<Survey>) -> (Option<f64>, Option<f64>) {
    let (Some(before), Some(now)) = (before, now) else { return (None, None) };
    let since = |part: fn(&Survey) -> Option<Span>| Some(part(&now)?.saturating_sub(part(&before)?));
    let whole = since(|survey| survey.time).unwrap_or(Span::ZERO);
    let busy = super::classify::share(since(|survey| survey.busy), whole);
    (busy, super::classify::share(since(|survey| survey.sending), whole))
}

/// The survey of the channel in use.
pub(super) fn survey(wireless: &mut Wireless, interface: u32) -> Option<Survey> {
    wireless.survey(interface).ok()?.into_iter().find(|survey| survey.is_in_use)
}

pub(super) fn tune(plan: &Plan, callbacks: Callbacks<'_>) -> Result<(), AgentError> {
    let started = now();
    let mut journal = Journal::open(
        plan.config.journal.as_deref(),
        plan.config.radio.as_ref().map(|radio| radio.name.as_str()),
    )?;
    let mut wireless = Wireless::open()?;
    privileges::keep_only(&[Capability::NetworkAdministration])?;
    (callbacks.opened)()?;
    let mut settings = Settings::default();
    let mut tuner = Tuner::new(plan.wqm())?;
    let mut snapshot = plan.snapshot("none needed");
    journal.event(started, &plan.started("none needed"));
    let mut before = None;
    let mut last_set = None;
    let mut result = Ok(());
    while (callbacks.beat)() {
        let time = now();
        if time >= tuner.next_deadline() {
            let read = plan.ports.iter().map(|port| wireless.stations(port.wifi.index));
            let stations = match read.collect::<Result<Vec<_>, _>>() {
                Ok(stations) => stations.concat(),
                Err(error) => {
                    result = Err(AgentError::from(error));
                    break;
                }
            };
            let seen = survey(&mut wireless, plan.first().wifi.index);
            let free = free_share(before, seen);
            before = seen;
            let waiting: Vec<Waiting> = stations
                .iter()
                .map(|station| Waiting {
                    backlog: ByteCount::new(station.backlog().map_or(0, |txq| u64::from(txq.backlog_bytes))),
                    rate: station.transmit_rate.map(|rate| rate.rate).filter(|rate| !rate.is_zero()),
                })
                .collect();
            let decision = tuner.on_reading(time, &waiting, free);
            let packets = match plan.action {
                Action::Txqueuelen => {
                    slowest(&waiting).map(|rate| bandwidth_delay_product(rate, plan.wqm().subframes))
                }
                _ => Some(tuner.packets()),
            };
            let packets = packets.and_then(|packets| u32::try_from(packets).ok());
            if let Some(packets) = packets.filter(|packets| last_set != Some(*packets)) {
                last_set = Some(packets);
                if let Some(decision) = &decision {
                    journal.decision(time, decision);
                }
                match plan.action {
                    Action::Txqueuelen => plan
                        .ports
                        .iter()
                        .for_each(|port| settings.set_queue_length(time, port, packets, &mut journal)),
                    _ => settings.limit_txq(time, &mut wireless, &plan.wiphy, packets, &mut journal),
                }
            }
            show(&mut snapshot, time, started, last_set);
            publish(callbacks.shared.as_ref(), &snapshot);
        }
        let rest = tuner.next_deadline().since(now()).min(STOP_CHECK);
        std::thread::sleep(std::time::Duration::from_nanos(rest.as_nanos()));
    }
    (callbacks.ends)();
    let ended = now();
    settings.restore(ended, &mut wireless, plan.radio(), &plan.ports, &mut journal);
    let reason = result.as_ref().err().map_or_else(|| "shutdown requested".to_owned(), ToString::to_string);
    journal.event(ended, &Event::Ended { released: 0, reason });
    result
}

fn slowest(waiting: &[Waiting]) -> Option<BitRate> {
    waiting.iter().filter_map(|one| one.rate).min()
}

fn show(snapshot: &mut Snapshot, time: Instant, started: Instant, packets: Option<u32>) {
    snapshot.uptime_s = time.since(started).as_secs_f64();
    snapshot.cpu_s = cpu_s();
    snapshot.categories = vec![crate::snapshot::CategoryRow {
        category: "all".to_owned(),
        buffer: packets.map(u64::from),
        ..Default::default()
    }];
}
