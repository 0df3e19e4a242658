//! Errors of a scenario are one sentence each, with place, key and allowed values.

use airbound_scenario::{Overrides, Scenario};

use crate::sentence::{GOOD, check};

/// The good scenario with one line replaced.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old));
    GOOD.replace(old, new)
}

#[test]
fn the_good_one_is_good() {
    Scenario::parse(GOOD, "test.toml", &Overrides::none()).unwrap();
}

#[test]
fn unknown_keys_suggest_the_nearest() {
    check(&with("duration", "duratoin"), &["test.toml:1:", "unknown key duratoin", "did you mean duration?"]);
    check(&with("standard", "standart"), &["test.toml:3:", "air.standart", "did you mean standard?"]);
    check(&with("rate =", "rait ="), &["test.toml:10:", "flow.stream.rait", "did you mean rate?"]);
    check(
        &with("rate =", "fps = 30\nrate ="),
        &["test.toml:10:", "flow.stream.fps", "a flow of kind cbr has the keys"],
    );
}

#[test]
fn quantities_say_what_unit_they_want() {
    check(&with("\"20 Mbit/s\"", "20"), &["test.toml:10:", "flow.stream.rate", "the number 20", "Mbit/s"]);
    check(&with("20 Mbit/s", "20 Mbit"), &["test.toml:10:", "unknown unit \"Mbit\"", "kbit/s"]);
    check(&with("20 Mbit/s", "-20 Mbit/s"), &["test.toml:10:", "is \"-20 Mbit/s\"; allowed is 1 kbit/s to"]);
    check(&with("20 Mbit/s", "0 bit/s"), &["test.toml:10:", "allowed is 1 kbit/s to 100 Gbit/s"]);
    check(&with("\"2 s\"", "\"0 s\""), &["test.toml:1:", "duration", "allowed is 1 ms to"]);
    check(&with("\"2 s\"", "\"25 h\""), &["test.toml:1:", "duration", "86400 s"]);
    check(&with("[air]", "warm-up = \"24 h\"\n[air]"), &["warm-up", "together exceed"]);
    check(&with("\"2 s\"", "\"nan s\""), &["duration"]);
}

#[test]
fn numbers_keep_their_range() {
    for loss in ["nan", "inf", "-0.1", "1.5", "\"a\"", "true", "1979-05-27", "[0.1]"] {
        check(
            &format!("{GOOD}[wire]\nloss = {loss}\n"),
            &["test.toml:12:", "wire.loss", "a number from 0 to 1"],
        );
    }
    check(&with("[[flow]]", "count = 1000000\n[[flow]]"), &["station.phone.count", "1000000", "0 to 200"]);
    check(&with("[[flow]]", "count = 99999999999999999999\n[[flow]]"), &["test.toml"]);
    let many: String = (0..3).map(|i| format!("[[station]]\nname = \"s{i}\"\ncount = 100\n")).collect();
    check(&format!("{GOOD}{many}"), &["a scenario has at most 200", "station.s1.count"]);
    check(&with("rate =", "count = 3000\nrate ="), &["flow.stream.count", "2000"]);
}

#[test]
fn names_must_be_known_and_unlike() {
    check(&with("station = \"phone\"", "station = \"fone\""), &["test.toml:9:", "did you mean phone?"]);
    check(&format!("{GOOD}[[station]]\nname = \"phone\"\n"), &["test.toml:12:", "already taken"]);
    let again = GOOD.split_once("[[flow]]").unwrap().1;
    check(&format!("{GOOD}[[flow]]{again}"), &["flow.stream.name", "already taken"]);
    check(&with("\"phone\"\n[[flow]]", "\"a b\"\n[[flow]]"), &["station.a b.name", "letters, digits"]);
    check(&with("[air]", "focus = \"call\"\n[air]"), &["focus", "which is not the name of a flow", "stream"]);
    check(&with("\"cbr\"", "\"cbd\""), &["test.toml:8:", "did you mean cbr?"]);
    check(&with("\"ht\"", "\"hx\""), &["test.toml:3:", "did you mean ht?", "allowed are"]);
    check("duration = \"1 s\"\n", &["station is missing"]);
    check("duration = \"1 s\"\n[[station]]\nname = \"a\"\n", &["flow is missing"]);
    check(&GOOD.replace("duration = \"2 s\"\n", ""), &["duration is missing", "write for example"]);
}

#[test]
fn rates_belong_to_the_standard() {
    let station = |line: &str| with("[[flow]]", &format!("{line}\n[[flow]]"));
    check(&station("rate = \"VHT80 MCS9 2SS LGI\""), &["station.phone.rate", "supports only HT"]);
    check(&station("rate = \"HT40 MCS23 3SS LGI\""), &["station.phone.rate", "2 spatial streams"]);
    check(&station("rate = \"HT40 MCS99 3SS LGI\""), &["station.phone.rate", "0 to 31"]);
    check(&station("standard = \"he\""), &["station.phone.standard", "at most ht"]);
    check(&station("width = \"80 MHz\""), &["station.phone.width", "20 MHz to 40 MHz"]);
    check(&with("\"ht\"", "\"ht\"\nguard-interval = \"1600 ns\""), &["air.guard-interval", "400 ns"]);
    check(&with("\"ht\"", "\"ht\"\ncontrol-rate = \"25 Mbit/s\""), &["air.control-rate", "24 Mbit/s"]);
    check(
        &with("\"ht\"", "\"ht\"\ncountdown = \"dcf\""),
        &["test.toml:4:", "air.countdown", "\"idle-slots\""],
    );
    check(&with("\"ht\"", "\"ht\"\nwidth = \"10 MHz\""), &["air.width", "20 MHz to 40 MHz"]);
    let narrow = |lines: &str| with("\"ht\"", &format!("\"legacy\"\nwidth = \"10 MHz\"{lines}"));
    check(&narrow("\nband = \"5 GHz\""), &["air.band", "10 MHz", "no other band"]);
    check(&with("\"ht\"", "\"legacy\"\nband = \"5.9 GHz\""), &["air.band", "10 MHz only"]);
    let narrow_station = |line: &str| narrow("").replace("[[flow]]", &format!("{line}\n[[flow]]"));
    check(&narrow_station("width = \"20 MHz\""), &["station.phone.width", "the channel has 10 MHz"]);
    check(&narrow_station("rate = \"OFDM 6 Mbit/s\""), &["station.phone.rate", "10 MHz"]);
    check(&with("\"ht\"", "\"wifi7\""), &["air.standard", "\"legacy\", \"ht\", \"vht\", \"he\""]);
}

#[test]
fn relays_form_a_tree() {
    let via = |relay: &str| with("[[flow]]", &format!("via = \"{relay}\"\n[[flow]]"));
    let station = |name: &str, lines: &str| format!("[[station]]\nname = \"{name}\"\n{lines}\n");
    check(
        &via("fone"),
        &["test.toml:6:", "station.phone.via", "not the name of a station", "did you mean phone?"],
    );
    check(&via("phone"), &["test.toml:6:", "never leads to the access point: phone via phone"]);
    check(
        &(via("a") + &station("a", "via = \"b\"") + &station("b", "via = \"a\"")),
        &["test.toml:6:", "station.phone.via", "phone via a via b via a"],
    );
    check(&with("[[flow]]", "via = 3\n[[flow]]"), &["test.toml:6:", "station.phone.via", "a text in quotes"]);
    let chain: String = (1..=8)
        .map(|hop| {
            let relay = if hop == 1 { "phone".to_owned() } else { format!("h{}", hop - 1) };
            station(&format!("h{hop}"), &format!("via = \"{relay}\""))
        })
        .collect();
    check(&format!("{GOOD}{chain}"), &["station.h8.via", "more than 8 hops", "allowed are 1 to 8"]);
    let shorter = chain.rsplit_once("[[station]]").unwrap().0;
    Scenario::parse(&format!("{GOOD}{shorter}"), "test.toml", &Overrides::none()).unwrap();
    check(
        &format!("{GOOD}{}{}", station("r", "count = 3"), station("far", "count = 2\nvia = \"r\"")),
        &["station.far.via", "a group of 3", "as many as this entry has, 2"],
    );
    let old = station("r", "standard = \"legacy\"");
    check(
        &(via("r") + &old),
        &["station.phone.standard", "is ht, newer than its relay's; r supports at most legacy"],
    );
    check(
        &(via("r") + &station("r", "width = \"20 MHz\"")),
        &["station.phone.width", "is 40 MHz; its relay r has 20 MHz"],
    );
    check(&(via("r") + &station("r", "streams = 1")), &["station.phone.streams", "is 2; its relay r has 1"]);
    let pipe = "channel = { kind = \"trace\", file = \"shipped:swinging-pipe.mahi\" }";
    check(
        &(via("r") + &station("r", pipe)),
        &["test.toml:6:", "station.phone.via", "the trace of r replaces it by a pipe"],
    );
    check(&format!("{GOOD}[uplink]\nqueue = \"schema\"\n"), &["uplink.queue", "\"fifo\""]);
}

#[test]
fn members_of_groups_share_a_relay_or_have_one_each() {
    let text = |count: u32| {
        format!(
            "{GOOD}[[station]]\nname = \"r\"\ncount = {count}\n[[station]]\nname = \"far\"\ncount = 2\nvia = \"r\"\n"
        )
    };
    for (count, relays) in [(1, ["r", "r"]), (2, ["r-1", "r-2"])] {
        let scenario = Scenario::parse(&text(count), "test.toml", &Overrides::none()).unwrap();
        let far: Vec<&str> = scenario.stations.iter().filter_map(|station| station.via.as_deref()).collect();
        assert_eq!(far, relays);
        assert!(scenario.has_relays());
        let again = Scenario::parse(&scenario.to_toml(), "printed", &Overrides::none());
        assert_eq!(again, Ok(scenario));
    }
}

#[test]
fn paths_are_checked() {
    let path = |preset: &str, line: &str| {
        let narrow = with("\"ht\"", "\"ht\"\nwidth = \"20 MHz\"");
        format!("{narrow}[access-point]\npreset = \"{preset}\"\n[access-point.path]\n{line}\n")
    };
    let line = "test.toml:15:";
    check(&path("openwify", ""), &["test.toml:13:", "openwify", "openwifi", "openwifi-split", "direct"]);
    check(&path("direct", "handover = \"100 us\""), &[line, "handover", "form = \"ahead\""]);
    check(&path("direct", "completion = \"7 us\""), &[line, "completion", "driver-queue"]);
    check(&path("direct", "hardware-total = 8"), &[line, "hardware-total", "form = \"ahead\""]);
    check(&path("openwifi", "hardware-total = 0"), &[line, "from 1 to 4000"]);
    check(&path("openwifi", "hardware-total = \"many\""), &[line, "1 to 4000", "\"unlimited\""]);
    check(&path("openwifi", "rates-per-grant = 5"), &[line, "from 1 to 4"]);
    check(&path("openwifi", "driver-limit-time = \"1 us\""), &[line, "driver-limit-time", "100 us", "100 s"]);
    check(&path("direct", "aggregate-voice = 1"), &[line, "aggregate-voice", "true and false"]);
    check(&path("direct", "block-ack = false"), &[line, "block-ack", "max-ampdu-mpdus = 1"]);
}

#[test]
fn schemes_are_checked() {
    check(
        &with("[air]", "schemes = [\"fifo\", \"pei\"]\n[air]"),
        &["test.toml:2:", "pei", "did you mean pie?"],
    );
    check(&with("[air]", "schemes = [\"pie+fifo\"]\n[air]"), &["two kinds of queue"]);
    check(&with("[air]", "schemes = [\"last-pq+last-pq-auto\"]\n[air]"), &["two kinds of queue"]);
    check(
        &format!("{GOOD}[scheme]\nqueue = {{ kind = \"last-pq\", protect = \"all\" }}\n"),
        &["scheme.queue.protect is the text \"all\"", "named or auto"],
    );
    check(&format!("{GOOD}[scheme]\nqueue = \"fiffo\"\n"), &["test.toml:12:", "scheme.queue", "\"fifo\""]);
    check(
        &format!("{GOOD}[scheme]\nqueue = {{ kind = \"fifo\", depth = 3 }}\n"),
        &["scheme.queue", "unknown field depth", "limit"],
    );
    check(
        &format!("{GOOD}[scheme]\nqueue = {{ kind = \"fifo\", limit = {{ packets = 0 }} }}\n"),
        &["scheme.queue", "is 0", "1 to"],
    );
    let session = "duration = \"1 s\"\n[session]\n[[session.client]]\nname = \"a\"\n[scheme]\nsession = ";
    check(
        &format!("{session}{{ kind = \"plain\", x = 1 }}\n"),
        &["scheme.session", "unknown key x, plain has none"],
    );
}

#[test]
fn real_time_video_is_checked() {
    let video = |line: &str| {
        let text = with("\"cbr\"", "\"rtc\"");
        text.replace("rate = \"20 Mbit/s\"", line)
    };
    Scenario::parse(&video(""), "test.toml", &Overrides::none()).unwrap();
    check(&video("fec = \"xor\""), &["test.toml:10:", "flow.stream.fec", "\"xor\"", "reed-solomon"]);
    check(&video("fec-overhead = 0"), &["flow.stream.fec-overhead", "a number from 0.01 to 1"]);
    check(&video("size = \"1500 B\""), &["flow.stream.size", "100 B to 1.452 kB"]);
    check(&video("rate = \"2 Gbit/s\""), &["flow.stream.rate", "10 kbit/s to 1 Gbit/s"]);
    check(&video("start-rate = \"16 Mbit/s\""), &["flow.stream.start-rate", "30 kbit/s to 15 Mbit/s"]);
    check(&video("give-up = \"1 ms\""), &["flow.stream.give-up", "10 ms to 60 s"]);
    check(
        &video("receive-window = \"1 MB\""),
        &["flow.stream.receive-window", "a flow of kind rtc has the keys"],
    );
    check(&video("congestion = \"cubic\""), &["flow.stream.congestion", "\"gcc\", \"moonlight\""]);
    let parameter = |text: &str| video(&format!("congestion = {{ kind = {text} }}"));
    check(&parameter("\"gcc\", max-rate = \"1 Mbit/s\""), &["flow.stream.congestion", "belongs to the flow"]);
    check(
        &parameter("\"gcc\", pacing-factor = 99"),
        &["flow.stream.congestion", "pacing-factor is 99", "1 to 10"],
    );
    check(&parameter("\"gcc\", speed = 1"), &["flow.stream.congestion", "unknown field speed"]);
    check(&parameter("\"fixed\", rate = 1"), &["flow.stream.congestion", "unknown field rate"]);
}

#[test]
fn the_small_queue_of_a_sender_has_a_range() {
    let key = |time: &str| format!("{{ kind = \"cubic\", small-queue = {time} }}");
    let scheme = |time: &str| format!("{GOOD}[scheme]\nsender = {}\n", key(time));
    let flow = |time: &str| {
        with("\"cbr\"", "\"tcp\"").replace("rate = \"20 Mbit/s\"", &format!("congestion = {}", key(time)))
    };
    let range = "small-queue is 400 us; allowed is 500 us to 1 s";
    check(&scheme("\"400 us\""), &["test.toml:12:", "scheme.sender", range]);
    check(&flow("\"400 us\""), &["test.toml:10:", "flow.stream.congestion", range]);
    check(&flow("\"2 s\""), &["test.toml:10:", "small-queue is 2 s; allowed is 500 us to 1 s"]);
    check(&flow("8"), &["test.toml:10:", "flow.stream.congestion"]);
    for accepted in [scheme("\"500 us\""), flow("\"1 s\"")] {
        Scenario::parse(&accepted, "test.toml", &Overrides::none()).unwrap();
    }
}

#[test]
fn channels_are_checked() {
    let channel = |table: &str| with("[[flow]]", &format!("channel = {{ {table} }}\n[[flow]]"));
    check(&channel("kind = \"log-distance\""), &["station.phone.channel.distance is missing"]);
    check(&channel("kind = \"fixed\""), &["channel.snr is missing"]);
    check(&channel("kind = \"fixed\", snr = \"30\""), &["channel.snr", "no unit"]);
    check(
        &channel("kind = \"log-distance\", distance = \"5 m\", walk = { from = \"1 m\", to = \"2 m\" }"),
        &["one position too many"],
    );
    check(
        &channel("kind = \"log-distance\", path = [[\"2 s\", \"1 m\"], [\"1 s\", \"2 m\"]]"),
        &["channel.path", "after a later or equal one"],
    );
    check(
        &channel("kind = \"trace\", file = \"/nowhere/at.all\""),
        &["test.toml:6:", "/nowhere/at.all", "cannot be read"],
    );
    check(&channel("kind = \"trace\", file = \"shipped:none\""), &["no shipped trace", "crowded-room.log"]);
    check(
        &channel("kind = \"trace\", file = \"shipped:corridor.csv\", as = \"phy\""),
        &["channel.as", "allowed is \"snr\""],
    );
}

#[test]
fn syntax_errors_have_their_line() {
    check(&with("rate = ", "rate "), &["test.toml:10:", "not valid TOML"]);
    check("a = 1\na = 2\n", &["test.toml:2:"]);
}

fn set_error(sets: &[(&str, &str)]) -> String {
    Scenario::parse(GOOD, "test.toml", &Overrides::from_pairs(sets)).expect_err("accepted").to_string()
}

#[test]
fn overrides_change_what_they_name() {
    let sets = [
        ("flow.stream.rate", "30 Mbit/s"),
        ("station.0.channel.kind", "log-distance"),
        ("station.phone.channel.distance", "\"20 m\""),
        ("access-point.path.hardware-aggregates", "3"),
        ("seed", "7"),
    ];
    let changed = Scenario::parse(GOOD, "test.toml", &Overrides::from_pairs(&sets)).unwrap();
    let printed = changed.to_toml();
    for line in ["rate = \"30 Mbit/s\"", "distance = \"20 m\"", "hardware-aggregates = 3", "seed = 7"] {
        assert!(printed.contains(line), "{line} in {printed}");
    }
}

#[test]
fn wrong_overrides_say_so() {
    let error = set_error(&[("flow.strem.rate", "1 Mbit/s")]);
    assert!(
        error.starts_with("--set flow.strem.rate=1 Mbit/s: ") && error.contains("did you mean stream?"),
        "{error}"
    );
    let error = set_error(&[("flow.stream.rate", "fast")]);
    assert!(error.starts_with("--set flow.stream.rate=fast: flow.stream.rate"), "{error}");
    let error = set_error(&[("air.widht", "20 MHz")]);
    assert!(error.starts_with("--set air.widht") && error.contains("did you mean width?"), "{error}");
    let error = set_error(&[("station.5.rate", "x")]);
    assert!(error.contains("there is no station 5"), "{error}");
    assert!(Overrides::none().set("no equals sign").unwrap_err().to_string().contains("key=value"));
    let mut trace = Overrides::none();
    trace.trace("x.log");
    let error = Scenario::parse(GOOD, "test.toml", &trace).unwrap_err().to_string();
    assert!(error.starts_with("--trace x.log: has no effect"), "{error}");
}

#[test]
fn demands_are_checked() {
    let demand = |value: &str| with("rate =", &format!("demand = {value}\nrate ="));
    for good in ["\"2 ms\"", "\"none\"", "{ latency = \"20 ms\" }", "[[\"1 s\", \"none\"]]"] {
        Scenario::parse(&demand(good), "test.toml", &Overrides::none()).unwrap();
    }
    let place = "test.toml:10: flow.stream.demand";
    check(&demand("20"), &[place, "is the number 20", "allowed are a time such as \"20 ms\""]);
    check(&demand("\"20\""), &[place, "unit"]);
    // Twice the guard interval, where the thresholds of LAST-PQ's controller meet.
    check(&demand("\"1999 us\""), &[place, "is 1.999 ms; allowed is 2 ms to 10 s"]);
    check(&demand("\"11 s\""), &[place, "is 11 s; allowed is 2 ms to 10 s"]);
    check(&demand("{ percentile = 95 }"), &[place, "has no latency"]);
    check(&demand("{ latency = \"20 ms\", percent = 95 }"), &[place, "unknown key percent"]);
    let percentile = |value: &str| demand(&format!("{{ latency = \"20 ms\", percentile = {value} }}"));
    check(&percentile("0"), &[place, "demand.percentile is 0; allowed is more than 0, up to 100"]);
    check(&percentile("\"95\""), &[place, "has the percentile the text \"95\""]);
    check(&demand("[]"), &[place, "has 0 items"]);
    check(&demand("[\"20 ms\"]"), &[place, "has an item that is not a pair"]);
    check(&demand("[[\"0 s\"]]"), &[place, "has an item with 1 values"]);
    let steps = "[[\"2 s\", \"20 ms\"], [\"2 s\", \"none\"]]";
    check(&demand(steps), &[place, "has the time 2 s after a later or equal one"]);
    // Another configuration may support shorter demands, or only longer ones.
    let guarded = demand("\"5 ms\"")
        + "[scheme]\nqueue = { kind = \"last-pq\", delay = { guard-interval = \"4 ms\" } }";
    check(&guarded, &[place, "is 5 ms; allowed is 8 ms to 10 s"]);
    // An uplink's demand is measured under every queue.
    let upwards = with("rate =", "direction = \"up\"\ndemand = \"20 ms\"\nrate =");
    Scenario::parse(&upwards, "test.toml", &Overrides::none()).unwrap();
    let queue = with("[air]", "[scheme]\nqueue = { kind = \"last-pq\", drain = { guard = \"2 s\" } }\n[air]");
    check(&queue, &["test.toml:3: scheme.queue", "drain.guard is 2 s; allowed is 0 ms to 1 s"]);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let none = Overrides::none();
    let error = Scenario::load("nowhere.toml".as_ref(), &none).unwrap_err().to_string();
    assert!(error.starts_with("nowhere.toml: cannot be read"), "{error}");
    let error = Scenario::load(env!("CARGO_MANIFEST_DIR").as_ref(), &none).unwrap_err().to_string();
    assert!(error.contains("it is not a file"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("binary.toml");
    std::fs::write(&file, [0xff, 0xfe, 0x00]).unwrap();
    let error = Scenario::load(&file, &none).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn people_and_spells_are_checked() {
    let channel = |parts: &str| {
        with(
            "name = \"phone\"",
            &format!(
                "name = \"phone\"\nchannel = {{ kind = \"log-distance\", distance = \"5 m\", {parts} }}"
            ),
        )
    };
    check(&channel("blockage = 3"), &["station.phone.channel.blockage", "the number 3", "list"]);
    check(&channel("blockage = [{ dept = \"3 dB\" }]"), &["test.toml:6:", "did you mean depth?"]);
    check(&channel("blockage = [{ depth = \"90 dB\" }]"), &["channel.blockage.0.depth", "0 dB to 60 dB"]);
    check(&channel("blockage = [{ length-spread = 1.5 }]"), &["blockage.0.length-spread", "0 to 1"]);
    check(
        &channel("blockage = [{ length = \"1 h\", pause = \"1 s\" }]"),
        &["blockage.0.pause", "more than 10 people would be present at once", "a tenth of the length"],
    );
    let many = ["{}"; 11].join(", ");
    check(&channel(&format!("blockage = [{many}]")), &["channel.blockage", "has 11 kinds", "10"]);
    check(&channel("activity = { quiet-level = 2 }"), &["channel.activity.quiet-level", "from 0 to 1"]);
    check(&channel("activity = \"busy\""), &["channel.activity", "allowed is a table"]);
    let neighbour = |lines: &str| format!("{GOOD}[[neighbour]]\nname = \"n\"\n{lines}");
    check(&neighbour("mean-on = \"1 s\""), &["neighbour.n.mean-off", "mean-on, the mean active period"]);
    check(&neighbour("mean-off = \"1 s\""), &["neighbour.n.mean-on", "mean-off, the mean pause"]);
    check(
        &neighbour("mean-on = \"1 us\"\nmean-off = \"1 s\""),
        &["neighbour.n.mean-on", "allowed is 10 us to 3600 s"],
    );
}

#[test]
fn a_shaper_has_a_rate_and_a_queue_of_its_own() {
    let shaper = |keys: &str| format!("{GOOD}[access-point.shaper]\n{keys}\n");
    check(&shaper("burst = \"3 kB\""), &["test.toml:11:", "access-point.shaper.rate is missing"]);
    check(
        &shaper("rate = \"0 bit/s\""),
        &["test.toml:12:", "access-point.shaper.rate", "allowed is 1 kbit/s to"],
    );
    check(&shaper("rate = \"-1 Mbit/s\""), &["test.toml:12:", "access-point.shaper.rate"]);
    check(
        &shaper("rate = \"1 Mbit/s\"\nburst = \"17 MiB\""),
        &["test.toml:13:", "shaper.burst", "allowed is 0 B to"],
    );
    check(
        &shaper("rate = \"1 Mbit/s\"\nqueue = \"linux\""),
        &["test.toml:13:", "shaper.queue", "\"fq-codel\""],
    );
    check(
        &shaper("rate = \"1 Mbit/s\"\nlimit = 9"),
        &["test.toml:13:", "shaper.limit", "rate, burst, queue"],
    );
}

#[test]
fn a_receiver_is_hardly_better_than_its_error_model() {
    let loss = |value: &str| with("[air]", &format!("[air]\nimplementation-loss = {value}"));
    check(&loss("\"-4 dB\""), &["test.toml:3:", "air.implementation-loss", "allowed is -3 dB to 20 dB"]);
    check(&loss("\"NaN dB\""), &["test.toml:3:", "air.implementation-loss"]);
    check(&loss("2"), &["test.toml:3:", "air.implementation-loss", "number and unit"]);
}

#[test]
fn hearing_is_checked() {
    let hearing = |lines: &str| format!("{GOOD}[hearing]\n{lines}\n");
    let matrix = |rows: &str| hearing(&format!("matrix = {{ {rows} }}"));
    check(&hearing(""), &["test.toml:11:", "hearing.matrix", "places"]);
    check(&matrix("fone = []"), &["test.toml:12:", "hearing.matrix.fone", "\"fone\"", "did you mean phone?"]);
    check(
        &matrix("phone = [\"x\"]"),
        &["test.toml:12:", "matrix.phone", "\"x\"", "allowed are access-point, phone"],
    );
    check(&matrix("phone = \"all\""), &["matrix.phone", "the text \"all\"", "a list of texts"]);
    check(&matrix("phone = [3]"), &["matrix.phone", "a list with the number 3"]);
    check(&hearing("matrix = {}\nplaces = {}"), &["test.toml:13:", "hearing.places", "beside matrix"]);
    check(&hearing("matrix = {}\nsize = []"), &["hearing.size", "hearing by a matrix has the keys matrix"]);
    let floor = |lines: &str, places: &str| {
        hearing(&format!(
            "size = [\"20 m\", \"10 m\"]\n{lines}\nplaces = {{ access-point = [\"1 m\", \"1 m\"], {places} }}"
        ))
    };
    let good = "phone = [\"4 m\", \"2.5 m\"]";
    Scenario::parse(&floor("", good), "test.toml", &Overrides::none()).expect("a floor");
    check(&hearing("places = {}"), &["hearing.size", "width and depth"]);
    check(&hearing("size = [\"0 m\", \"1 m\"]\nplaces = {}"), &["hearing.size", "above 0 m"]);
    check(
        &floor("", "phone = [\"4 m\", \"10.5 m\"]"),
        &[
            "test.toml:14: hearing.places.phone",
            "(4 m, 10.5 m), outside of the floor",
            "0 m to 20 m and 0 m to 10 m",
        ],
    );
    check(&floor("", "phone = [\"4 m\"]"), &["hearing.places.phone", "a list of 1", "a pair of lengths"]);
    check(&floor("", "phone = [4, 2]"), &["hearing.places.phone", "the number 4", "number and unit"]);
    check(&floor("", "fone = [\"4 m\", \"2 m\"]"), &["hearing.places.fone", "did you mean phone?"]);
    check(&floor("", ""), &["hearing.places", "gives no place to phone"]);
    for threshold in ["\"loud\"", "\"nan dBm\"", "-82", "\"10 dBm\""] {
        check(&floor(&format!("threshold = {threshold}"), good), &["test.toml:13: hearing.threshold"]);
    }
    let wall = |parts: &str| floor(&format!("walls = [{{ {parts} }}]"), good);
    check(&wall("loss = \"3 dB\""), &["test.toml:13: hearing.walls.0.from", "two ends"]);
    let from = "from = [\"2 m\", \"0 m\"]";
    check(&wall(from), &["hearing.walls.0.to", "two ends"]);
    check(&wall(&format!("{from}, to = [\"2 m\", \"0 m\"]")), &["hearing.walls.0.to", "two different ends"]);
    check(
        &wall(&format!("{from}, to = [\"2 m\", \"11 m\"]")),
        &["hearing.walls.0.to", "outside of the floor"],
    );
    check(&wall(&format!("{from}, to = [\"2 m\", \"9 m\"]")), &["hearing.walls.0.loss", "10 dB"]);
    let thick = format!("{from}, to = [\"2 m\", \"9 m\"], loss = \"90 dB\"");
    check(&wall(&thick), &["hearing.places", "phone and access-point", "do not hear each other"]);
    let sleepy = matrix("").replace("[[flow]]", "power-save = {}\n[[flow]]");
    Scenario::parse(&sleepy, "test.toml", &Overrides::none()).expect("a station that sleeps");
}

#[test]
fn a_matrix_names_networks() {
    use airbound_air::channel::TxId;
    let text = |rows: &str| {
        format!("{GOOD}[hearing]\nmatrix = {{ {rows} }}\n[[network]]\nname = \"room\"\ncount = 2\n")
    };
    check(
        &text("rom-1 = []"),
        &["test.toml:12: hearing.matrix.rom-1", "no station, group or network", "did you mean room-1?"],
    );
    let rooms = text("room-1 = [\"room-1\"]");
    let scenario = Scenario::parse(&rooms, "test.toml", &Overrides::none()).expect("two networks");
    // Access point and phone of each room; the second one hears all.
    let hearing = scenario.hearing(1).expect("some are hidden");
    for (listener, heard) in [(0, vec![1]), (1, vec![0]), (2, vec![0, 1, 3]), (3, vec![0, 1, 2])] {
        let all = (0..4_u16).filter(|sender| hearing.hears(TxId(listener), TxId(*sender)));
        assert_eq!(all.collect::<Vec<_>>(), heard, "{listener}");
    }
}

#[test]
fn a_matrix_says_who_hears_whom() {
    use airbound_air::channel::TxId;
    let text = with("name = \"phone\"", "name = \"phone\"\ncount = 2\n[[station]]\nname = \"tv\"")
        .replace("station = \"phone\"", "station = \"tv\"");
    let read = |rows: &str| {
        let text = format!("{text}[hearing]\nmatrix = {{ {rows} }}\n");
        Scenario::parse(&text, "test.toml", &Overrides::none()).expect("a scenario").hearing(1)
    };
    assert_eq!(read(""), None);
    assert_eq!(read("tv = [\"phone\"]"), None, "it hears the access point anyway");
    let hearing = read("tv = [], phone-1 = [\"phone-2\"]").expect("a matrix");
    let hears = |listener, sender| hearing.hears(TxId(listener), TxId(sender));
    assert!(hears(0, 1) && hears(1, 0) && hears(3, 0) && hears(1, 2) && hears(2, 1) && hears(2, 3));
    assert!(!hears(3, 1) && !hears(3, 2) && !hears(1, 3));
}

#[test]
fn an_absence_is_shorter_than_its_period() {
    let away = |keys: &str| with("[[flow]]", &format!("away = {{ {keys} }}\n[[flow]]"));
    let key = "station.phone.away";
    check(&away("period = \"1 s\""), &["test.toml:6:", key, "length is missing"]);
    check(&away("length = \"1 s\""), &["test.toml:6:", key, "period is missing"]);
    check(
        &away("period = \"100 ms\", length = \"2 s\""),
        &["test.toml:6:", "station.phone.away.length", "is 2 s; allowed is less than the period, 100 ms"],
    );
    check(
        &away("period = \"1 s\", length = \"1 s\""),
        &["test.toml:6:", "away.length", "less than the period"],
    );
    check(
        &away("period = \"1 s\", length = \"0 s\""),
        &["test.toml:6:", "away.length", "allowed is 1 us to"],
    );
    check(&away("period = \"1 s\", length = \"-5 ms\""), &["test.toml:6:", "away.length"]);
    check(
        &away("period = \"0 s\", length = \"5 ms\""),
        &["test.toml:6:", "away.period", "allowed is 1 ms to"],
    );
    check(
        &away("period = \"1 s\", length = \"5 ms\", every = 3"),
        &["test.toml:6:", "away.every", "announced"],
    );
    let access_point = "[access-point]\naway = { period = \"1 s\", length = \"1 h\" }\n";
    check(
        &format!("{GOOD}{access_point}"),
        &["test.toml:12:", "access-point.away.length", "less than the period"],
    );
    let pipe = "channel = { kind = \"trace\", file = \"shipped:crowded-room.log\", as = \"pipe\" }\n[[flow]]";
    let both = with("[[flow]]", &format!("away = {{ period = \"1 s\", length = \"1 ms\" }}\n{pipe}"));
    check(&both, &["test.toml:6:", "station.phone.away", "a trace replaces the radios"]);
}

#[test]
fn a_station_saves_power_only_where_beacons_wake_it() {
    let saving = |keys: &str| with("[[flow]]", &format!("power-save = {{ {keys} }}\n[[flow]]"));
    check(
        &saving("timeout = \"0 s\""),
        &["test.toml:6:", "station.phone.power-save.timeout", "allowed is 1 ms to"],
    );
    check(&saving("timeout = \"-1 s\""), &["test.toml:6:", "station.phone.power-save.timeout"]);
    check(&saving("listen-interval = 0"), &["test.toml:6:", "power-save.listen-interval", "from 1 to 255"]);
    check(&saving("wake = \"ps-poll\""), &["test.toml:6:", "power-save.wake", "\"null-frame\", \"u-apsd\""]);
    check(&saving("wake = \"u-apsd\", timeout = \"1 s\""), &["test.toml:6:", "power-save.timeout", "u-apsd"]);
    check(&saving("sleep = true"), &["test.toml:6:", "power-save.sleep", "listen-interval"]);
    let silent = saving("").replace("standard = \"ht\"", "standard = \"ht\"\nbeacons = false");
    check(&silent, &["test.toml:7:", "station.phone.power-save", "air.beacons is false"]);
    let away = saving("").replace("[[flow]]", "away = { period = \"1 s\", length = \"1 ms\" }\n[[flow]]");
    check(&away, &["test.toml:6:", "station.phone.power-save", "one of the two"]);
    let behind = "[[station]]\nname = \"far\"\nvia = \"phone\"\n";
    check(
        &format!("{}{behind}", saving("")),
        &["test.toml:6:", "station.phone.power-save", "others are reached"],
    );
    let far = format!("{GOOD}{behind}power-save = {{}}\n");
    check(&far, &["test.toml:14:", "station.far.power-save", "hear the access point"]);
    let pipe = "channel = { kind = \"trace\", file = \"shipped:crowded-room.log\", as = \"pipe\" }\n[[flow]]";
    check(
        &saving("").replace("[[flow]]", pipe),
        &["test.toml:6:", "power-save", "a trace replaces the radios"],
    );
}

#[test]
fn only_a_stream_over_tcp_knows_what_was_delivered() {
    let vr = |rest: &str| with("kind = \"cbr\"", &format!("kind = \"vr\"\n{rest}"));
    check(
        &vr("transport = \"udp\"\nawait-delivery = true"),
        &["flow.stream.await-delivery", "needs transport = \"tcp\""],
    );
}
