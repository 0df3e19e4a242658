//! The laboratory: what it refuses, and, where QEMU and Debian's packages can be had, that it plays.

use crate::place::Place;

#[test]
fn what_the_laboratory_cannot_express_is_refused_by_name() {
    let place = Place::new();
    for (scenario, words) in [
        ("lab-hello --set air.standard=he", "air.standard is neither ht nor vht"),
        ("vr-alone", "access-point.preset is neither mac80211 nor mt76"),
        ("lab-hello --set scheme.queue=pie", "scheme.queue is pie"),
        ("lab-hello --set scheme.rate=ideal", "rate control is not the kernel's"),
        ("lab-hello --set wire.loss=0.1", "the wire has jitter or loss"),
        ("lab-hello --set air.encryption=true", "air.encryption is on"),
        ("lab-hello --set station.laptop.power-save={}", "power-save differs from { timeout = \"500 ms\" }"),
    ] {
        let arguments: Vec<&str> = ["lab", "run"].into_iter().chain(scenario.split(' ')).collect();
        let error = place.refuse(&arguments);
        assert!(error.contains(words), "{scenario}: {error}");
        assert!(error.contains("the laboratory cannot play this scenario"), "{error}");
    }
}

#[test]
fn law_is_a_driver_and_keeps_the_order_of_frames() {
    let place = Place::new();
    let sleeper = "station.tablet.power-save={ timeout = \"500 ms\" }";
    let law = "scheme.queue={ kind = \"law\", inside = \"codel\" }";
    for (arguments, words) in [
        (&["--set", "scheme.queue=\"law\"", "--set", "scheme.rate=\"law\""][..], "Law is in --driver law"),
        (&["--set", law, "--set", "scheme.rate=law", "--driver", "law"], "inside Law is codel"),
        (&["--set", sleeper, "--driver", "law"], "power-save is not supported beside Law"),
        (&["--driver", "law", "--agent", "--protect 'udp dport 5000' --p95 20ms"], "choose one of them"),
    ] {
        let arguments: Vec<&str> = ["lab", "run", "lab-weak"].iter().chain(arguments).copied().collect();
        let error = place.refuse(&arguments);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn a_kernel_that_is_none_is_refused() {
    let place = Place::new();
    for kernel in ["6.1", "7", "7.2.12", "newest"] {
        let error = place.refuse(&["lab", "run", "lab-hello", "--kernel", kernel]);
        assert!(error.contains("as 7.2; the oldest is 6.12"), "{kernel}: {error}");
    }
}

/// Boots the machine twice, so it is asked for: `cargo test -p airbound-cli --test program -- --ignored lab`. It needs QEMU, and
/// fetches 150 MB of Debian's packages into `AIRBOUND_LAB_CACHE`, or the user's cache.
#[test]
#[allow(clippy::print_stderr)]
#[ignore = "boots a virtual machine and fetches Debian's packages"]
fn two_runs_with_one_seed_leave_the_same_summary() {
    let place = Place::new();
    let cache = std::env::var("AIRBOUND_LAB_CACHE").ok();
    let cache: Vec<&str> = cache.iter().flat_map(|cache| ["--cache", cache]).collect();
    let play = |out: &str| {
        let changes = [
            "--set",
            "duration=500 ms",
            "--set",
            "warm-up=200 ms",
            "--set",
            "flow.stream.rate=\"60 Mbit/s\"",
        ];
        let mut arguments = vec!["lab", "run", "lab-hello", "--out", out];
        arguments.extend(changes);
        arguments.extend(&cache);
        place.run(&arguments)
    };
    let first = play("one");
    let words = String::from_utf8_lossy(&first.stderr).into_owned();
    if words.contains("the laboratory needs") {
        eprintln!("SKIPPED: {words}");
        return;
    }
    assert!(first.status.success(), "{words}");
    assert!(play("two").status.success());
    let summary = place.bytes("one/summary.json");
    assert_eq!(summary, place.bytes("two/summary.json"));
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
    let goodput = summary["flows"][0]["goodput_mbps"].as_f64().expect("a number");
    // 65 Mb/s of PHY rate, aggregated, at 25 dB.
    assert!((45.0..60.0).contains(&goodput), "{goodput}");
}

/// Boots the machine twice, as the test above.
#[test]
#[allow(clippy::print_stderr)]
#[ignore = "boots a virtual machine and fetches Debian's packages"]
fn programs_see_one_clock_twice_and_leave_their_files() {
    let place = Place::new();
    let cache = std::env::var("AIRBOUND_LAB_CACHE").ok();
    let cache: Vec<&str> = cache.iter().flat_map(|cache| ["--cache", cache]).collect();
    std::fs::write(place.path("input"), "7\n").expect("an input");
    let script = "cat /proc/uptime /proc/sys/kernel/random/uuid; ping -c 3 server; mkdir out; cp input out/copy; exit 3";
    let play = |out: &str| {
        let mut arguments = vec!["lab", "exec", "lab-hello", "--with", "input", "--out", out];
        arguments.extend(&cache);
        arguments.extend(["--", "sh", "-c", script]);
        place.run(&arguments)
    };
    let first = play("one");
    let words = String::from_utf8_lossy(&first.stderr).into_owned();
    if words.contains("the laboratory needs") {
        eprintln!("SKIPPED: {words}");
        return;
    }
    assert_eq!(first.status.code(), Some(3), "{words}");
    assert_eq!(first.stdout, play("two").stdout);
    let said = String::from_utf8_lossy(&first.stdout).into_owned();
    assert!(said.contains("3 packets transmitted, 3 packets received"), "{said}");
    for name in ["summary.json", "files/out/copy", "commands/0.out", "kernel-station1.txt"] {
        assert_eq!(place.bytes(&format!("one/{name}")), place.bytes(&format!("two/{name}")), "{name}");
    }
    assert_eq!(place.bytes("one/files/out/copy"), b"7\n");
    assert_eq!(place.bytes("one/commands/0.out"), first.stdout);
    let summary: serde_json::Value = serde_json::from_slice(&place.bytes("one/summary.json")).expect("JSON");
    let flows = summary["flows"].as_array().expect("flows");
    assert!(flows.iter().any(|flow| flow["name"] == "laptop up icmp" && flow["kind"] == "application"));
}
