//! Plans of scenarios with known answers, and plans of arbitrary scenarios, which always have an answer.

use airbound_feasibility::{Answer, Demand, Plan, plan};
use airbound_scenario::{Overrides, Scenario};
use proptest::prelude::*;

fn scenario(rate: &str, mbps: f64, rest: &str) -> Scenario {
    let text = format!(
        r#"duration = "2 s"
[air]
standard = "ht"
[access-point]
preset = "ath9k-fq"
[[station]]
name = "headset"
rate = "{rate}"
[[station]]
name = "laptop"
rate = "HT40 MCS15 2SS LGI"
[[flow]]
name = "vr"
kind = "vr"
station = "headset"
rate = "{mbps:.3} Mbit/s"
{rest}
"#
    );
    Scenario::parse(&text, "a test", &Overrides::default()).expect("a scenario")
}

fn ask(scenario: &Scenario, demand: &str) -> Plan {
    plan(scenario, &[Demand::parse(demand).expect("a demand")]).expect("a plan")
}

const DOWNLOAD: &str = "[[flow]]\nname = \"bulk\"\nkind = \"tcp\"\nstation = \"laptop\"";

#[test]
fn a_fast_link_alone_is_enough() {
    let plan = ask(&scenario("HT40 MCS15 2SS LGI", 20.0, ""), "vr=30ms@95");
    assert_eq!(plan.answer, Answer::Yes);
    assert!(plan.load > 0.05 && plan.load < 0.2 && plan.headroom > 0.5, "{plan:?}");
    assert!(plan.relax.is_empty() && plan.slow_down.is_empty());
}

#[test]
fn an_overload_is_refused_with_the_missing_share() {
    // 30 Mbit/s of PHY rate.
    let plan = ask(&scenario("HT40 MCS1 1SS SGI", 45.0, ""), "vr=50ms@95");
    assert_eq!(plan.answer, Answer::No);
    // Payload over PHY rate is 1.5, to which headers, waits and acknowledgements add.
    assert!(plan.load > 1.5 && plan.load < 2.5, "{plan:?}");
    assert_eq!(plan.demands[0].latency, None);
    let slower = plan.slow_down.first().expect("a rate that fits");
    assert!(slower.to.as_mbps_f64() < 30.0 && slower.to.as_mbps_f64() > 4.0, "{slower:?}");
}

#[test]
fn recommendations_are_met() {
    let tight = scenario("HT40 MCS4 1SS SGI", 45.0, DOWNLOAD);
    let refused = ask(&tight, "vr=14ms@95");
    assert_eq!(refused.answer, Answer::No);
    let relaxed = refused.relax.first().expect("a longer latency");
    let demand = format!("vr={}@95", relaxed.to);
    assert_eq!(ask(&tight, &demand.replace(' ', "")).answer, Answer::Yes);
    let slower = refused.slow_down.first().expect("a slower rate");
    let slow = scenario("HT40 MCS4 1SS SGI", slower.to.as_mbps_f64(), DOWNLOAD);
    assert_eq!(ask(&slow, "vr=14ms@95").answer, Answer::Yes);
}

#[test]
fn an_answer_near_the_demand_says_so() {
    let there = scenario("HT40 MCS11 2SS LGI", 30.0, DOWNLOAD);
    let latency = ask(&there, "vr=40ms@95").demands[0].latency.expect("an end").as_millis_f64();
    let demanded = |factor: f64| ask(&there, &format!("vr={:.1}ms@95", latency * factor));
    assert!(demanded(1.2).is_close);
    let far = demanded(5.0);
    assert!(far.answer == Answer::Yes && !far.is_close, "{far:?}");
    assert!(far.sentences().iter().all(|line| !line.contains("close")));
    assert!(demanded(1.2).sentences().iter().any(|line| line.contains("this is close")));
}

#[test]
fn others_cost_latency() {
    let expected = |rest: &str| {
        let plan = ask(&scenario("HT40 MCS11 2SS LGI", 30.0, rest), "vr=40ms@95");
        plan.demands[0].latency.expect("an end")
    };
    let alone = expected("");
    assert!(expected(DOWNLOAD) > alone);
    let neighbour = "[[neighbour]]\nname = \"next-door\"\ntransmitters = 3";
    assert!(expected(neighbour) > alone);
}

#[test]
fn errors_are_sentences() {
    let there = scenario("HT40 MCS15 2SS LGI", 20.0, DOWNLOAD);
    let refusal = |demand: &str| {
        plan(&there, &[Demand::parse(demand).expect("a demand")]).expect_err(demand).to_string()
    };
    assert!(refusal("voice=20ms").contains("there is no such flow; flows are vr, bulk"));
    assert!(refusal("bulk=20ms").contains("its rate has no limit"));
    assert!(plan(&there, &[]).expect_err("nothing").to_string().contains("demands nothing"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_always_answers_and_a_longer_latency_is_never_harder(
        mcs in 0u8..16,
        mbps in 0.01f64..200.0,
        latency in 2u64..60,
        percentile in 1.0f64..99.99,
        download in any::<bool>(),
        neighbours in 0u32..4,
    ) {
        let streams = mcs / 8 + 1;
        let mut rest = String::new();
        if neighbours > 0 {
            rest += &format!("[[neighbour]]\nname = \"n\"\ntransmitters = {neighbours}\n");
        }
        if download {
            rest += DOWNLOAD;
        }
        let asked = scenario(&format!("HT40 MCS{mcs} {streams}SS LGI"), mbps, &rest);
        let strict = ask(&asked, &format!("vr={latency}ms@{percentile}"));
        prop_assert!(strict.load.is_finite() && strict.load > 0.0);
        prop_assert_eq!(&strict, &ask(&asked, &format!("vr={latency}ms@{percentile}")));
        if strict.answer == Answer::Yes {
            let loose = ask(&asked, &format!("vr=5s@{percentile}"));
            prop_assert_eq!(loose.answer, Answer::Yes);
        }
    }
}
