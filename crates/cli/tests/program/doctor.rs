//! `airbound doctor` in network namespaces: a client, a router, a host, and what the router does.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

use crate::place::Place;

/// A client's namespace with the other two behind it. `$CASE` is what the router does, `$GROUPS_OF_PINGS` may send echo requests, `$AS`
/// starts the doctor as somebody. The namespaces end with their processes.
const WORLD: &str = r#"
set -e
unshare -n sleep 60 & R=$!
unshare -n sleep 60 & H=$!
trap 'kill $R $H $LOAD' EXIT
for pid in $R $H; do
    while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
done
in_router() { nsenter -t $R -n "$@"; }
in_host() { nsenter -t $H -n "$@"; }
# One packet of ten, on its way to the router (input) or through it (forward).
lose() {
    in_router nft "add table ip lossy; add chain ip lossy $1 { type filter hook $1 priority 0; };
        add rule ip lossy $1 numgen random mod 10 < 1 drop"
}
# A line of the provider that is full.
fill() {
    in_router tc qdisc add dev r1 root tbf rate 300kbit burst 5kb limit 30kb
    ping -q -i 0.005 -s 1400 10.9.2.2 >/dev/null & LOAD=$!
}
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
echo "$GROUPS_OF_PINGS" > /proc/sys/net/ipv4/ping_group_range
$CASE
$AS "$AIRBOUND" doctor 10.9.2.2 --duration 10s --json --out "$PAGE"
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
            "ip link add veth-a type veth peer name veth-b && tc qdisc add dev veth-a root tbf rate 1mbit burst 5kb limit 30kb \
             && nft add table ip t && ping -V && $AS \"$AIRBOUND\" --version",
        ])
        .env("AS", NOBODY)
        .env("AIRBOUND", env!("CARGO_BIN_EXE_airbound"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the doctor in namespaces: no root, or no veth, tc, nft, ping, setpriv"
        );
    }
    can
}

/// Starts the doctor as nobody, who may send no echo requests.
const NOBODY: &str = "setpriv --reuid 65534 --regid 65534 --clear-groups";

#[test]
fn a_wire_that_loses_or_delays_is_named() {
    if !can() {
        return;
    }
    let place = Place::new();
    for folder in ["..", ""] {
        std::fs::set_permissions(place.path(folder), Permissions::from_mode(0o777)).expect("permissions");
    }
    let (icmp, tcp) = ("ICMP", "TCP connections to port 443");
    let cases = [
        ("healthy", "", "", icmp, "Nothing is wrong: "),
        ("loss", "lose forward", NOBODY, tcp, "The way beyond the gateway delays or loses packets: "),
        ("gateway", "lose input", "", icmp, "The wire to the gateway delays or loses packets: "),
        ("queue", "fill", "", icmp, "The way beyond the gateway delays or loses packets: "),
    ];
    let started = cases.map(|(name, case, user, way, _)| {
        let page = place.path(&format!("{name}.html"));
        let mut command = Command::new("unshare");
        command.args(["-n", "sh", "-c", WORLD]).env("CASE", case).env("AS", user).env("PAGE", page);
        command.env("GROUPS_OF_PINGS", if way == icmp { "0 0" } else { "1 0" });
        command.env("AIRBOUND", env!("CARGO_BIN_EXE_airbound"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("unshare starts")
    });
    for ((name, _, _, way, words), started) in cases.into_iter().zip(started) {
        let output = started.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let diagnosis = &value["diagnosis"];
        let sentence = diagnosis["sentence"].as_str().expect("a sentence");
        // A busy machine stalls its programs, which is a diagnosis of its own.
        let stalls = name == "healthy" && diagnosis["cause"] == "program";
        assert!(sentence.starts_with(words) || stalls, "{name}: {diagnosis:#}");
        let told = value["probes"][1].as_str().is_some_and(|line| line.ends_with(way));
        assert!(told, "{name}: {}", value["probes"]);
        let page = std::fs::read_to_string(place.path(&format!("{name}.html"))).expect("a page");
        assert!(page.contains(sentence), "{name}");
    }
}

/// A machine of which only the routes are known.
#[test]
fn without_gateway_or_wifi_it_says_what_to_name() {
    let place = Place::new();
    let route = "ip link add c0 type veth peer name r0 && ip addr add 10.9.1.2/24 dev c0 && ip link set c0 up \
                 && ip link set r0 up && ip route add default via 10.9.1.1";
    for (routes, words) in [
        ("true", "there is no gateway in the routes of this machine; name a host"),
        (route, "this machine has no Wi-Fi interface; name a host"),
    ] {
        let script = format!("{{ {routes}; }} || exit 77; exec \"$AIRBOUND\" doctor");
        let mut command = Command::new("unshare");
        command.args(["-n", "sh", "-c", &script]).env("AIRBOUND", env!("CARGO_BIN_EXE_airbound"));
        let output = command.current_dir(place.path("")).output();
        let can = |output: &Output| {
            output.status.code() != Some(77) && !String::from_utf8_lossy(&output.stderr).contains("unshare")
        };
        let Some(output) = output.ok().filter(can) else {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: the doctor in namespaces: no root, or no veth");
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && said.trim_end().lines().count() == 1, "{said}");
        assert_eq!(place.list(), ["tiny.toml"], "nothing is half-written");
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
