//! Real programs over the simulated air. Where the system has no TUN devices or permits no namespaces, the tests say so and pass.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use airbound_record::{RunFolder, SeriesRow, Summary, TableReader};

use crate::place::Place;

/// Two stations behind 20 ms of wire; the channel is fast.
const SCENARIO: &str = r#"
duration = "1 s"
wire = { delay = "20 ms" }
[[station]]
name = "near"
[[station]]
name = "far"
[[flow]]
name = "film"
kind = "cbr"
station = "far"
rate = "5 Mbit/s"
"#;

/// More packets a second than any machine simulates in real time: voice over a thousand Gb/s of wire.
const HEAVY: &str = r#"
duration = "1 s"
[air]
standard = "he"
width = "160 MHz"
[access-point]
streams = 4
[[network]]
name = "flat"
count = 40
channels = 40
[[station]]
name = "near"
count = 20
[[flow]]
name = "flood"
kind = "cbr"
station = "near-1"
count = 20
rate = "900 Mbit/s"
size = "60 B"
"#;

struct Emulator {
    place: Place,
}

impl Emulator {
    /// `None` if there can be no emulation here.
    fn new() -> Option<Self> {
        let place = Place::new();
        std::fs::write(place.path("air.toml"), SCENARIO).expect("a scenario");
        let emulator = Self { place };
        let tried = emulator.run(&["--", "true"]);
        let said = String::from_utf8_lossy(&tried.stderr).into_owned();
        if tried.status.code() == Some(2) && said.contains("is not available") {
            // Past the test harness, which would keep it to itself.
            let _ = writeln!(std::io::stderr(), "SKIPPED: no emulation here: {said}");
            return None;
        }
        assert_eq!(tried.status.code(), Some(0), "{said}");
        Some(emulator)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airbound"));
        command.args(["emulate", "air.toml", "--out", "out"]).args(arguments);
        command.current_dir(self.place.path("."));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    fn summary(&self) -> Summary {
        RunFolder::open(&self.place.path("out")).expect("a run").summary().expect("a summary")
    }
}

/// The command line that makes this test program one of the programs below.
fn program(name: &str, arguments: &str) -> String {
    let own = std::env::current_exe().expect("a path");
    format!("exec env PROGRAM='{arguments}' {} --exact emulate::{name} --ignored --nocapture", own.display())
}

fn arguments() -> String {
    std::env::var("PROGRAM").expect("started by a test")
}

#[test]
#[ignore = "a program that the tests start"]
fn echo() {
    let udp = UdpSocket::bind("[::]:5000").expect("a socket");
    let tcp = TcpListener::bind("[::]:5000").expect("a socket");
    std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = udp.recv_from(&mut buffer) {
            let _ = udp.send_to(&buffer[..length], from);
        }
    });
    for stream in tcp.incoming() {
        let mut stream = stream.expect("a connection");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("all bytes");
        stream.write_all(&all.len().to_be_bytes()).expect("an answer");
    }
}

/// Sends 30 datagrams and awaits each, then half a megabyte; fails if the shortest round trip is not within the bounds in ms.
#[test]
#[ignore = "a program that the tests start"]
fn talk() {
    let arguments = arguments();
    let words: Vec<&str> = arguments.split(' ').collect();
    let [host, least, most] = words.as_slice() else { panic!("host, least, most") };
    let bounds = [least, most].map(|bound| Duration::from_millis(bound.parse().expect("a number")));
    let udp = UdpSocket::bind(if host.contains('.') { "0.0.0.0:0" } else { "[::]:0" }).expect("a socket");
    udp.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    udp.connect((*host, 5000)).expect("a name in the hosts file");
    let mut shortest = Duration::MAX;
    for number in 0..30u8 {
        let begun = Instant::now();
        udp.send(&[number; 500]).expect("to send");
        let mut answer = [0; 600];
        assert_eq!(udp.recv(&mut answer).expect("an answer"), 500);
        assert_eq!(answer[..500], [number; 500]);
        shortest = shortest.min(begun.elapsed());
    }
    let mut stream = TcpStream::connect((*host, 5000)).expect("a connection");
    stream.write_all(&[7; 500_000]).expect("to write");
    stream.shutdown(std::net::Shutdown::Write).expect("an end");
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(u64::from_be_bytes(answer), 500_000);
    assert!(bounds[0] <= shortest && shortest <= bounds[1], "{shortest:?}");
}

#[test]
fn programs_talk_over_air_and_wire() {
    let Some(emulator) = Emulator::new() else { return };
    let arguments = ["--server", &program("echo", ""), "--station", "near", "--scheme", "last-pq"];
    let protect = ["--protect", "udp dport 5000", "--p95", "20ms", "--json", "--pcap", "near.pcap"];
    let talk = program("talk", "server 40 5000");
    let output = emulator.run(&[&arguments[..], &protect, &["--", "sh", "-c", &talk]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = emulator.summary();
    assert_eq!(summary, serde_json::from_slice(&output.stdout).expect("the summary and nothing else"));
    let flow = |name: &str| summary.flows.iter().find(|flow| flow.name == name).expect(name);
    let names = ["near up udp 5000", "near down udp 5000", "near up tcp 5000", "near down tcp 5000"];
    for name in names {
        assert_eq!((flow(name).kind.as_str(), flow(name).station.as_str()), ("application", "near"));
    }
    assert_eq!(flow(names[0]).packets.delivered, 30);
    assert!(flow(names[0]).demand.is_some() && flow(names[2]).demand.is_none());
    assert!(flow(names[0]).latency_ms.p50.is_some_and(|median| median >= 20.0), "the wire's delay");
    assert!(flow(names[2]).packets.delivered > 500_000 / 1500);
    assert!(flow("film").packets.delivered > 0, "the scenario's own flow goes on");
    let emulation = summary.emulation.expect("an emulation");
    // 60 datagrams and 343 segments of a transfer; how many acknowledgements there are depends on the machine's load.
    assert!(emulation.packets > 403 && emulation.aggregates > 60, "{emulation:?}");
    assert_eq!(emulation.flows.len(), 4);
    let first = &emulation.flows.iter().find(|flow| flow.name == names[0]).expect("a flow").first;
    assert!(first.starts_with("udp 10.77.0.2:") && first.ends_with(" > 10.77.0.1:5000"), "{first}");
    assert!(
        String::from_utf8_lossy(&emulator.place.bytes("out/report.html"))
            .contains(" of near down tcp 5000\"")
    );
    // Each datagram is there where it is sent and where its answer arrives, with its content.
    let capture = emulator.place.bytes("near.pcap");
    for number in 0..30u8 {
        let runs = capture.chunk_by(|a, b| a == b).filter(|run| run[0] == number && run.len() >= 500);
        // The transfer is full of sevens.
        let found = runs.count();
        assert!(found == 2 || number == 7, "{found} of datagram {number}");
    }
}

/// Answers datagrams on a port above those that clients are given (32768 to 60999) with as many bytes.
#[test]
#[ignore = "a program that the tests start"]
fn answer() {
    let socket = UdpSocket::bind("0.0.0.0:61001").expect("a socket");
    let mut buffer = [0; 10_000];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        let _ = socket.send_to(&buffer[..length], from);
    }
}

/// Sends 20 datagrams of 4000 bytes to it at an address, and awaits each; is silent for a second before and after.
#[test]
#[ignore = "a program that the tests start"]
fn ask() {
    let address = arguments();
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    socket.connect((address.as_str(), 61_001)).expect("an address");
    std::thread::sleep(Duration::from_secs(1));
    for _ in 0..20 {
        socket.send(&[7; 4000]).expect("to send");
        assert_eq!(socket.recv(&mut [0; 5000]).expect("an answer"), 4000);
    }
    std::thread::sleep(Duration::from_secs(1));
}

#[test]
fn fragments_belong_to_their_connection_and_a_name_is_the_service() {
    let Some(emulator) = Emulator::new() else { return };
    let answer = program("answer", "");
    let ask = program("ask", "10.77.0.1");
    let output = emulator.run(
        &[
            &[
                "--server",
                &answer,
                "--station",
                "near",
                "--scheme",
                "last-pq",
                "--focus",
                "near up udp 61001",
            ][..],
            &["--protect", "udp dport 61001", "--protect", "tcp dport 9", "--p95", "30ms", "--log-packets"],
            &["--", "sh", "-c", &ask],
        ]
        .concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let summary = emulator.summary();
    let emulation = summary.emulation.as_ref().expect("an emulation");
    // The lower port is the client's.
    let names: Vec<&str> = emulation.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["near up udp 61001", "near down udp 61001"]);
    let flow = |name: &str| summary.flows.iter().find(|flow| flow.name == name).expect(name);
    let (up, down) = (flow(names[0]), flow(names[1]));
    // 4008 bytes of UDP are three fragments over an MTU of 1500.
    assert_eq!((up.packets.delivered, down.packets.delivered), (60, 60));
    assert!(up.demand.is_some() && down.demand.is_none());
    let own = summary.application(names[0]).expect("an application");
    assert_eq!(
        (own.sent_bytes, own.delivered_bytes, own.delivered_share()),
        (20 * 4068, 20 * 4068, Some(1.0))
    );
    assert_eq!(own.demand_seconds.map(|seconds| (1..=5).contains(&seconds)), Some(true));
    // Twenty round trips of at least 40 ms, without the silence around them.
    assert!(
        own.active_s >= 0.76 && own.active_s < summary.duration_s - 1.9,
        "{own:?} {}",
        summary.duration_s
    );
    let expected = 20.0 * 4068.0 * 8.0 / 1e6 / own.active_s;
    assert!((up.goodput_mbps / expected - 1.0).abs() < 1e-4, "{} {expected}", up.goodput_mbps);
    assert!(said.contains("--protect \"tcp dport 9\": no connection began with such a packet"), "{said}");
    assert!(!said.contains("\"udp dport 61001\": no connection"), "{said}");
    assert!(said.contains("Flow near up udp 61001"), "the focus that was asked for: {said}");
    // The page draws the connections, under their names.
    let page = String::from_utf8(emulator.place.bytes("out/report.html")).expect("a page");
    assert!(page.contains("aria-label=\"p95 latency (ms) of near up udp 61001\""));
    // In the tables slots without a connection have no names.
    let table = TableReader::<SeriesRow>::open(&emulator.place.path("out/series.parquet")).expect("a table");
    let named: Vec<&String> = table.info().flows.iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(named, ["film", names[0], names[1]]);
    let late = Command::new(env!("CARGO_BIN_EXE_airbound"))
        .args(["explain", "out", "--late"])
        .current_dir(emulator.place.path("."))
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&late.stdout);
    assert!(said.contains("near up udp 61001"), "its demand is known by name: {said} {late:?}");
    let output = Command::new(env!("CARGO_BIN_EXE_airbound"))
        .args(["report", "out", "--out", "page.html"])
        .current_dir(emulator.place.path("."))
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Flow near up udp 61001"), "the protected connection leads: {said}");
}

/// Sends a datagram to the first address that the resolver has for a name.
#[test]
#[ignore = "a program that the tests start"]
fn call_by_name() {
    let mut addresses =
        std::net::ToSocketAddrs::to_socket_addrs(&(arguments().as_str(), 5004)).expect("a name");
    let first = addresses.next().expect("an address");
    let socket = UdpSocket::bind(if first.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).expect("a socket");
    for _ in 0..200 {
        socket.send_to(&[7; 100], first).expect("to send");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends when it has heard a datagram over IPv4.
#[test]
#[ignore = "a program that the tests start"]
fn hear() {
    let socket = UdpSocket::bind("0.0.0.0:5004").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    socket.recv(&mut [0; 200]).expect("a datagram");
}

#[test]
fn a_receiver_on_ipv4_hears_what_is_sent_to_its_name() {
    let Some(emulator) = Emulator::new() else { return };
    let call = program("call_by_name", "near");
    let hear = program("hear", "");
    let output = emulator.run(&["--server", &call, "--station", "near", "--", "sh", "-c", &hear]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<String> = emulator.summary().flows.into_iter().map(|flow| flow.name).collect();
    assert!(names.iter().any(|name| name == "near down udp 5004"), "{names:?}");
}

#[test]
fn stations_talk_beside_the_wire() {
    let Some(emulator) = Emulator::new() else { return };
    // Over the wire it would take 80 ms.
    let talk = program("talk", "10.77.0.2 0 75");
    let output = emulator.run(&[
        "--without",
        "all",
        "--on",
        "near",
        &program("echo", ""),
        "--for",
        "30s",
        "--on",
        "far",
        &format!("sleep 0.5; ({talk}) && kill -9 -1"),
    ]);
    // The last command kills the echo only if the talk succeeded.
    assert_eq!(output.status.code(), Some(137), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<String> = emulator.summary().flows.into_iter().map(|flow| flow.name).collect();
    for name in ["far up udp 5000", "near down udp 5000", "near up udp 5000", "far down udp 5000"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    assert!(!names.iter().any(|name| name == "film"), "{names:?}");
}

/// Fetches a sentence from an address, and fails if the connection took less than 40 ms.
#[test]
#[ignore = "a program that the tests start"]
fn fetch() {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(arguments()).expect("a way out");
    assert!(begun.elapsed() >= Duration::from_millis(40), "twice over the wire");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "outside");
}

#[test]
fn stations_reach_the_internet_only_when_asked() {
    let Some(emulator) = Emulator::new() else { return };
    let skipped = |why: &str| drop(writeln!(std::io::stderr(), "SKIPPED: no way out here: {why}"));
    // The address by which this machine is known outside; nothing is sent.
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let Ok(own) = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()) else {
        return skipped("this machine has no route");
    };
    let listener = TcpListener::bind((own.ip(), 0)).expect("a socket");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|mut stream| stream.write_all(b"outside"));
        }
    });
    let fetch = program("fetch", &address.to_string());
    let inside = emulator.run(&["--station", "near", "--", "sh", "-c", &fetch]);
    assert_eq!(inside.status.code(), Some(101), "{}", String::from_utf8_lossy(&inside.stderr));
    let output = emulator.run(&["--internet", "--station", "near", "--", "sh", "-c", &fetch]);
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && said.contains("install it: apt-get install passt") {
        return skipped(&said);
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let names: Vec<String> = emulator.summary().flows.into_iter().map(|flow| flow.name).collect();
    for direction in ["up", "down"] {
        let name = format!("near {direction} tcp");
        assert!(names.iter().any(|known| known.starts_with(&name)), "{names:?}");
    }
}

#[test]
fn codes_pass_and_time_ends_commands() {
    let Some(emulator) = Emulator::new() else { return };
    assert_eq!(emulator.run(&["--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(emulator.run(&["--", "sh", "-c", "kill -SEGV $$"]).status.code(), Some(139));
    // Without flows of its own and without packets it has a report all the same.
    assert_eq!(emulator.run(&["--without", "all", "--", "true"]).status.code(), Some(0));
    assert!(emulator.place.path("out/report.html").is_file());
    let begun = Instant::now();
    assert_eq!(emulator.run(&["--for", "300ms", "--", "sleep", "1000"]).status.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(emulator.summary().duration_s >= 0.3);
}

#[test]
fn nothing_is_left_of_a_killed_emulation() {
    let Some(emulator) = Emulator::new() else { return };
    let left = || {
        let found = std::fs::read_dir("/proc").expect("processes").flatten().filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.windows(9).any(|word| word == b"987654.25")
        });
        found.count()
    };
    let nested = "sleep 987654.25 & setsid sleep 987654.25 & sleep 987654.25";
    let mut command = emulator.command(&["--server", "sleep 987654.25", "--", "sh", "-c", nested]);
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
    let begun = Instant::now();
    // The emulator, its guard and first process, the shell, four that sleep, one of them below a shell.
    while left() < 8 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never begins");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("to kill it");
    child.wait().expect("its end");
    let begun = Instant::now();
    while left() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} processes are left", left());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_stop_leaves_results() {
    let Some(emulator) = Emulator::new() else { return };
    let ready = emulator.place.path("ready");
    let touch = format!("touch {}; exec sleep 1000", ready.display());
    let mut command = emulator.command(&["--", "sh", "-c", &touch]);
    std::fs::remove_dir_all(emulator.place.path("out")).expect("the results of the first one");
    let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let begun = Instant::now();
    while !ready.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never begins");
        std::thread::sleep(Duration::from_millis(10));
    }
    let entered = Command::new(env!("CARGO_BIN_EXE_airbound"))
        .args(["emulate", "enter", &format!("{}/server", child.id()), "--", "sh", "-c"])
        .arg("cat /etc/hosts; exit 3")
        .output()
        .expect("the program starts");
    assert_eq!(entered.status.code(), Some(3), "{}", String::from_utf8_lossy(&entered.stderr));
    assert!(String::from_utf8_lossy(&entered.stdout).contains("10.77.0.2 near"));
    assert!(entered.stderr.is_empty(), "standard error is the command's");
    let killed = Command::new("sh").args(["-c", "kill -INT \"$0\"", &child.id().to_string()]).status();
    assert!(killed.expect("kill starts").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(143), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(emulator.summary().emulation.is_some());
}

#[test]
fn further_signals_leave_results_too() {
    let Some(emulator) = Emulator::new() else { return };
    let ready = emulator.place.path("ready");
    // A command that ignores requests to end.
    let touch = format!("trap '' TERM INT; touch {}; while :; do sleep 0.1; done", ready.display());
    // `timeout` sends two at once; a person sends more, and the last ones while the results are written.
    let pauses: [&[u64]; 5] = [&[0], &[10], &[250], &[250, 100, 5], &[1000, 1500]];
    for pauses in pauses {
        std::fs::remove_dir_all(emulator.place.path("out")).expect("results");
        let _ = std::fs::remove_file(&ready);
        let mut command = emulator.command(&["--", "sh", "-c", &touch]);
        let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
        let begun = Instant::now();
        while !ready.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never begins");
            std::thread::sleep(Duration::from_millis(10));
        }
        let signal =
            || Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
        signal().expect("kill starts");
        for pause in pauses {
            std::thread::sleep(Duration::from_millis(*pause));
            signal().expect("kill starts");
        }
        assert_eq!(child.wait().expect("its end").code(), Some(137), "{pauses:?}");
        assert!(emulator.summary().emulation.is_some(), "{pauses:?}");
        let left = std::fs::read_dir(emulator.place.path("out")).expect("a folder").flatten();
        let left: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        assert!(!left.iter().any(|name| name.ends_with(".partial") || name == ".lock"), "{left:?}");
    }
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let place = Place::new();
    std::fs::write(place.path("air.toml"), SCENARIO).expect("a scenario");
    std::fs::write(place.path("heavy.toml"), HEAVY).expect("a scenario");
    let cases: &[(&[&str], &str)] = &[
        (&["air.toml"], "name a command: `-- COMMAND` on the station"),
        (&["air.toml", "--station", "fat", "--", "true"], "no station named \"fat\"; stations are near, far"),
        (&["air.toml", "--on", "x", "true"], "no station named \"x\""),
        (&["air.toml", "--", "no-such-program"], "there is no command \"no-such-program\""),
        (
            &["air.toml", "--server", "no-such-program -x", "--", "true"],
            "there is no command \"no-such-program\"",
        ),
        (&["air.toml", "--wired", "far", "true", "--", "true"], "no host can be named \"far\""),
        (&["air.toml", "--wired", "server", "true", "--", "true"], "write --server COMMAND"),
        (
            &["air.toml", "--without", "game", "--", "true"],
            "--without game: there is no such flow; flows are film",
        ),
        (
            &["air.toml", "--protect", "udp dport", "--p95", "1ms", "--", "true"],
            "--protect \"udp dport\": column",
        ),
        (&["air.toml", "--protect", "udp", "--p95", "0s", "--", "true"], "more than 0 ms"),
        (&["none.toml", "--", "true"], "none.toml"),
        (&["air.toml", "--between", "no-such-device", "lo"], "no-such-device"),
        (&["air.toml", "--between", "lo", "lo", "--", "true"], "cannot be used with"),
        (&["air.toml", "--ready", "9", "--", "true"], "--between"),
        (&["heavy.toml", "--", "true"], "own traffic is"),
        (
            &["enter", "no-such-host", "--", "true"],
            "no emulation of this user has a host named \"no-such-host\"",
        ),
    ];
    for (arguments, expected) in cases {
        let said = place.refuse(&[&["emulate"], *arguments].concat());
        // An ordinary user may not even look at a device.
        let is_withheld = arguments.contains(&"no-such-device") && said.contains("the capability NET_RAW");
        assert!(said.contains(expected) || is_withheld, "{arguments:?}: {said}");
    }
}
