//! A custom transport: an endpoint attached to flows of a scenario.

use std::sync::{Arc, Mutex};

use airbound_control::frame::{DropReason, FlowId};
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{Counts, Endpoint, Kind, Outbox, Outgoing, Packet, Plugins, Run, Timer};
use airbound_units::{ByteCount, Instant, Span};

const TEXT: &str = "duration = \"1 s\"\nwarm-up = \"0 s\"\n[wire]\ndelay = \"5 ms\"\n\
    [[station]]\nname = \"laptop\"\n\
    [[flow]]\nname = \"question\"\nkind = \"cbr\"\nstation = \"laptop\"\nrate = \"9 Mbit/s\"\n\
    [[flow]]\nname = \"answer\"\nkind = \"cbr\"\nstation = \"laptop\"\nrate = \"9 Mbit/s\"\ndirection = \"up\"\n";

/// Measured round trips.
type Log = Arc<Mutex<Vec<Span>>>;

/// Sends a question every 10 ms, one at a time: the next waits for the answer.
struct Stop {
    question: FlowId,
    answer: FlowId,
    asked: Option<Instant>,
    numbers: [u64; 2],
    log: Log,
}

impl Stop {
    const SIZE: ByteCount = ByteCount::new(500);

    fn send(&mut self, back: bool, out: &mut Outbox<'_>) {
        let flow = if back { self.answer } else { self.question };
        let number = self.numbers[usize::from(back)];
        self.numbers[usize::from(back)] += 1;
        out.send(Outgoing { flow, number, kind: Kind::Datagram, tag: number, size: Self::SIZE });
    }
}

impl Endpoint for Stop {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        out.wake_at(Instant::ZERO, Timer(0));
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        if packet.flow == self.question {
            self.send(true, out);
            out.counts().delivered(self.question, now, Self::SIZE);
        } else if let Some(asked) = self.asked.take() {
            self.log.lock().expect("not poisoned").push(now - asked);
        }
    }

    fn on_lost(&mut self, _: Instant, _: &Packet, _: DropReason, _: &mut Counts<'_>) {
        self.asked = None;
    }

    fn on_timer(&mut self, now: Instant, timer: Timer, out: &mut Outbox<'_>) {
        if self.asked.is_none() {
            self.asked = Some(now);
            self.send(false, out);
        }
        out.wake_at(now + Span::from_millis(10), timer);
    }
}

fn run(flows: [&'static str; 2]) -> Result<(Vec<Span>, [u64; 2]), String> {
    let scenario = Scenario::parse(TEXT, "test", &Overrides::none()).expect("a scenario");
    let log = Log::default();
    let mut plugins = Plugins::default();
    let own = Arc::clone(&log);
    plugins.attach(
        flows,
        Arc::new(move |flows, _seed| {
            let (question, answer) = (flows[0], flows[1]);
            Box::new(Stop { question, answer, asked: None, numbers: [0; 2], log: Arc::clone(&own) })
        }),
    );
    let run = Run::with_plugins("test", &scenario, &scenario.scheme, 1, &plugins)
        .map_err(|error| error.to_string())?;
    let (outcome, _) = run.finish().expect("packets are conserved");
    let sent = |name: &str| {
        let flow = outcome.summary.flows.iter().find(|flow| flow.name == name).expect("both are reported");
        flow.packets.sent
    };
    let sent = [sent("question"), sent("answer")];
    let log = log.lock().expect("not poisoned").clone();
    Ok((log, sent))
}

#[test]
fn an_attached_endpoint_takes_the_place_of_the_flows_own_traffic() {
    let (round_trips, [questions, answers]) = run(["question", "answer"]).expect("a run");
    // The wire takes 5 ms each way, so that a round trip takes at least 10 ms: a question goes with every second timer.
    assert!((49..=51).contains(&questions), "{questions} questions");
    assert!(answers == questions || answers + 1 == questions, "{answers} of {questions}");
    assert!(round_trips.len() as u64 + 1 >= answers);
    let air = Span::from_millis(5);
    let wire = Span::from_millis(10);
    assert!(round_trips.iter().all(|trip| (wire..wire + air).contains(trip)), "{round_trips:?}");
    assert_eq!(round_trips, run(["question", "answer"]).expect("a run").0, "the same again");
}

#[test]
fn an_endpoint_for_a_flow_that_is_not_there_is_refused() {
    assert_eq!(run(["question", "reply"]).expect_err("refused"), "no flow is named \"reply\"");
}

/// Sends 20 packets into each of its flows at 10 ms, and notes when each arrives.
struct Burst {
    flows: Vec<FlowId>,
    log: Arc<Mutex<Vec<(FlowId, Instant)>>>,
}

impl Endpoint for Burst {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        out.wake_at(Instant::ZERO + Span::from_millis(10), Timer(0));
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, _: &mut Outbox<'_>) {
        self.log.lock().expect("not poisoned").push((packet.flow, now));
    }

    fn on_lost(&mut self, _: Instant, _: &Packet, _: DropReason, _: &mut Counts<'_>) {}

    fn on_timer(&mut self, _: Instant, _: Timer, out: &mut Outbox<'_>) {
        for (flow, number) in self.flows.iter().flat_map(|flow| (0..20).map(|number| (*flow, number))) {
            let size = ByteCount::new(1500);
            out.send(Outgoing { flow, number, kind: Kind::Datagram, tag: number, size });
        }
    }
}

#[test]
fn packets_of_an_aggregate_arrive_as_their_subframes_end() {
    let flow = |way: &str| {
        format!(
            "[[flow]]\nname = \"{way}\"\nkind = \"cbr\"\nstation = \"laptop\"\nrate = \"1 Mbit/s\"\n\
             direction = \"{way}\"\n"
        )
    };
    let text = format!(
        "duration = \"100 ms\"\nwarm-up = \"0 s\"\n[air]\nstandard = \"ht\"\nbeacons = false\n[wire]\n\
         rate = \"unlimited\"\ndelay = \"100 us\"\n[scheme]\nqueue = \"linux\"\nrate = \"fixed\"\n[uplink]\n\
         rate = \"fixed\"\n[[station]]\nname = \"laptop\"\nrate = \"HT20 MCS7 1SS LGI\"\n{}{}",
        flow("down"),
        flow("up")
    );
    let scenario = Scenario::parse(&text, "test", &Overrides::none()).expect("a scenario");
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut plugins = Plugins::default();
    let own = Arc::clone(&log);
    plugins.attach(
        ["down", "up"],
        Arc::new(move |flows, _seed| Box::new(Burst { flows: flows.to_vec(), log: Arc::clone(&own) })),
    );
    let run = Run::with_plugins("test", &scenario, &scenario.scheme, 1, &plugins).expect("a run");
    run.finish().expect("packets are conserved");
    let log = log.lock().expect("not poisoned");
    for way in 0..2 {
        let times: Vec<Instant> =
            log.iter().filter(|(flow, _)| flow.0 == way).map(|(_, time)| *time).collect();
        // 1500 B and 38 B of headers, FCS and delimiter, in 65 Mb/s, received in symbols of 4 us.
        let apart = times.windows(2).map(|pair| (pair[1] - pair[0]).as_micros());
        let (least, most) = (184, 193);
        assert_eq!(times.len(), 20);
        assert_eq!(apart.clone().filter(|gap| (least..=most).contains(gap)).count(), 19, "{way}: {apart:?}");
    }
}
