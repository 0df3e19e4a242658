//! Transmit paths as drivers of today have them.

use airbound_scenario::{Overrides, Scenario};
use airbound_sim::Run;

/// p95 in milliseconds of a stream of 1 Mb/s to a station of its own, and of one to a station with a download, beside four downloads.
fn waits(preset: &str) -> [f64; 2] {
    let text = format!(
        "duration = \"4 s\"\nwarm-up = \"2 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n\
         [access-point]\npreset = \"{preset}\"\n[scheme]\nrate = \"fixed\"\n\
         [[station]]\nname = \"desk\"\ncount = 4\nrate = \"HT20 MCS7 1SS LGI\"\n\
         [[station]]\nname = \"alone\"\nrate = \"HT20 MCS7 1SS LGI\"\n\
         [[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"desk\"\n\
         [[flow]]\nname = \"own\"\nkind = \"cbr\"\nstation = \"alone\"\nrate = \"1 Mbit/s\"\n\
         [[flow]]\nname = \"beside\"\nkind = \"cbr\"\nstation = \"desk-1\"\nrate = \"1 Mbit/s\"\n"
    );
    p95(&text, ["own", "beside"])
}

fn p95<const N: usize>(text: &str, flows: [&str; N]) -> [f64; N] {
    let scenario = Scenario::parse(text, "chips", &Overrides::none()).expect(text);
    let run = Run::new("chips", &scenario, &scenario.scheme, 1).expect("builds");
    let summary = run.finish().expect("balanced").0.summary;
    flows.map(|name| {
        let flow = summary.flows.iter().find(|flow| flow.name == name).expect(name);
        flow.latency_ms.p95.expect("packets")
    })
}

#[test]
fn without_a_limit_of_airtime_packets_wait_below_the_scheme() {
    let [mac80211, mt76, ath11k, ath12k, rtw89] =
        ["mac80211", "mt76", "ath11k", "ath12k", "rtw89"].map(waits);
    assert_eq!(mac80211, mt76);
    assert_eq!(ath11k, ath12k);
    let [own, beside] = mt76;
    // The firmware of ath11k keeps stations apart, but not the flows of one.
    assert!(ath11k[0] < 1.3 * own, "{ath11k:?} {mt76:?}");
    assert!(ath11k[1] > 3.0 * beside, "{ath11k:?} {mt76:?}");
    // A ring that is served in order keeps nobody apart.
    assert!(rtw89.iter().all(|wait| *wait > 2.0 * own.max(beside)), "{rtw89:?} {mt76:?}");
}

#[test]
fn a_slow_station_has_the_codel_of_all_on_a_current_kernel() {
    // Without VHT 4 MiB let a slow station's queue stand above both targets.
    let slow = |preset: &str, parameter: &str| {
        let text = format!(
            "duration = \"6 s\"\nwarm-up = \"3 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n\
             [access-point]\npreset = \"{preset}\"\n[scheme]\nrate = \"fixed\"\n\
             queue = {{ kind = \"linux\"{parameter} }}\n\
             [[station]]\nname = \"quick\"\nrate = \"HT20 MCS7 1SS LGI\"\n\
             [[station]]\nname = \"lame\"\nrate = \"HT20 MCS0 1SS LGI\"\n\
             [[flow]]\nname = \"fast\"\nkind = \"cbr\"\nstation = \"quick\"\nrate = \"40 Mbit/s\"\n\
             [[flow]]\nname = \"slow\"\nkind = \"cbr\"\nstation = \"lame\"\nrate = \"10 Mbit/s\"\n"
        );
        let [p95] = p95(&text, ["slow"]);
        p95
    };
    for (preset, is_patient) in [("mac80211", false), ("rtw89", false), ("ath9k-fq", true)] {
        let (own, patient) = (slow(preset, ""), slow(preset, ", slow = true"));
        assert_eq!(own == patient, is_patient, "{preset}: {own} {patient}");
        assert_eq!(own == slow(preset, ", slow = false"), !is_patient, "{preset}");
    }
}
