//! Configuration of the machine: the settings of `/init` (`lab/guest/init.sh`), and hostapd's configuration.

use airbound_scenario::{Scenario, Traffic, Transport};
use airbound_units::Span;
use airbound_wifi::{Format, GuardInterval, Width};

use super::arch::Arch;
use crate::plan::{self, SERVER};

/// Purpose of the machine once the network is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Play the scenario and transfer its record.
    Play,
    /// Play the scenario beside commands, until these have ended, and transfer its record and their files.
    Commands,
    /// Open an interactive shell.
    Shell,
    /// Run a command and show its output.
    Command,
}

impl Purpose {
    const fn word(self) -> &'static str {
        match self {
            Self::Play => "play",
            Self::Commands => "commands",
            Self::Shell => "shell",
            Self::Command => "command",
        }
    }
}

/// Setup of the access point: bridge or router, and its agent.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// Whether Wi-Fi and wired interface are ports of a bridge instead of two routed networks.
    pub bridged: bool,
    /// Arguments of `airbound agent run --iface wlan0`, in shell syntax; `None`: no agent.
    pub agent: Option<String>,
    /// The agent's configuration file.
    pub agent_config: Option<String>,
}

/// Beacon interval, in time units, for scenarios without beacons: long, but stations require a beacon to associate.
const RARE_BEACONS: u64 = 1000;

/// hostapd's configuration: an open network with WMM, on channel 36 (with 40, or to 48).
pub(crate) fn hostapd(scenario: &Scenario) -> String {
    let mut capabilities = String::new();
    let air = &scenario.air;
    let (wide, short) = (air.width > Width::Mhz20, air.guard_interval == GuardInterval::Ns400);
    if wide {
        capabilities += "[HT40+]";
    }
    if short {
        capabilities += "[SHORT-GI-20]";
        if wide {
            capabilities += "[SHORT-GI-40]";
        }
    }
    let mut vht = String::new();
    if air.standard == Format::Vht {
        // 80 MHz around channel 42; narrower widths use HT's settings.
        let (width, center) = if air.width == Width::Mhz80 { (1, 42) } else { (0, 0) };
        vht = format!(
            "ieee80211ac=1\nvht_oper_chwidth={width}\nvht_oper_centr_freq_seg0_idx={center}\n\
             vht_capab=[MAX-A-MPDU-LEN-EXP7]{}\n",
            if short { "[SHORT-GI-80]" } else { "" }
        );
    }
    let interval =
        scenario.air.beacons.map_or(RARE_BEACONS, |every| (every.as_micros() / 1024).clamp(15, 65_535));
    format!(
        "interface=wlan0\ndriver=nl80211\nssid=airbound\nhw_mode=a\nchannel=36\nieee80211n=1\nwmm_enabled=1\n\
         beacon_int={interval}\n{}{vht}",
        if capabilities.is_empty() { String::new() } else { format!("ht_capab={capabilities}\n") }
    )
}

/// The machine's settings in the format of `lab/guest/init.sh`.
pub(crate) fn settings(scenario: &Scenario, purpose: Purpose, network: &Network, arch: Arch) -> String {
    let flag = |on: bool| if on { "1" } else { "" }.to_owned();
    let settings = [
        ("purpose", purpose.word().to_owned()),
        ("stations", scenario.stations.len().to_string()),
        ("sleepers", sleepers(scenario)),
        ("driver", plan::driver_parameters(scenario)),
        ("server", SERVER.to_string()),
        ("delay_us", (scenario.wire.way.delay.as_nanos() / 1000).to_string()),
        ("frames_over_tcp", flag(uses_frames_over_tcp(scenario))),
        ("limit_s", ((scenario.end() + Span::from_secs(30)).as_millis() / 1000).to_string()),
        ("bridged", flag(network.bridged)),
        ("record", arch.record_device().to_owned()),
        ("agent_args", network.agent.clone().unwrap_or_default()),
    ];
    settings.iter().map(|(name, value)| format!("{name}={}\n", quoted(value))).collect()
}

/// Numbers of the stations that save power, from 1 on.
fn sleepers(scenario: &Scenario) -> String {
    let stations = scenario.stations.iter().zip(1..);
    let numbers = stations.filter(|(station, _)| station.power_save.is_some());
    numbers.map(|(_, number)| number.to_string()).collect::<Vec<_>>().join(" ")
}

/// Path of the agent's configuration file.
pub(crate) const AGENT_CONFIG: &str = "/lab/agent.toml";

/// The script that starts the agent.
pub(crate) fn agent(arguments: &str, has_config: bool) -> String {
    let config = if has_config { format!("--config {AGENT_CONFIG} ") } else { String::new() };
    format!(
        "exec airbound agent run --iface wlan0 --journal /out/agent-journal.jsonl --record /run/agent {config}{arguments}\n"
    )
}

/// A word in shell syntax.
pub(super) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn uses_frames_over_tcp(scenario: &Scenario) -> bool {
    let frames =
        |traffic: &Traffic| matches!(traffic, Traffic::Vr(stream) if stream.transport == Transport::Tcp);
    scenario.flows.iter().any(|flow| frames(&flow.traffic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(standard: &str, width: &str, guard: &str) -> Scenario {
        let text = format!(
            "duration = \"1 s\"\n[air]\nstandard = \"{standard}\"\nwidth = \"{width} MHz\"\nguard-interval = \"{guard} ns\"\n\
             [[station]]\nname = \"a\"\n[[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"a\"\n"
        );
        Scenario::parse(&text, "test", &airbound_scenario::Overrides::none()).unwrap()
    }

    #[test]
    fn access_point_and_radios_have_the_scenarios_standard() {
        for (standard, width, guard, words, parameters) in [
            ("ht", "20", "800", "beacon_int=100\n", "vht=0 wide=0 short_gi=0"),
            (
                "ht",
                "40",
                "400",
                "beacon_int=100\nht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]\n",
                "vht=0 wide=1 short_gi=1",
            ),
            (
                "vht",
                "20",
                "800",
                "beacon_int=100\nieee80211ac=1\nvht_oper_chwidth=0\nvht_oper_centr_freq_seg0_idx=0\n\
                 vht_capab=[MAX-A-MPDU-LEN-EXP7]\n",
                "vht=1 wide=0 short_gi=0",
            ),
            (
                "vht",
                "80",
                "400",
                "beacon_int=100\nht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]\nieee80211ac=1\nvht_oper_chwidth=1\n\
                 vht_oper_centr_freq_seg0_idx=42\nvht_capab=[MAX-A-MPDU-LEN-EXP7][SHORT-GI-80]\n",
                "vht=1 wide=1 short_gi=1",
            ),
        ] {
            let scenario = scenario(standard, width, guard);
            assert!(hostapd(&scenario).ends_with(words), "{}", hostapd(&scenario));
            let settings = settings(&scenario, Purpose::Play, &Network::default(), Arch::X86_64);
            assert!(settings.contains(parameters), "{settings}");
        }
    }

    #[test]
    fn values_are_quoted_for_the_shell() {
        for value in ["", "a b", "it's", "--protect 'udp dport 5000' --p95 20ms", "$(reboot) `x` \\"] {
            let script = format!("printf %s {}", quoted(value));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), value);
        }
    }
}
