//! People in the path, and busy periods of a room or a neighbour, have the statistics of their parameters.

use crate::simulate;
use airbound_air::propagation::Propagation;
use airbound_scenario::{Overrides, Scenario, Spells};
use airbound_traffic::spells as neighbour_spells;
use airbound_units::{Instant, Span};

fn channel(parts: &str, seed: u64, link: u64) -> Propagation {
    let text = format!(
        "duration = \"1 s\"\n[[station]]\nname = \"s\"\nchannel = {{ kind = \"log-distance\", distance = \"1 m\", {parts} }}\n\
         [[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"s\"\n"
    );
    let scenario = Scenario::parse(&text, "test", &Overrides::none()).unwrap();
    scenario.stations[0].propagation(&scenario.air, &scenario.access_point.path, seed, link)
}

/// Returns the losses of a channel relative to one without people, in dB, every `step`.
fn losses(parts: &str, seed: u64, step: Span, count: u64) -> Vec<f64> {
    let open = channel("shadowing = \"0 dB\"", seed, 0).snr(Instant::ZERO).unwrap().value();
    let blocked = channel(parts, seed, 0);
    (0..count).map(|n| open - blocked.snr(Instant::ZERO + step * n).unwrap().value()).collect()
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    sum / count
}

fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values.iter().copied());
    mean(values.iter().map(|value| (value - centre) * (value - centre))).sqrt()
}

/// The runs of samples above a limit, with their values.
fn runs(values: &[f64], above: f64) -> Vec<Vec<f64>> {
    let groups = values.chunk_by(|a, b| (*a > above) == (*b > above));
    groups.filter(|group| group[0] > above).map(<[f64]>::to_vec).collect()
}

const STEP: Span = Span::from_millis(50);

/// If bodies of mean duration L arrive every P on average, N = L/P are present on average, and none for exp(-N) of the time,
/// for any distribution of durations (Takacs 1962, M/G/infinity).
#[test]
fn people_are_there_as_often_as_they_come_and_stay() {
    for spread in [0.0, 0.5, 1.0] {
        let parts = format!(
            "blockage = [{{ length = \"2 s\", length-spread = {spread:.1}, pause = \"4 s\", ramp = \"0 ms\", depth = \"5 dB\", depth-spread = \"0 dB\" }}]"
        );
        // 40 000 s hold 10 000 bodies.
        let losses = losses(&parts, 5, STEP, 800_000);
        let free = mean(losses.iter().map(|loss| f64::from(u8::from(*loss < 1e-9))));
        assert!((free - libm::exp(-0.5)).abs() < 0.015, "spread {spread}: {free}");
        let bodies = mean(losses.iter().map(|loss| loss / 5.0));
        assert!((bodies - 0.5).abs() < 0.02, "spread {spread}: {bodies}");
        // Pauses without people are exponential with a mean of 4 s.
        let pauses = runs(&losses.iter().map(|loss| -loss).collect::<Vec<_>>(), -1e-9);
        let lengths: Vec<f64> = pauses.iter().map(|run| run.len() as f64 * 0.05).collect();
        assert!((mean(lengths.iter().copied()) - 4.0).abs() < 0.2, "spread {spread}");
        assert!((deviation(&lengths) - 4.0).abs() < 0.3, "spread {spread}");
        // The losses of several people add up.
        assert!(losses.iter().any(|loss| (loss - 15.0).abs() < 1e-9));
    }
}

#[test]
fn a_body_has_its_length_and_its_depth() {
    let parts = "blockage = [{ length = \"10 s\", length-spread = 0.5, pause = \"1000 s\", ramp = \"0 ms\", depth = \"12 dB\", depth-spread = \"3 dB\" }]";
    let losses = losses(parts, 11, Span::from_millis(250), 8_000_000);
    // 2 000 bodies; one in a hundred meets another, which shows as a change within a run.
    let alone: Vec<Vec<f64>> = runs(&losses, 1e-9)
        .into_iter()
        .filter(|run| run.iter().all(|loss| (loss - run[0]).abs() < 1e-9))
        .collect();
    assert!((1_800..2_100).contains(&alone.len()), "{}", alone.len());
    let depths: Vec<f64> = alone.iter().map(|run| run[0]).collect();
    assert!((mean(depths.iter().copied()) - 12.0).abs() < 0.25, "{}", mean(depths.iter().copied()));
    assert!((deviation(&depths) - 3.0).abs() < 0.2, "{}", deviation(&depths));
    let logs: Vec<f64> = alone.iter().map(|run| libm::log(run.len() as f64 * 0.25)).collect();
    // Log-normal of mean 10: the logarithm has the mean ln 10 - 0.5^2/2 and the deviation 0.5.
    assert!((mean(logs.iter().copied()) - (libm::log(10.0) - 0.125)).abs() < 0.05);
    assert!((deviation(&logs) - 0.5).abs() < 0.04, "{}", deviation(&logs));
}

#[test]
fn ramps_are_smooth_and_as_long_as_said() {
    let parts = "blockage = [{ length = \"1 s\", length-spread = 0.0, pause = \"20 s\", ramp = \"300 ms\", depth = \"8 dB\", depth-spread = \"0 dB\" }]";
    let losses = losses(parts, 2, Span::from_millis(1), 2_000_000);
    // The steepest place of half a cosine: pi/2 times the mean slope. No seam shows a step; two bodies may ramp at once.
    let steepest = losses.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
    assert!(steepest < 2.0 * 8.0 / 300.0 * 1.571 * 1.01, "{steepest}");
    let alone: Vec<Vec<f64>> = runs(&losses, 0.0).into_iter().filter(|run| run.len() < 1_010).collect();
    assert!(alone.len() > 60);
    for run in alone {
        assert!((995..=1_001).contains(&run.len()), "{}", run.len());
        let full = run.iter().filter(|loss| **loss > 8.0 - 1e-9).count();
        assert!((398..=402).contains(&full), "{full}");
        assert!((mean(run.iter().copied()) - 8.0 * 0.7).abs() < 0.05);
    }
}

/// In quiet periods no person arrives and nothing changes; busy periods fill 1 - exp(-L/P) of the time.
#[test]
fn activity_rules_shadowing_and_people() {
    let spells = "activity = { length = \"60 s\", length-spread = 0.5, pause = \"60 s\", ramp = \"0 ms\", quiet-level = 0.0 }";
    let shadowing = losses(&format!("shadowing = \"4 dB\", {spells}"), 3, Span::from_millis(500), 1_000_000);
    let is_busy: Vec<bool> = shadowing.iter().map(|loss| loss.abs() > 1e-12).collect();
    let busy = mean(is_busy.iter().map(|busy| f64::from(u8::from(*busy))));
    assert!((busy - (1.0 - libm::exp(-1.0))).abs() < 0.02, "{busy}");
    let moving: Vec<f64> = shadowing.iter().copied().filter(|loss| loss.abs() > 1e-12).collect();
    assert!((deviation(&moving) - 4.0).abs() < 0.15, "{}", deviation(&moving));

    let blocked = losses(
        &format!("blockage = [{{ length = \"500 ms\", pause = \"2 s\", ramp = \"0 ms\" }}], {spells}"),
        3,
        Span::from_millis(500),
        1_000_000,
    );
    // The room is common to all channels of a seed: a person present arrived while it was busy, at most 10 s ago.
    let came_busy = |n: usize| (n.saturating_sub(20)..=n).any(|n| is_busy[n]);
    let there: Vec<usize> = (0..blocked.len()).filter(|n| blocked[*n] > 1e-9).collect();
    assert!(there.len() > 50_000);
    assert!(there.iter().all(|n| came_busy(*n)));

    let half = spells.replace("quiet-level = 0.0", "quiet-level = 0.5");
    let damped = losses(&format!("shadowing = \"4 dB\", {half}"), 3, Span::from_millis(500), 100_000);
    for ((damped, full), busy) in damped.iter().zip(&shadowing).zip(&is_busy) {
        // In quiet periods the full process is not observed; in busy ones both are equal.
        assert!(!busy || (damped - full).abs() < 1e-9);
    }
    let quiet: Vec<f64> =
        damped.iter().zip(&is_busy).filter(|(_, busy)| !**busy).map(|(loss, _)| *loss).collect();
    assert!((deviation(&quiet) - 2.0).abs() < 0.2, "{}", deviation(&quiet));
}

#[test]
fn kinds_links_and_seeds_have_their_own_people() {
    let kind = "{ length = \"1 s\", pause = \"2 s\", depth-spread = \"4 dB\" }";
    let one = format!("blockage = [{kind}]");
    let two = format!("blockage = [{kind}, {kind}]");
    let loss = |parts: &str, seed, link| -> Vec<f64> {
        let channel = channel(parts, seed, link);
        (0..400u64)
            .map(|n| channel.snr(Instant::ZERO + Span::from_millis(250) * n).unwrap().value())
            .collect()
    };
    assert_eq!(loss(&one, 1, 0), loss(&one, 1, 0));
    assert_ne!(loss(&one, 1, 0), loss(&one, 1, 1));
    assert_ne!(loss(&one, 1, 0), loss(&one, 2, 0));
    // The second kind differs from the first.
    let open = channel("shadowing = \"0 dB\"", 1, 0).snr(Instant::ZERO).unwrap().value();
    let doubled: Vec<f64> = loss(&one, 1, 0).iter().map(|snr| open - 2.0 * (open - snr)).collect();
    assert_ne!(loss(&two, 1, 0), doubled);
}

#[test]
fn a_neighbour_rests_between_its_spells() {
    let spells = Spells { mean_on: Span::from_millis(100), mean_off: Span::from_millis(300) };
    let bursts = neighbour_spells(spells.mean_on, spells.mean_off, 4, 0);
    let share = mean(
        (0..400_000u64).map(|n| f64::from(u8::from(bursts.is_on(Instant::ZERO + Span::from_millis(7) * n)))),
    );
    assert!((share - 0.25).abs() < 0.015, "{share}");
    assert_ne!(
        neighbour_spells(spells.mean_on, spells.mean_off, 4, 1).next_change(Instant::ZERO),
        bursts.next_change(Instant::ZERO)
    );

    let busy = |lines: &str| {
        let text = format!(
            "duration = \"60 s\"\n[air]\nbeacons = false\n[[station]]\nname = \"s\"\n\
             [[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"s\"\nstart = \"59 s\"\n\
             [[neighbour]]\nname = \"n\"\nrate = \"VHT20 MCS7 2SS LGI\"\nampdu-mpdus = 16\n{lines}"
        );
        simulate::run(&text).summary.air.busy_share
    };
    // 240 periods of 250 ms, and both are exponential: a standard deviation of 6 % of the share.
    let always = busy("");
    let sometimes = busy("mean-on = \"62 ms\"\nmean-off = \"188 ms\"\n");
    assert!((sometimes / always - 0.248).abs() < 0.05, "{sometimes} of {always}");
    // An offered load applies to the busy periods.
    let offered = busy("load = \"8 Mbit/s\"\n");
    let part = busy("load = \"8 Mbit/s\"\nmean-on = \"62 ms\"\nmean-off = \"188 ms\"\n");
    assert!((part / offered - 0.248).abs() < 0.06, "{part} of {offered}");
}

/// A channel's cache of the last query changes no answer, in any order of queries.
#[test]
fn the_order_of_queries_changes_no_answer() {
    let parts = "shadowing = \"3 dB\", fading = \"rician\", activity = { pause = \"5 s\", length = \"3 s\", length-spread = 0.5 }, \
                 blockage = [{ pause = \"2 s\", length = \"500 ms\", depth = \"9 dB\", depth-spread = \"3 dB\" }]";
    let spells = Spells { mean_on: Span::from_millis(20), mean_off: Span::from_millis(50) };
    let (asked_often, bursts) =
        (channel(parts, 6, 1), neighbour_spells(spells.mean_on, spells.mean_off, 6, 1));
    // Forwards, backwards and across: 7919 has no factor in common with 4000.
    for n in (0..4000u64).chain((0..4000).rev()).chain((0..4000).map(|n| n * 7919 % 4000)).step_by(3) {
        let now = Instant::ZERO + Span::from_millis(31) * n;
        assert_eq!(asked_often.snr(now), channel(parts, 6, 1).snr(now), "{now}");
        assert_eq!(
            bursts.state(now),
            neighbour_spells(spells.mean_on, spells.mean_off, 6, 1).state(now),
            "{now}"
        );
    }
}
