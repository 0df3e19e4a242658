//! Help that names the parts of a scheme.

use airbound_scenario::catalogue;

/// Help after the options of `airbound run`, with the names of all parts of a scheme.
pub(super) fn run() -> String {
    let names = |chapter: &str| {
        let found = catalogue().into_iter().find(|known| known.name == chapter);
        let words = found.map(|chapter| chapter.words).unwrap_or_default();
        words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    let slots = format!(
        "a queue ({}), a rate control ({}), a sender ({}), for a session a policy ({})",
        names("queues"),
        names("rate controls"),
        names("senders"),
        names("session policies")
    );
    RUN_HELP.replace("SLOTS", &slots)
}

const RUN_HELP: &str = "\
Examples:
  airbound run hello
  airbound run vr-congested --scheme pie --set duration=\"10 s\"
  airbound run vr-congested --scheme fifo+minstrel-ht+bbr --seed 7
  airbound run trace-vr --trace ../shared/traces/restaurant-wifi/trace1.log
  airbound run hello --pcap air.pcap             then: wireshark air.pcap

A scheme names what fills its slots: SLOTS, joined by +; law is queue and rate control in one. Other slots keep the scenario's choice.

A run of two minutes and more whose packet log is estimated at more than 0.1 GB says so. Above 1 GB it is refused until --log-packets or \
--no-packet-log decides. The estimate comes from two seconds of the run and is right within a factor of three.

The folder holds scenario.toml (resolved), summary.json, performance.json, report.html and the tables in \
Parquet (docs/reference/file-formats.md). An earlier run in it is replaced; a folder that holds anything else is left alone. With several \
seeds it is the folder of a comparison.";
