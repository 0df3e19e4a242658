//! `airbound doctor` in network namespaces: a client, a router, a host, and what netem does between the last two.

use std::process::{Command, Stdio};

use crate::place::Place;

/// A client's namespace with the other two behind it; `$NETEM` is between router and host, `$GROUPS` may send echo requests. The
/// namespaces end with their processes.
const WORLD: &str = r#"
set -e
unshare -n sleep 60 & R=$!
unshare -n sleep 60 & H=$!
trap 'kill $R $H' EXIT
for pid in $R $H; do
    while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
done
in_router() { nsenter -t $R -n "$@"; }
in_host() { nsenter -t $H -n "$@"; }
ip link add c0 type veth peer name r0 netns $R
in_router ip link add r1 type veth peer name h0 netns $H
ip addr add 10.9.1.2/24 dev c0
ip link set c0 up
in_router ip addr add 10.9.1.1/24 dev r0
in_router ip link set r0 up
in_router ip addr add 10.9.2.1/24 dev r1
in_router ip link set r1 up
in_router sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
in_host ip addr add 10.9.2.2/24 dev h0
in_host ip link set h0 up
in_host ip route add default via 10.9.2.1
ip route add default via 10.9.1.1
[ -z "$NETEM" ] || in_router tc qdisc add dev r1 root netem $NETEM
echo "$GROUPS_OF_PINGS" > /proc/sys/net/ipv4/ping_group_range
"$AIRBOUND" doctor 10.9.2.2 --duration 10s --json --out "$PAGE"
"#;

/// One station behind a wire that loses one packet of twenty, either way.
const LOSSY: &str = r#"
duration = "30 s"
wire = { delay = "10 ms", loss = 0.05 }
[[station]]
name = "laptop"
[[flow]]
name = "film"
kind = "cbr"
station = "laptop"
rate = "1 Mbit/s"
"#;

/// Whether this machine can do that; says so if not.
fn can() -> bool {
    let tried = Command::new("unshare")
        .args([
            "-n",
            "sh",
            "-c",
            "ip link add veth-a type veth peer name veth-b && tc qdisc add dev veth-a root netem loss 1%",
        ])
        .stderr(Stdio::null())
        .status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        use std::io::Write;
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: the doctor in namespaces: no root, or no veth, tc, netem");
    }
    can
}

#[test]
fn a_wire_that_loses_or_delays_is_named() {
    if !can() {
        return;
    }
    let place = Place::new();
    let cases = [
        ("healthy", "", "0 0", "ICMP", "healthy"),
        ("loss", "loss 8%", "1 0", "TCP connections to port 443", "wire"),
        ("jitter", "delay 60ms 55ms", "0 0", "ICMP", "wire"),
    ];
    let started = cases.map(|(name, netem, groups, ..)| {
        let mut command = Command::new("unshare");
        command.args(["-n", "sh", "-c", WORLD]).env("NETEM", netem).env("GROUPS_OF_PINGS", groups);
        command
            .env("AIRBOUND", env!("CARGO_BIN_EXE_airbound"))
            .env("PAGE", place.path(&format!("{name}.html")));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("unshare starts")
    });
    for ((name, _, _, way, cause), started) in cases.into_iter().zip(started) {
        let output = started.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let diagnosis = &value["diagnosis"];
        // A busy machine stalls its programs, which is a diagnosis of its own.
        let named = diagnosis["cause"].as_str().unwrap_or_default();
        assert!(named == cause || (cause == "healthy" && named == "program"), "{name}: {diagnosis:#}");
        assert!(
            value["probes"][1].as_str().is_some_and(|line| line.ends_with(way)),
            "{name}: {}",
            value["probes"]
        );
        let page = std::fs::read_to_string(place.path(&format!("{name}.html"))).expect("a page");
        assert!(page.contains(diagnosis["sentence"].as_str().unwrap_or("?")), "{name}");
    }
}

/// The same over the simulated air, with the real program and kernel.
#[test]
fn a_wire_of_an_emulation_is_named() {
    let place = Place::new();
    std::fs::write(place.path("air.toml"), LOSSY).expect("a scenario");
    let output = place.run(&[
        "emulate",
        "air.toml",
        "--",
        env!("CARGO_BIN_EXE_airbound"),
        "doctor",
        "server",
        "--duration",
        "10s",
        "--out",
        "page.html",
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && said.contains("is not available") {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED: no emulation here: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    let page = std::fs::read_to_string(place.path("page.html")).expect("a page");
    assert!(page.contains("The way to the host delays or loses packets: "), "{page}");
}

#[test]
fn what_cannot_be_probed_is_said() {
    let place = Place::new();
    for (arguments, words) in [
        (&["doctor", "--iface", "no-such-one"][..], "there is no network interface no-such-one"),
        (&["doctor", "--iface", "lo"], "lo is no Wi-Fi interface"),
        (
            &["doctor", "no-such-host.invalid", "--near", "127.0.0.1"],
            "the host no-such-host.invalid has no address",
        ),
        (&["doctor", "--duration", "1s"], "allowed are 10 s to 10 min"),
        (&["doctor", "--near", "nowhere"], "'nowhere' for '--near <ADDRESS>'"),
    ] {
        let sentence = place.refuse(arguments);
        assert!(sentence.contains(words), "{arguments:?}: {sentence}");
    }
}
