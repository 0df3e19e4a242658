//! The delay controller: determines the permitted queueing time of each flow, so that its demand is met (Sec. IV, "Cross-layer Delay
//! Controller").

use std::collections::{BTreeMap, VecDeque};

use airbound_units::{Instant, Span};

use super::ceiling::Ceiling;
use super::demand::Demand;
use super::gradient::DelayConfig;
use super::mark::Mark;
use crate::error::ConfigError;
use crate::frame::FlowId;

/// Upper limit on completions kept for a window, the latest ones; 10 Gbit/s of full packets make 17 000 in 20 ms.
const MOST_COMPLETIONS: usize = 32_768;

/// Upper limit on windows closed at once; after this many decreases the floor is long reached.
const MOST_WINDOWS: u32 = 64;

/// A flow with a demand.
#[derive(Debug, Clone)]
struct Controlled {
    demand: Demand,
    permitted: Span,
    /// l(t-1).
    latency: Option<Span>,
    /// Completions of the current window; a ring buffer once the limit is reached.
    window: Vec<Span>,
    completions: usize,
    /// The last completions with their times, for windows with too few.
    recent: VecDeque<(Instant, Span)>,
    ceiling: Ceiling,
    /// Time of the last packet sent or acknowledged.
    active: Option<Instant>,
}

/// Adapts the permitted queueing latency of each flow once in a window.
///
/// It is independent of queues: it takes latencies and returns marks. Call [`DelayController::on_completion`] for each acknowledged
/// packet, and [`DelayController::advance`] at or after [`DelayController::next_deadline`].
///
/// A window without completions leaves the permitted latency unchanged, unless packets are waiting: then the age of the oldest serves
/// as the latency, since silence under load indicates delay. An age can only lower the permitted latency: the final latency will be
/// longer.
///
/// With [`DelayConfig::hold`] a ceiling, which is not in the paper, limits the result of the window-based rule.
#[derive(Debug, Clone)]
pub struct DelayController {
    config: DelayConfig,
    flows: BTreeMap<FlowId, Controlled>,
    window_end: Instant,
    /// Latest time observed.
    now: Instant,
}

impl DelayController {
    /// Creates a controller without demands.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: DelayConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, flows: BTreeMap::new(), window_end: Instant::MAX, now: Instant::ZERO })
    }

    /// Sets, changes or, with `None`, removes the demand of a flow.
    ///
    /// A new flow starts with the longest time that its demand allows; if a demand changes, the present time is kept within the new
    /// bounds.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the demand is below [`DelayConfig::shortest_demand`]; the previous demand remains.
    pub fn set_demand(
        &mut self,
        now: Instant,
        flow: FlowId,
        demand: Option<Demand>,
    ) -> Result<(), ConfigError> {
        self.now = self.now.max(now);
        let Some(demand) = demand else {
            self.flows.remove(&flow);
            if self.flows.is_empty() {
                self.window_end = Instant::MAX;
            }
            return Ok(());
        };
        self.config.check_demand(&demand)?;
        if self.flows.is_empty() {
            self.window_end = self.now + self.config.window;
        }
        let new = || Controlled {
            demand,
            permitted: self.config.bounded(&demand, demand.latency()),
            latency: None,
            window: Vec::new(),
            completions: 0,
            recent: VecDeque::new(),
            ceiling: Ceiling::default(),
            active: None,
        };
        let controlled = self.flows.entry(flow).or_insert_with(new);
        controlled.demand = demand;
        controlled.permitted = self.config.bounded(&demand, controlled.permitted);
        Ok(())
    }

    /// Whether no flow has a demand.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// The demand of a flow.
    #[must_use]
    pub fn demand(&self, flow: FlowId) -> Option<Demand> {
        self.flows.get(&flow).map(|controlled| controlled.demand)
    }

    /// Permitted queueing time of a flow (l_pq); `None` without a demand.
    #[must_use]
    pub fn permitted(&self, flow: FlowId) -> Option<Span> {
        self.flows.get(&flow).map(|controlled| controlled.permitted)
    }

    /// The latency (l) of the last window that had one.
    #[must_use]
    pub fn latency(&self, flow: FlowId) -> Option<Span> {
        self.flows.get(&flow).and_then(|controlled| controlled.latency)
    }

    /// The mark of a packet that a flow sends at `now`; `None` without a demand.
    pub fn mark(&mut self, now: Instant, flow: FlowId) -> Option<Mark> {
        self.now = self.now.max(now);
        let controlled = self.flows.get_mut(&flow)?;
        controlled.active = Some(self.now);
        Some(Mark::encode(controlled.permitted))
    }

    /// Notes that a packet of a flow was acknowledged at `now`, `latency` after it entered the queue. Windows that ended before are
    /// closed as if the queue had been empty; call [`DelayController::advance`] first to supply the age of waiting packets.
    pub fn on_completion(&mut self, now: Instant, flow: FlowId, latency: Span) {
        self.advance(now, |_| None);
        let Some(controlled) = self.flows.get_mut(&flow) else { return };
        controlled.active = Some(self.now);
        if let Some(hold) = &self.config.hold {
            let longest =
                self.config.upper_threshold(&controlled.demand).min(hold.longest(&controlled.demand));
            controlled.ceiling.on_completion(latency > longest);
        }
        if controlled.window.len() < MOST_COMPLETIONS {
            controlled.window.push(latency);
        } else if let Some(oldest) = controlled.window.get_mut(controlled.completions % MOST_COMPLETIONS) {
            *oldest = latency;
        }
        controlled.completions += 1;
        if controlled.recent.len() >= self.config.least_completions {
            controlled.recent.pop_front();
        }
        controlled.recent.push_back((self.now, latency));
    }

    /// Closes the windows that have ended by `now`. `oldest` returns the arrival time of the oldest waiting packet of a flow.
    pub fn advance(&mut self, now: Instant, oldest: impl Fn(FlowId) -> Option<Instant>) {
        self.now = self.now.max(now);
        if self.now < self.window_end {
            return;
        }
        let mut windows = 0;
        while self.window_end <= self.now && windows < MOST_WINDOWS && !self.flows.is_empty() {
            let end = self.window_end;
            for (flow, controlled) in &mut self.flows {
                controlled.close(&self.config, end, || oldest(*flow));
            }
            self.window_end = end + self.config.window;
            windows += 1;
        }
        if self.window_end <= self.now {
            self.window_end = self.now + self.config.window;
        }
    }

    /// The end of the current window; `None` while no flow has a demand.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        (!self.flows.is_empty()).then_some(self.window_end)
    }

    /// The least permitted latency of all flows that sent a packet, or had one acknowledged, within the memory of the controller
    /// (five windows by default).
    #[must_use]
    pub fn tightest(&self, now: Instant) -> Option<Span> {
        let memory = self.config.window * u64::from(self.config.memory);
        let active = |flow: &&Controlled| flow.active.is_some_and(|active| now.since(active) <= memory);
        self.flows.values().filter(active).map(|controlled| controlled.permitted).min()
    }
}

impl Controlled {
    /// Closes the window that ended at `end`.
    fn close(&mut self, config: &DelayConfig, end: Instant, oldest: impl FnOnce() -> Option<Instant>) {
        let memory = config.window * u64::from(config.memory);
        while self.recent.front().is_some_and(|(at, _)| end.since(*at) > memory) {
            self.recent.pop_front();
        }
        let is_silent = self.window.is_empty();
        let measured = if is_silent {
            oldest().filter(|oldest| *oldest < end).map(|oldest| end - oldest)
        } else if self.window.len() < config.least_completions {
            let mut latencies: Vec<Span> = self.recent.iter().map(|(_, latency)| *latency).collect();
            self.demand.measure(&mut latencies)
        } else {
            self.demand.measure(&mut self.window)
        };
        self.window.clear();
        self.completions = 0;
        if let Some(latency) = measured {
            let permitted = config.step(&self.demand, self.permitted, self.latency, latency);
            // An age is a lower bound of the latency: it can show that the latency is too long, never that it is short.
            if !is_silent || permitted < self.permitted {
                self.permitted = permitted;
                self.latency = Some(latency);
            }
        }
        if let Some(hold) = &config.hold {
            let ceiling = self.ceiling.close(hold, &self.demand, config.window);
            self.permitted = config.bounded(&self.demand, self.permitted.min(ceiling));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowId = FlowId(3);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn demand(millis: u64) -> Option<Demand> {
        Some(Demand::new(Span::from_millis(millis), 95.0).expect("valid"))
    }

    fn controller() -> DelayController {
        let mut controller = DelayController::new(DelayConfig::default()).expect("valid");
        controller.set_demand(at(0), FLOW, demand(20)).expect("not too short");
        controller
    }

    fn complete(controller: &mut DelayController, now: u64, millis: impl IntoIterator<Item = u64>) {
        for latency in millis {
            controller.on_completion(at(now), FLOW, Span::from_millis(latency));
        }
    }

    fn permitted(controller: &DelayController) -> u64 {
        controller.permitted(FLOW).expect("has a demand").as_micros()
    }

    fn latency(controller: &DelayController) -> Option<u64> {
        controller.latency(FLOW).map(Span::as_millis)
    }

    #[test]
    fn a_flow_starts_at_its_demand_and_adapts_once_in_a_window() {
        let mut controller = controller();
        assert_eq!(permitted(&controller), 20_000);
        assert_eq!(controller.next_deadline(), Some(at(20)));
        complete(&mut controller, 5, 1..=40);
        controller.advance(at(19), |_| None);
        assert_eq!(permitted(&controller), 20_000, "not yet");
        controller.advance(at(20), |_| None);
        assert_eq!((latency(&controller), permitted(&controller)), (Some(38), 14_000));
        assert_eq!(controller.next_deadline(), Some(at(40)));
        // The mark carries it to the scheduler.
        assert_eq!(controller.mark(at(21), FLOW).map(Mark::permitted), Some(Span::from_millis(14)));
        assert_eq!(controller.mark(at(21), FlowId(4)), None);
    }

    #[test]
    fn a_window_with_few_completions_takes_those_before_it() {
        let mut controller = controller();
        complete(&mut controller, 5, std::iter::repeat_n(30, 20));
        controller.advance(at(20), |_| None);
        // With one fast completion there are 20, of which the 95th percentile is the 19th.
        complete(&mut controller, 25, [2]);
        controller.advance(at(40), |_| None);
        assert_eq!(latency(&controller), Some(30));
        // More than five windows later the old ones no longer count.
        complete(&mut controller, 130, [2]);
        controller.advance(at(140), |_| None);
        assert_eq!(latency(&controller), Some(2));
    }

    #[test]
    fn silence_changes_nothing_unless_packets_wait() {
        let mut controller = controller();
        complete(&mut controller, 5, std::iter::repeat_n(30, 20));
        controller.advance(at(20), |_| None);
        assert_eq!(permitted(&controller), 14_000);
        controller.advance(at(80), |_| None);
        assert_eq!((latency(&controller), permitted(&controller)), (Some(30), 14_000));
        // One packet has waited since 79 ms: 21 ms at the end of the window.
        controller.advance(at(100), |flow| (flow == FLOW).then_some(at(79)));
        assert_eq!((latency(&controller), permitted(&controller)), (Some(21), 9_800));
        // A packet that arrived after the end of the window does not count for it.
        controller.advance(at(125), |_| Some(at(121)));
        assert_eq!(permitted(&controller), 9_800);
    }

    #[test]
    fn missed_windows_are_made_up_for() {
        let mut controller = controller();
        controller.advance(at(10_000), |_| Some(at(0)));
        assert_eq!(permitted(&controller), 1_000);
        assert!(controller.next_deadline().is_some_and(|end| end > at(10_000) && end <= at(10_020)));
    }

    #[test]
    fn demands_change_while_running() {
        let mut controller = controller();
        controller.set_demand(at(1), FLOW, demand(15)).expect("valid");
        assert_eq!(permitted(&controller), 15_000, "the ceiling came down");
        controller.set_demand(at(2), FLOW, demand(25)).expect("valid");
        assert_eq!(permitted(&controller), 15_000, "and it grows only as the windows let it");
        assert!(controller.set_demand(at(3), FLOW, demand(1)).is_err());
        assert_eq!(controller.demand(FLOW), demand(25));
        controller.set_demand(at(3), FLOW, None).expect("a removal");
        assert_eq!((controller.permitted(FLOW), controller.next_deadline()), (None, None));
    }

    #[test]
    fn only_active_flows_bind_the_others() {
        let mut controller = controller();
        assert_eq!(controller.tightest(at(0)), None, "it never sent");
        let _ = controller.mark(at(50), FLOW);
        controller.set_demand(at(50), FlowId(9), demand(15)).expect("valid");
        assert_eq!(controller.tightest(at(60)), Some(Span::from_millis(20)));
        let _ = controller.mark(at(60), FlowId(9));
        assert_eq!(controller.tightest(at(60)), Some(Span::from_millis(15)));
        assert_eq!(controller.tightest(at(155)), Some(Span::from_millis(15)));
        assert_eq!(controller.tightest(at(161)), None);
    }

    #[test]
    fn memory_is_bounded_whatever_the_clock_does() {
        let mut controller = controller();
        for _ in 0..MOST_COMPLETIONS + 10 {
            controller.on_completion(at(1), FLOW, Span::from_millis(1));
        }
        assert_eq!(controller.flows[&FLOW].window.len(), MOST_COMPLETIONS);
        assert_eq!(controller.flows[&FLOW].recent.len(), 20);
        controller.advance(at(20), |_| None);
        assert_eq!(latency(&controller), Some(1));
    }
}
