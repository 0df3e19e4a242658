//! Scenarios that the simulator and the laboratory play both.

use crate::Effort;

/// One comparison.
pub(super) struct Case {
    pub(super) id: &'static str,
    /// Names of the flows whose goodput (`total`: of all together), and of the flows or groups whose latency, is compared.
    pub(super) goodput: &'static [&'static str],
    pub(super) latency: &'static [&'static str],
    /// Whether the shares of airtime are compared.
    pub(super) airtime: bool,
    pub(super) vht: bool,
    /// Seconds after the warm-up, in whole and under `--quick`.
    pub(super) seconds: (u32, u32),
    pub(super) stations: &'static str,
    pub(super) flows: &'static str,
}

/// Defaults of a case.
pub(super) const PLAIN: Case = Case {
    id: "",
    goodput: &[],
    latency: &[],
    airtime: false,
    vht: false,
    seconds: (10, 4),
    stations: "",
    flows: "",
};

/// For radios without VHT mac80211 bounds its queues at 4 MiB (`ieee80211_txq_setup_flows`), at 16 MiB with it. The simulator counts
/// 2304 B for a packet of 1500 B; in the laboratory the kernel held 966 of them (case `codel-drops`: 569 ms at 20 Mb/s), 4342 B each:
/// packets that come over a veth lack the headroom that mac80211 wants, and are copied into buffers of the next size (4352 B). The bound
/// is scaled by 2304 / 4352, so that both hold the same number of packets. Nothing is scaled at stations, where packets begin: their
/// buffers have the headroom (case `uplink-udp`). A sender of Linux that waits for its buffer pushes the last segment of a packet of
/// 64 KiB, the receiver's application reads at once. After a PPDU of 28 frames the laboratory's kernel needs 183 us and more before it
/// hands down the next packet (`sparse-station`), 6.6 us a frame.
fn base(vht: bool) -> String {
    let (standard, memory) = if vht { ("vht", 16_u64 << 20) } else { ("ht", 4 << 20) };
    let memory = memory * 2304 / 4352;
    format!(
        r#"
[air]
standard = "{standard}"
width = "20 MHz"
guard-interval = "800 ns"
[access-point]
preset = "mac80211"
streams = 1
path = {{ completion = "6.6 us" }}
[uplink]
queue = "linux"
preset = "mac80211"
[scheme]
queue = {{ kind = "linux", memory = "{memory} B" }}
rate = "minstrel-ht"
sender = {{ kind = "cubic", delayed-ack = {{ pushed = 45 }} }}
"#
    )
}

/// A station whose rate is fixed, over a channel without errors.
macro_rules! fixed {
    ($name:literal, $mcs:literal) => {
        fixed!($name, "HT20", $mcs)
    };
    ($name:literal, $format:literal, $mcs:literal) => {
        concat!("[[station]]\nname = \"", $name, "\"\nrate = \"", $format, " MCS", $mcs, " 1SS LGI\"\n")
    };
}

/// A station at a signal-to-noise ratio; Minstrel-HT chooses its rates.
macro_rules! at_snr {
    ($name:literal, $snr:literal) => {
        concat!(
            "[[station]]\nname = \"",
            $name,
            "\"\nchannel = { kind = \"fixed\", snr = \"",
            $snr,
            " dB\" }\n"
        )
    };
}

macro_rules! flow {
    ($name:literal, $station:literal, $what:literal) => {
        concat!("[[flow]]\nname = \"", $name, "\"\nstation = \"", $station, "\"\n", $what, "\n")
    };
}

/// A light stream, whose latency is that of a packet that comes now and then.
macro_rules! probe {
    ($station:literal) => {
        flow!("probe", $station, "kind = \"cbr\"\nrate = \"100 kbit/s\"\nsize = \"100 B\"")
    };
}

const SATURATING: &str = flow!("udp", "a", "kind = \"cbr\"\nrate = \"60 Mbit/s\"\nsize = \"1472 B\"");

/// Stations that download, or upload, with all that they can get, and a light stream to the first of them.
macro_rules! busy {
    ($id:literal, $count:literal, $bulk:literal, $goodput:expr, $latency:expr, $more:expr) => {
        Case {
            id: $id,
            goodput: $goodput,
            latency: $latency,
            stations: concat!(
                "[[station]]\nname = \"a\"\ncount = ",
                $count,
                "\nrate = \"HT20 MCS7 1SS LGI\"\n"
            ),
            flows: concat!(flow!("bulk", "a", $bulk), $more),
            ..PLAIN
        }
    };
}

macro_rules! downloads {
    ($id:literal, $count:literal) => {
        busy!($id, $count, "kind = \"tcp\"", &["total", "probe"], &["probe"], probe!("a-1"))
    };
}

/// The light streams go down to the first station, and up from it.
macro_rules! uploads {
    ($id:literal, $count:literal, $first:literal) => {
        busy!(
            $id,
            $count,
            "kind = \"tcp\"\ndirection = \"up\"\ncongestion = { kind = \"cubic\", small-queue = \"7.8125 ms\", delayed-ack = { pushed = 45 } }",
            &["total", "probe", "probe-up"],
            &["probe", "probe-up"],
            concat!(
                probe!($first),
                flow!(
                    "probe-up",
                    $first,
                    "kind = \"cbr\"\nrate = \"100 kbit/s\"\nsize = \"100 B\"\ndirection = \"up\""
                )
            )
        )
    };
}

pub(super) const CASES: [Case; 27] = [
    Case {
        id: "idle",
        goodput: &["probe"],
        latency: &["probe"],
        stations: fixed!("a", "7"),
        flows: probe!("a"),
        ..PLAIN
    },
    Case {
        id: "udp-saturated",
        goodput: &["udp"],
        latency: &["udp"],
        stations: fixed!("a", "7"),
        flows: SATURATING,
        ..PLAIN
    },
    Case {
        id: "cubic-1",
        goodput: &["bulk"],
        latency: &["bulk", "probe"],
        stations: fixed!("a", "7"),
        flows: concat!(flow!("bulk", "a", "kind = \"tcp\""), probe!("a")),
        ..PLAIN
    },
    Case {
        id: "cubic-4",
        goodput: &["total"],
        latency: &["bulk"],
        airtime: true,
        stations: "[[station]]\nname = \"a\"\ncount = 4\nrate = \"HT20 MCS7 1SS LGI\"\n",
        flows: flow!("bulk", "a", "kind = \"tcp\""),
        ..PLAIN
    },
    Case {
        id: "fast-and-slow",
        goodput: &["fast", "slow"],
        latency: &["fast", "slow"],
        airtime: true,
        stations: concat!(fixed!("quick", "7"), fixed!("lame", "0")),
        flows: concat!(
            flow!("fast", "quick", "kind = \"cbr\"\nrate = \"40 Mbit/s\"\nsize = \"1472 B\""),
            flow!("slow", "lame", "kind = \"cbr\"\nrate = \"10 Mbit/s\"\nsize = \"1472 B\"")
        ),
        ..PLAIN
    },
    Case {
        id: "voip-beside-bulk",
        goodput: &["bulk", "call"],
        latency: &["call"],
        stations: fixed!("a", "7"),
        flows: concat!(flow!("bulk", "a", "kind = \"tcp\""), flow!("call", "a", "kind = \"voip\"")),
        ..PLAIN
    },
    Case {
        id: "codel-drops",
        goodput: &["udp", "probe"],
        latency: &["udp", "probe"],
        stations: fixed!("a", "1"),
        flows: concat!(
            flow!("udp", "a", "kind = \"cbr\"\nrate = \"20 Mbit/s\"\nsize = \"1472 B\""),
            probe!("a")
        ),
        ..PLAIN
    },
    Case { id: "minstrel-8dB", goodput: &["udp"], stations: at_snr!("a", "8"), flows: SATURATING, ..PLAIN },
    Case { id: "minstrel-15dB", goodput: &["udp"], stations: at_snr!("a", "15"), flows: SATURATING, ..PLAIN },
    Case { id: "minstrel-25dB", goodput: &["udp"], stations: at_snr!("a", "25"), flows: SATURATING, ..PLAIN },
    Case {
        id: "vr-and-3-bulk",
        goodput: &["vr", "total"],
        latency: &["vr"],
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!("vr", "a", "kind = \"vr\"\ntransport = \"udp\"\nrate = \"8 Mbit/s\"\nfps = 30"),
            flow!("bulk", "a", "count = 3\nkind = \"tcp\"")
        ),
        ..PLAIN
    },
    Case {
        id: "vht-cubic-1",
        goodput: &["bulk"],
        latency: &["bulk", "probe"],
        vht: true,
        stations: fixed!("a", "VHT20", "7"),
        flows: concat!(flow!("bulk", "a", "kind = \"tcp\""), probe!("a")),
        ..PLAIN
    },
    Case {
        id: "vht-minstrel-15dB",
        goodput: &["udp"],
        latency: &["udp"],
        vht: true,
        stations: at_snr!("a", "15"),
        flows: SATURATING,
        ..PLAIN
    },
    Case {
        id: "uplink-udp",
        goodput: &["udp", "call"],
        latency: &["udp", "call"],
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!("udp", "a", "kind = \"cbr\"\nrate = \"90 Mbit/s\"\nsize = \"1472 B\"\ndirection = \"up\""),
            flow!("call", "a", "kind = \"voip\"\ndirection = \"up\"")
        ),
        ..PLAIN
    },
    Case {
        id: "uplink-cubic",
        goodput: &["bulk", "call"],
        latency: &["call", "bulk"],
        // A station's sender is Linux's: mac80211 sets `sk_pacing_shift` to 7, which is 2^-7 s of sending.
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!(
                "bulk",
                "a",
                "kind = \"tcp\"\ndirection = \"up\"\ncongestion = { kind = \"cubic\", small-queue = \"7.8125 ms\", delayed-ack = { pushed = 45 } }"
            ),
            flow!("call", "a", "kind = \"voip\"\ndirection = \"up\"")
        ),
        ..PLAIN
    },
    Case {
        id: "sparse-station",
        goodput: &["total", "probe"],
        latency: &["probe"],
        // The probe's station has nothing else to receive.
        stations: concat!(
            "[[station]]\nname = \"a\"\ncount = 2\nrate = \"HT20 MCS7 1SS LGI\"\n",
            fixed!("quiet", "7")
        ),
        flows: concat!(flow!("bulk", "a", "kind = \"tcp\""), probe!("quiet")),
        ..PLAIN
    },
    downloads!("downloads-2", "2"),
    downloads!("downloads-3", "3"),
    downloads!("downloads-5", "5"),
    downloads!("downloads-10", "10"),
    uploads!("uploads-1", "1", "a"),
    uploads!("uploads-2", "2", "a-1"),
    uploads!("uploads-3", "3", "a-1"),
    uploads!("uploads-5", "5", "a-1"),
    uploads!("uploads-10", "10", "a-1"),
    Case {
        id: "loaded-voice",
        goodput: &["bulk", "voice", "call"],
        latency: &["voice", "call"],
        // 10 Mb/s of voice, whose frames go alone: 40 % of the air.
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!("bulk", "a", "kind = \"tcp\""),
            flow!(
                "voice",
                "a",
                "kind = \"poisson\"\nrate = \"10 Mbit/s\"\nsize = \"1200 B\"\ncategory = \"vo\""
            ),
            flow!("call", "a", "kind = \"voip\"\ncategory = \"vo\"")
        ),
        ..PLAIN
    },
    Case {
        id: "power-save",
        goodput: &["message", "call"],
        latency: &["message", "call"],
        seconds: (60, 20),
        // A message each 0.65 s finds its station asleep and waits for a beacon; a call keeps its station awake.
        stations: concat!(
            fixed!("phone", "7"),
            "power-save = { timeout = \"500 ms\" }\n",
            fixed!("talker", "7"),
            "power-save = { timeout = \"500 ms\" }\n"
        ),
        flows: concat!(
            flow!("message", "phone", "kind = \"cbr\"\nrate = \"1231 bit/s\"\nsize = \"100 B\""),
            flow!("call", "talker", "kind = \"voip\"")
        ),
        ..PLAIN
    },
];

impl Case {
    /// The scenario.
    pub(super) fn text(&self, effort: Effort) -> String {
        let seconds = effort.seconds(self.seconds.0, self.seconds.1);
        format!(
            "duration = \"{seconds} s\"\nwarm-up = \"3 s\"\n{}{}{}",
            base(self.vht),
            self.stations,
            self.flows
        )
    }
}
