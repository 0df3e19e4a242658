//! Packets are conserved in random scenarios, with all features of the scenario language.

use crate::simulate;
use airbound_record::{Fate, HopRow, PacketRow, Split};
use airbound_scenario::Scenario;
use airbound_units::{Instant, Span};
use proptest::prelude::*;

/// One line of a table: present in two of three cases.
fn maybe(line: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![1 => Just(String::new()), 2 => line].boxed()
}

fn one_of(choices: &'static [&'static str]) -> BoxedStrategy<&'static str> {
    prop::sample::select(choices).boxed()
}

fn air() -> BoxedStrategy<(String, &'static str)> {
    let standard = one_of(&["legacy", "ht", "vht", "he"]);
    let band = one_of(&["2.4 GHz", "5 GHz"]);
    let lines = (
        maybe(band.prop_map(|band| format!("band = \"{band}\"\n"))),
        maybe((0..8000u32).prop_map(|bytes| format!("rts-threshold = \"{bytes} B\"\n"))),
        maybe(one_of(&["linux", "equal", "dcf"]).prop_map(|edca| format!("edca = \"{edca}\"\n"))),
        maybe(one_of(&["true", "false", "\"20 ms\""]).prop_map(|beacons| format!("beacons = {beacons}\n"))),
        maybe(any::<bool>().prop_map(|eifs| format!("eifs = {eifs}\n"))),
        maybe(one_of(&["6 Mbit/s", "24 Mbit/s"]).prop_map(|rate| format!("control-rate = \"{rate}\"\n"))),
        any::<bool>().prop_map(|on| format!("encryption = {on}\n")),
        one_of(&["", "", "countdown = \"idle-slots\"\n"]),
        one_of(&["", "", "error-model = \"soft\"\nimplementation-loss = \"1.5 dB\"\n"]),
    );
    (standard, lines)
        .prop_map(|(standard, (mut a, b, c, d, e, f, g, h, i))| {
            if standard == "vht" {
                // VHT is not for 2.4 GHz.
                a = a.replace("2.4 GHz", "5 GHz");
            }
            (format!("[air]\nstandard = \"{standard}\"\n{a}{b}{c}{d}{e}{f}{g}{h}{i}"), standard)
        })
        .boxed()
}

/// A sender with small queues.
const SMALL: &str = "{ kind = \"cubic\", small-queue = \"7.8125 ms\" }";

/// Aggregates formed in advance, optionally with few places for all categories or some time between two.
fn ahead() -> BoxedStrategy<String> {
    let total = maybe((1..9u8).prop_map(|total| format!("hardware-total = {total}\n")));
    let handover = maybe((0..2000u32).prop_map(|us| format!("handover = \"{us} us\"\n")));
    (total, handover).prop_map(|(total, handover)| format!("form = \"ahead\"\n{total}{handover}")).boxed()
}

/// Time limits in some of the layers.
fn limit_times() -> BoxedStrategy<String> {
    let limit = |layer: &'static str| {
        maybe((1..60u32).prop_map(move |ms| format!("{layer}-limit-time = \"{ms} ms\"\n")))
    };
    (limit("queue"), limit("driver"), limit("hardware"), limit("total"))
        .prop_map(|(queue, driver, hardware, total)| queue + &driver + &hardware + &total)
        .boxed()
}

fn path(standard: &'static str, name: &'static str) -> BoxedStrategy<String> {
    let most: u16 = match standard {
        "legacy" => 1,
        "he" => 256,
        _ => 64,
    };
    // Without aggregates there is no block-ack window to choose.
    let window: u16 = most.max(64);
    let lines = (
        maybe((1..8u16).prop_map(|depth| format!("hardware-aggregates = {depth}\n"))),
        maybe(prop_oneof![
            Just("form = \"at-access\"\nhardware-total = \"unlimited\"\nhandover = \"0 us\"\n".to_owned()),
            ahead()
        ]),
        maybe(prop_oneof![
            Just("driver-queue = 0\ncompletion = \"0 us\"\n".to_owned()),
            (one_of(&["1", "7", "100", "\"unlimited\""]), 0..300u32)
                .prop_map(|(depth, us)| { format!("driver-queue = {depth}\ncompletion = \"{us} us\"\n") }),
        ]),
        maybe(
            one_of(&["oldest-first", "round-robin"])
                .prop_map(|order| format!("driver-order = \"{order}\"\n")),
        ),
        maybe((1..=most).prop_map(|mpdus| format!("max-ampdu-mpdus = {mpdus}\n"))),
        maybe((100..5484u32).prop_map(|us| format!("max-ppdu-duration = \"{us} us\"\n"))),
        (
            maybe((1..6u8).prop_map(|tries| format!("hardware-tries = {tries}\n"))),
            maybe((1..6u8).prop_map(|grants| format!("max-grants = {grants}\n"))),
            maybe((1..=4u8).prop_map(|rates| format!("rates-per-grant = {rates}\n"))),
            maybe((1..20u8).prop_map(|tries| format!("max-tries = {tries}\n"))),
            limit_times(),
            maybe(any::<bool>().prop_map(|on| format!("aggregate-voice = {on}\n"))),
        )
            .prop_map(|(tries, grants, rates, most, limits, voice)| {
                tries + &grants + &rates + &most + &limits + &voice
            }),
        maybe((1..=window).prop_map(|window| format!("block-ack-window = {window}\n"))),
        maybe(any::<bool>().prop_map(|on| format!("charge-received-airtime = {on}\n"))),
        maybe(any::<bool>().prop_map(|on| format!("airtime-queue-limit = {on}\n"))),
    );
    lines
        .prop_map(move |(a, b, c, d, e, f, g, h, i, j)| {
            format!("[{name}.path]\n{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}")
        })
        .boxed()
}

fn queue() -> BoxedStrategy<String> {
    prop_oneof![
        4 => one_of(&["fifo", "codel", "pie", "fq-codel", "linux", "round-robin", "airbound", "zhuge"])
            .prop_map(|kind| format!("\"{kind}\"")),
        1 => (1..200u32).prop_map(|packets| format!("{{ kind = \"fifo\", limit = {{ packets = {packets} }} }}")),
    ]
    .boxed()
}

/// A token bucket behind the wire, from one that hardly lets anything pass to one without effect.
fn shaper() -> BoxedStrategy<String> {
    let queue = prop_oneof![
        2 => one_of(&["fifo", "codel", "pie", "fq-codel"]).prop_map(|kind| format!("\"{kind}\"")),
        1 => (1..60u32).prop_map(|packets| format!("{{ kind = \"fifo\", limit = {{ packets = {packets} }} }}")),
    ];
    (100..200_000u32, 0..40_000u32, queue)
        .prop_map(|(kbps, burst, queue)| {
            format!("shaper = {{ rate = \"{kbps} kbit/s\", burst = \"{burst} B\", queue = {queue} }}\n")
        })
        .boxed()
}

fn deciders(standard: &'static str) -> BoxedStrategy<String> {
    let rate = || one_of(&["fixed", "ideal", "minstrel-ht", "llra", "thompson"]);
    // The others are of hardware of 802.11n.
    let preset = || match standard {
        "legacy" | "ht" => one_of(&[
            "mac80211",
            "ath9k-fq",
            "ath11k",
            "rtw89",
            "direct",
            "openwifi",
            "openwifi-ath9k",
            "openwifi-a",
            "openwifi-b",
        ]),
        _ => one_of(&["mac80211", "direct"]),
    };
    let scheme = (queue(), rate(), one_of(&["\"cubic\"", "\"reno\"", "\"bbr\"", "\"aggregation\"", SMALL]))
        .prop_map(|(queue, rate, sender)| {
            format!("[scheme]\nqueue = {queue}\nrate = \"{rate}\"\nsender = {sender}\n")
        });
    // Law replaces both.
    let law = prop_oneof![
        Just("\"law\"".to_owned()),
        Just("{ kind = \"law\", classic = [\"be\", \"bk\"] }".to_owned()),
        Just("{ kind = \"law\", classic = \"auto\" }".to_owned()),
        one_of(&["fifo", "codel", "last-pq"])
            .prop_map(|inside| format!("{{ kind = \"law\", inside = \"{inside}\" }}")),
        (1..60u32, 300..4000u32, 1..6u8).prop_map(|(q, h, psdus)| format!(
            "{{ kind = \"law\", limit-q = \"{q} ms\", limit-h = \"{h} us\", overhead = \"100 us\", psdus-in-hardware = {psdus} }}"
        )),
    ];
    let law = law.prop_map(|queue| format!("[scheme]\nqueue = {queue}\n"));
    let scheme = prop_oneof![4 => scheme, 1 => law];
    let access_point = (preset(), maybe(shaper()), path(standard, "access-point"))
        .prop_map(|(preset, shaper, path)| format!("[access-point]\npreset = \"{preset}\"\n{shaper}{path}"));
    let uplink = (
        prop_oneof![4 => queue(), 1 => Just("\"scheme\"".to_owned())],
        rate(),
        preset(),
        path(standard, "uplink"),
    )
        .prop_map(|(queue, rate, preset, path)| {
            format!("[uplink]\nqueue = {queue}\nrate = \"{rate}\"\npreset = \"{preset}\"\n{path}")
        });
    // Law's queue excludes a separate rate control of the stations.
    let fit = |scheme: &str, uplink: String| match scheme.contains("law") {
        true => uplink.replace("queue = \"scheme\"", "queue = \"fifo\""),
        false => uplink,
    };
    (scheme, access_point, maybe(uplink)).prop_map(move |(a, b, c)| fit(&a, c) + &a + &b).boxed()
}

fn wire() -> BoxedStrategy<String> {
    let line = (
        prop_oneof![
            Just("\"unlimited\"".to_owned()),
            (1..200u32).prop_map(|mbps| format!("\"{mbps} Mbit/s\""))
        ],
        1..500u32,
        0..30u32,
        prop_oneof![Just(0.0), 0.0..0.3],
        prop_oneof![Just(0), 0..20u32],
    );
    line.prop_map(|(rate, queue, delay, loss, jitter)| {
        format!(
            "[wire]\nrate = {rate}\nqueue = {queue}\ndelay = \"{delay} ms\"\nloss = {loss}\njitter = \"{jitter} ms\"\n"
        )
    })
    .boxed()
}

fn channel() -> BoxedStrategy<String> {
    let distant = (
        1..60u32,
        0..8u32,
        one_of(&[
            "\"none\"",
            "\"rayleigh\"",
            "{ kind = \"rician\", speed = \"2 m/s\" }",
            "{ kind = \"rayleigh\", independence = \"per-ppdu\" }",
            "\"nakagami\"",
        ]),
    );
    prop_oneof![
        2 => Just("{ kind = \"ideal\" }".to_owned()),
        // From a dead link to a perfect one.
        2 => (-10..45i32).prop_map(|snr| format!("{{ kind = \"fixed\", snr = \"{snr} dB\" }}")),
        2 => distant.prop_map(|(distance, shadowing, fading)| format!(
            "{{ kind = \"log-distance\", distance = \"{distance} m\", shadowing = \"{shadowing} dB\", fading = {fading} }}"
        )),
        1 => Just(
            "{ kind = \"log-distance\", walk = { from = \"2 m\", to = \"80 m\", speed = \"100 m/s\", return = true } }"
                .to_owned()
        ),
        1 => Just("{ kind = \"trace\", file = \"shipped:crowded-room.log\" }".to_owned()),
        // So slow that packets are lost, with outages.
        1 => Just("{ kind = \"trace\", file = \"shipped:crowded-room.log\", scale = 0.01 }".to_owned()),
        1 => Just("{ kind = \"trace\", file = \"shipped:corridor.csv\" }".to_owned()),
    ]
    .boxed()
}

/// A radio that leaves the channel, or never does.
fn away() -> BoxedStrategy<String> {
    let line = (2..400u32, 1..100u32, 0..300u32, any::<bool>()).prop_map(|(period, share, phase, announced)| {
        let length = period * share * 9;
        format!(
            "away = {{ period = \"{period} ms\", length = \"{length} us\", phase = \"{phase} ms\", announced = {announced} }}\n"
        )
    });
    prop_oneof![3 => Just(String::new()), 1 => line].boxed()
}

/// A station that saves power, or does not; it needs beacons.
fn power_save() -> BoxedStrategy<String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => Just("power-save = { wake = \"u-apsd\" }\n".to_owned()),
        1 => (1..120u32, 1..4u8).prop_map(|(timeout, every)| format!(
            "power-save = {{ timeout = \"{timeout} ms\", listen-interval = {every} }}\n"
        )),
    ]
    .boxed()
}

/// Whether a trace replaces the radios.
fn is_pipe(channel: &str) -> bool {
    channel.contains("pipe")
}

/// All stations, some behind others; a pipe replaces the air of a single one.
fn stations() -> BoxedStrategy<(String, usize)> {
    let pipe = one_of(&[
        "{ kind = \"trace\", file = \"shipped:swinging-pipe.mahi\" }",
        "{ kind = \"trace\", file = \"shipped:crowded-room.log\", as = \"pipe\" }",
    ])
    .prop_map(|channel| vec![channel.to_owned()]);
    let list = prop_oneof![9 => prop::collection::vec(channel(), 1..=6), 1 => pipe];
    // A relay is one of the earlier stations, or none: any tree.
    let effects = prop::collection::vec((away(), power_save()), 6);
    (list, prop::collection::vec(any::<prop::sample::Index>(), 6), any::<bool>(), effects)
        .prop_map(|(channels, parents, has_relays, effects)| {
            let count = channels.len();
            let text = channels
                .into_iter()
                .enumerate()
                .map(|(index, channel)| {
                    let via = match parents[index].index(index + 1) {
                        relay if has_relays && relay < index => format!("via = \"s{relay}\"\n"),
                        _ => String::new(),
                    };
                    let effect = match &effects[index] {
                        _ if is_pipe(&channel) => "",
                        (away, power_save) if has_relays || power_save.is_empty() => away,
                        (_, power_save) => power_save,
                    };
                    format!("[[station]]\nname = \"s{index}\"\n{via}{effect}channel = {channel}\n")
                })
                .collect();
            (text, count)
        })
        .boxed()
}

fn traffic() -> BoxedStrategy<String> {
    prop_oneof![
        1 => (100..60_000u32, 12..=1472u32).prop_map(|(kbps, size)| format!(
            "kind = \"cbr\"\nrate = \"{kbps} kbit/s\"\nsize = \"{size} B\"\n"
        )),
        1 => (100..30_000u32, 12..=1472u32).prop_map(|(kbps, size)| format!(
            "kind = \"poisson\"\nrate = \"{kbps} kbit/s\"\nsize = \"{size} B\"\n"
        )),
        1 => Just("kind = \"voip\"\n".to_owned()),
        1 => Just("kind = \"tcp\"\n".to_owned()),
        1 => (1..30u32).prop_map(|mbps| format!("kind = \"tcp\"\nlimit = \"{mbps} Mbit/s\"\n")),
        1 => (1..6_000_000u32)
            .prop_map(|size| format!("kind = \"tcp-short\"\nsize = \"{size} B\"\ninterval = \"50 ms\"\n")),
        1 => (1..60u32, one_of(&["tcp", "udp"]), one_of(&["constant", "lognormal(0.4)"])).prop_map(
            |(mbps, transport, law)| format!(
                "kind = \"vr\"\nrate = \"{mbps} Mbit/s\"\ntransport = \"{transport}\"\nsize-law = \"{law}\"\n"
            )
        ),
        2 => real_time_video(),
    ]
    .boxed()
}

fn real_time_video() -> BoxedStrategy<String> {
    let line = (
        (10..40_000u32, 1..200u32, 100..=1452u32),
        one_of(&["none", "rows", "columns", "two-dimensional", "reed-solomon"]),
        (0.01..1.0f64, any::<bool>(), 10..400u32),
        maybe(
            one_of(&["congestion = \"fixed\"\n", "start-rate = \"30 kbit/s\"\n", "reaction = \"0 s\"\n"])
                .prop_map(str::to_owned),
        ),
        one_of(&["constant", "lognormal(1.5)"]),
    );
    line.prop_map(|((kbps, fps, size), fec, (overhead, nack, give_up), more, law)| {
        format!(
            "kind = \"rtc\"\nrate = \"{kbps} kbit/s\"\nmax-rate = \"70 Mbit/s\"\nfps = {fps}\nsize = \"{size} B\"\nfec = \"{fec}\"\n\
             fec-overhead = {overhead}\nnack = {nack}\ngive-up = \"{give_up} ms\"\nsize-law = \"{law}\"\n\
             key-frame-interval = \"{give_up} ms\"\nkey-frame-factor = {}\n{more}",
            1 + fps % 7
        )
    })
    .boxed()
}

fn flows(stations: usize) -> BoxedStrategy<String> {
    let flow = (
        0..stations,
        traffic(),
        one_of(&["down", "up"]),
        maybe(one_of(&["bk", "be", "vi", "vo"]).prop_map(|category| format!("category = \"{category}\"\n"))),
        maybe((0..100u32).prop_map(|ms| format!("start = \"{ms} ms\"\n"))),
        maybe((101..600u32).prop_map(|ms| format!("stop = \"{ms} ms\"\n"))),
        maybe((0..80u32, 0..10u32).prop_map(|(delay, jitter)| {
            format!("wire = {{ delay = \"{delay} ms\", jitter = \"{jitter} ms\" }}\n")
        })),
    );
    // An allocator has one flow to a station, and optionally one from it that does not last longer.
    let paced = maybe((0..100u32, 104..600u32, any::<bool>()).prop_map(|(start, stop, both)| {
        format!(
            "[[flow]]\nname = \"paced\"\nkind = \"paced\"\nstation = \"s0\"\nstart = \"{start} ms\"\nstop = \"{stop} ms\"\n{}",
            if both {
                let (start, stop) = (start + 1, stop - (stop - start) / 3);
                format!(
                    "[[flow]]\nname = \"up\"\nkind = \"paced\"\nstation = \"s0\"\ndirection = \"up\"\nstart = \"{start} ms\"\nstop = \"{stop} ms\"\n"
                )
            } else {
                String::new()
            }
        )
    }));
    (prop::collection::vec(flow, 1..=6), paced)
        .prop_map(|(flows, paced)| {
            let texts = flows.into_iter().enumerate();
            texts
                .map(|(index, (station, traffic, direction, a, b, c, d))| {
                    format!(
                        "[[flow]]\nname = \"f{index}\"\nstation = \"s{station}\"\ndirection = \"{direction}\"\n\
                         {traffic}{a}{b}{c}{d}"
                    )
                })
                .chain([paced])
                .collect()
        })
        .boxed()
}

fn disturbers() -> BoxedStrategy<String> {
    let neighbour = (
        1..4u32,
        one_of(&["\"saturated\"", "\"2 Mbit/s\""]),
        one_of(&["rate = \"OFDM 24 Mbit/s\"\n", "rate = \"HT20 MCS7 1SS LGI\"\nampdu-mpdus = 16\n"]),
        one_of(&["bk", "be", "vi", "vo"]),
    )
        .prop_map(|(count, load, rate, category)| {
            format!(
                "[[neighbour]]\nname = \"n\"\ntransmitters = {count}\nload = {load}\ncategory = \"{category}\"\n{rate}"
            )
        });
    let interference =
        (1..20u32, 1..60u32, one_of(&["effect = \"busy\"\n", "effect = \"noise\"\nlevel = \"12 dB\"\n"]))
            .prop_map(|(on, off, effect)| {
                format!(
                    "[[interference]]\nname = \"i\"\nmean-on = \"{on} ms\"\nmean-off = \"{off} ms\"\n{effect}"
                )
            });
    let rarely = |text: BoxedStrategy<String>| prop_oneof![3 => Just(String::new()), 1 => text];
    (rarely(neighbour.boxed()), rarely(interference.boxed())).prop_map(|(a, b)| a + &b).boxed()
}

/// Hearing among the transmitters.
#[derive(Debug, Clone)]
enum Hearing {
    All,
    Matrix(&'static str),
    /// The access point in the middle, all others around it, those far apart hidden from each other.
    Places,
}

fn hearing() -> BoxedStrategy<Hearing> {
    let rows = ["s0 = []", "access-point = []", "s0 = [], access-point = [\"s0\"]"];
    let matrix = prop::sample::select(rows.to_vec()).prop_map(Hearing::Matrix);
    prop_oneof![3 => Just(Hearing::All), 1 => matrix, 1 => Just(Hearing::Places)].boxed()
}

/// `[hearing]` and `[radio]`; `transmitters` are the texts of stations and neighbours.
fn around(hearing: &Hearing, transmitters: &str, radio: &str) -> String {
    match hearing {
        Hearing::All => radio.to_owned(),
        Hearing::Matrix(rows) => format!("[hearing]\nmatrix = {{ {rows} }}\n{radio}"),
        Hearing::Places => {
            let names =
                transmitters.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
            let places = names.enumerate().map(|(index, name)| {
                format!("{name} = [\"{} m\", \"{} m\"]", 1 + (index * 27) % 29, 1 + (index * 5) % 9)
            });
            let places: Vec<String> = places.collect();
            // Levels follow from the places.
            let radio: String = radio
                .lines()
                .filter(|line| !line.starts_with("levels"))
                .fold(String::new(), |text, line| text + line + "\n");
            format!(
                "[hearing]\nsize = [\"30 m\", \"10 m\"]\nthreshold = \"-70 dBm\"\n\
                 walls = [{{ from = [\"14 m\", \"0 m\"], to = [\"14 m\", \"2 m\"], loss = \"3 dB\" }}]\n\
                 places = {{ access-point = [\"15 m\", \"5 m\"], {} }}\n{radio}",
                places.join(", ")
            )
        }
    }
}

/// Frames on the air by themselves, with losses and capture.
fn radio() -> BoxedStrategy<String> {
    let losses = one_of(&["", "answer-loss = 0.3\n", "answer-loss = \"signal\"\n", "answer-loss = 1\n"]);
    let protection = one_of(&["", "protection-loss = 0.2\n", "protection-loss = \"signal\"\n"]);
    let missed = one_of(&["", "missed-block-ack = \"request\"\n"]);
    let capture = one_of(&[
        "",
        "[radio.capture]\nlevels = {}\n",
        "[radio.capture]\ntakeover = \"5 dB\"\nlevels = { access-point = { s0 = \"-62 dBm\" }, s0 = {} }\n",
    ]);
    let table =
        (losses, protection, missed, capture).prop_map(|(a, b, c, d)| format!("[radio]\n{a}{b}{c}{d}"));
    prop_oneof![2 => Just(String::new()), 1 => table].boxed()
}

/// Any scenario.
fn scenarios() -> impl Strategy<Value = String> {
    let air = air().prop_flat_map(|(text, standard)| (Just(text), deciders(standard)));
    let people = stations().prop_flat_map(|(text, count)| (Just(text), flows(count)));
    let networks = one_of(&["", "", "count = 2\n", "count = 3\nchannels = 2\n"]);
    let beside = (disturbers(), hearing(), radio(), away(), networks);
    (any::<u32>(), 300..800u32, one_of(&["0", "50"]), air, wire(), people, beside).prop_map(
        |(
            seed,
            duration,
            warm_up,
            (mut air, mut deciders),
            wire,
            (stations, flows),
            (disturbers, hearing, radio, away, networks),
        )| {
            if air.contains("\"ht\"") && deciders.contains("openwifi") {
                air += "width = \"20 MHz\"\n";
            }
            // A pipe has no carrier sense, and no networks.
            let neighbours = disturbers.split("[[interference]]").next().unwrap_or_default();
            let transmitters = format!("{stations}{neighbours}");
            let has_places = matches!(hearing, Hearing::Places);
            // Both ends of a link hear each other, which relays in places need not.
            let hearing = if has_places && stations.contains("via") { Hearing::All } else { hearing };
            let hearing = if stations.contains("pipe") {
                String::new()
            } else {
                around(&hearing, &transmitters, &radio)
            };
            // Nor have neighbours, and paced flows are for one network.
            let are_several = !networks.is_empty()
                && !has_places
                && !["pipe", "neighbour", "paced"]
                    .into_iter()
                    .any(|word| stations.contains(word) || disturbers.contains(word) || flows.contains(word));
            let networks =
                if are_several { format!("[[network]]\nname = \"net\"\n{networks}") } else { String::new() };
            let saves = |line: &&str| !line.starts_with("power-save") || !air.contains("beacons = false");
            let stations: String = stations.lines().filter(saves).map(|line| format!("{line}\n")).collect();
            if !is_pipe(&stations) {
                deciders = deciders.replacen("[access-point]\n", &format!("[access-point]\n{away}"), 1);
            }
            format!(
                "seed = {seed}\nduration = \"{duration} ms\"\nwarm-up = \"{warm_up} ms\"\n\
                 {air}{deciders}{wire}{networks}{stations}{flows}{disturbers}{hearing}"
            )
        },
    )
}

/// The times of a packet are in order, as far as they were reached, hop after hop.
fn check_order(row: &PacketRow, hops: &[HopRow]) {
    let mut before = row.sent;
    let mut relay = None;
    for hop in hops {
        let HopRow { enqueued, contending, first_tx, last_tx, received, delivered, completed, .. } = *hop;
        let times = [before, enqueued, contending, first_tx, last_tx, received, delivered];
        assert!(times.is_sorted() && delivered < Instant::MAX && received <= completed, "{hop:?}");
        assert!(relay.is_none_or(|relay| relay == hop.transmitter) && hop.tries >= 1, "{hop:?}");
        before = delivered;
        relay = Some(hop.receiver);
    }
    assert!(before <= row.enqueued, "{row:?}");
    let times = [
        row.sent,
        row.enqueued,
        row.contending,
        row.first_tx,
        row.last_tx,
        row.received,
        row.delivered,
        row.arrived,
    ];
    let reached = times.iter().filter(|at| **at < Instant::MAX);
    assert!(reached.is_sorted(), "{row:?}");
    if row.fate == Fate::Delivered {
        assert!(times.iter().all(|at| *at < Instant::MAX), "{row:?}");
        let split = Split::over(hops, row).unwrap();
        assert_eq!(split.latency(), row.arrived - row.sent, "{row:?}");
        assert!(row.tries >= 1 && row.txop >= 1, "{row:?}");
    }
}

fn check(text: &str) {
    let scenario: Scenario = simulate::scenario(text);
    let (mut run, rows) = simulate::prepare(&scenario);
    // In steps, as with a progress bar.
    while run.advance(Span::from_millis(37)) {}
    let (outcome, _) = run.finish().unwrap_or_else(|imbalance| panic!("{imbalance}\n{text}"));
    let summary = &outcome.summary;
    for flow in &summary.flows {
        assert!(flow.packets.conserved(), "{flow:?}\n{text}");
        assert_eq!(flow.drops.values().sum::<u64>(), flow.packets.dropped, "{flow:?}");
        assert!(flow.packets.queued <= flow.packets.sent, "{flow:?}");
        assert!((0.0..1e5).contains(&flow.goodput_mbps), "{flow:?}");
    }
    let share: f64 = summary.stations.iter().map(|station| station.airtime_share).sum();
    // Those that do not hear each other send at the same time; so do those of a collision that capture resolves.
    let channels = scenario.channels();
    let most = channels.len() as f64;
    let by_frames = channels.into_iter().any(|channel| scenario.has_frames(channel));
    assert!(share <= most || by_frames, "{share}\n{text}");
    assert!((0.0..=1.0).contains(&summary.air.busy_share), "{:?}\n{text}", summary.air);
    // A packet of 12 bytes may cost an event; none costs a thousand.
    assert!(outcome.events < 3_000_000, "{} events\n{text}", outcome.events);
    let rows = rows.borrow();
    let hops = rows.hops_by_packet();
    for row in &rows.packets {
        check_order(row, hops.get(&row.packet).map_or(&[], Vec::as_slice));
    }
    // In a pipe a packet may take no time: two share an opportunity.
    for txop in &rows.txops {
        assert!(txop.contending <= txop.start && txop.start <= txop.end, "{txop:?}");
        assert!(txop.acked <= txop.mpdus && txop.mpdus >= 1, "{txop:?}");
        assert!(!txop.collided || txop.acked == 0, "{txop:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_scenarios_lose_no_packet(text in scenarios()) {
        check(&text);
    }
}
