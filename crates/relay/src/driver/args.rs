//! Arguments, and the configuration file with the same names.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use airbound_linux::privileges;
use airbound_units::{BitRate, Span};
use clap::{Args, Parser, Subcommand};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::RelayError;
use crate::protocol::SMALLEST_DATAGRAM;

/// Carries UDP between an edge and Wi-Fi stations, paced so that no queue builds up at the access point.
#[derive(Debug, Parser)]
#[command(
    name = "airbound relay",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  airbound relay key --name headset > keys
  airbound relay edge --listen 0.0.0.0:7000 --to 127.0.0.1:9944 --keys keys
  airbound relay client --edge 192.0.2.1:7000 --listen 127.0.0.1:9944 --keys keys --interface wlan0

The options of edge and client are also keys, of the same names, of the file of --config. Unknown keys are refused. docs/use/relay.md has \
the recipes, docs/reference/relay-keys.md the packets.

Exit codes: 0 ended by a signal, or --dry-run found nothing; 1 the system refused something; 2 an option, a file, a key or an address \
cannot be used."
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Runs the edge: on the wire in front of the access point, or on it.
    Edge(EdgeOptions),
    /// Runs the client: on the station, in front of an application.
    Client(ClientOptions),
    /// Prints the aggregation level of what arrives, by a monitor interface and by the kernel's stamps.
    Sense(SenseOptions),
    /// Prints a line with a new key for a key file.
    Key(MakeKey),
    /// Prints a script that completes commands in a shell.
    Completions(Completions),
    /// Prints the manual page, or writes one for each command.
    Man(Man),
}

/// Options of both ends.
#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct EdgeOptions {
    /// Address for the clients, as 0.0.0.0:7000; required
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<SocketAddr>,
    /// Address of the backend: the application's server or a WireGuard endpoint; required
    #[arg(long, value_name = "ADDRESS")]
    pub(super) to: Option<SocketAddr>,
    /// File with the clients' keys, readable by its owner only (see `airbound relay key`); required
    #[arg(long, value_name = "FILE")]
    pub(super) keys: Option<PathBuf>,
    /// Rate of a client before its first report [default: 5 Mbit/s]
    #[arg(long, value_name = "RATE")]
    pub(super) start: Option<BitRate>,
    /// Lowest rate of a client, that of a silent one, 20 kbit/s to 1 Gbit/s [default: 200 kbit/s]
    #[arg(long, value_name = "RATE")]
    pub(super) least: Option<BitRate>,
    /// Highest rate of a client, up to 100 Gbit/s [default: 1 Gbit/s]
    #[arg(long, value_name = "RATE")]
    pub(super) most: Option<BitRate>,
    /// Aggregation level to hold, in packets, 1 to 256 [default: 32]
    #[arg(long, value_name = "PACKETS")]
    pub(super) target: Option<f64>,
    /// Largest datagram that is tried, in bytes, 1200 to 65507 [default: 1472]
    #[arg(long, value_name = "BYTES")]
    pub(super) largest: Option<u32>,
    /// Interface of the clients whose fq sends each packet at its time; the edge then wakes less often
    #[arg(long, value_name = "INTERFACE")]
    pub(super) txtime: Option<String>,
    /// Address of the metrics, or "off" [default: 127.0.0.1:9479]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) metrics: Option<String>,
    /// File of the journal, a line of JSON for each event [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(super) journal: Option<PathBuf>,
    /// File with these options as keys; an option given here counts more
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(super) config: Option<PathBuf>,
    /// Checks everything and says what would run
    #[arg(long)]
    #[serde(skip)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct ClientOptions {
    /// Address of the edge; required
    #[arg(long, value_name = "ADDRESS")]
    pub(super) edge: Option<SocketAddr>,
    /// Address for the application, as 127.0.0.1:5000; required
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<SocketAddr>,
    /// File with this client's key, readable by its owner only; of several lines the last counts; required
    #[arg(long, value_name = "FILE")]
    pub(super) keys: Option<PathBuf>,
    /// Wi-Fi interface whose receive rate is reported
    #[arg(long, value_name = "NAME", conflicts_with = "phy_rate")]
    pub(super) interface: Option<String>,
    /// PHY rate to report where no interface tells it
    #[arg(long, value_name = "RATE")]
    pub(super) phy_rate: Option<BitRate>,
    /// Largest datagram that is tried, in bytes, 1200 to 65507 [default: 1472]
    #[arg(long, value_name = "BYTES")]
    pub(super) largest: Option<u32>,
    /// Address of the metrics [default: off]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) metrics: Option<String>,
    /// File of the journal, a line of JSON for each event [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(super) journal: Option<PathBuf>,
    /// File with these options as keys; an option given here counts more
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(super) config: Option<PathBuf>,
    /// Checks everything and says what would run
    #[arg(long)]
    #[serde(skip)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  airbound relay key --name headset > keys
  airbound relay key --name headset --epoch 1 >> keys

A file of keys has lines NAME EPOCH KEY: a name of 1 to 64 letters, digits, `-`, `_`, `.`; an epoch; 32 hexadecimal digits. `#` begins a \
comment. Its mode is 0600 or 0400, and neither it nor its folder may be written by others.")]
pub(super) struct MakeKey {
    /// Name of the client
    #[arg(long, default_value = "client")]
    pub(super) name: String,
    /// Epoch of the key, 0 to 15: one more than that of the key it replaces
    #[arg(long, default_value_t = 0)]
    pub(super) epoch: u8,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  iw dev wlan0 interface add mon0 type monitor && ip link set mon0 up
  airbound relay sense --interface wlan0 --monitor mon0 --for '10 s'

Prints a line of JSON for each report of a sensor: `source` is monitor or kernel; `level` the mean packets of a frame, lost ones included; \
`retransmitted` what came out of order, which the kernel's stamps do not show. The monitor interface is one of the card of --interface. \
Needs the capability NET_RAW.")]
pub(super) struct SenseOptions {
    /// Wi-Fi interface that receives
    #[arg(long, value_name = "NAME")]
    pub(super) interface: String,
    /// Monitor interface of the same card
    #[arg(long, value_name = "NAME")]
    pub(super) monitor: String,
    /// Traffic identifier of the frames to sense, 0 to 7
    #[arg(long, value_name = "TID", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=7))]
    pub(super) tid: u8,
    /// Time to sense [default: until a signal]
    #[arg(long = "for", value_name = "TIME")]
    pub(super) time: Option<Span>,
}

#[derive(Debug, Clone, Args)]
pub(super) struct Completions {
    /// The shell
    pub(super) shell: clap_complete::Shell,
}

#[derive(Debug, Clone, Args)]
pub(super) struct Man {
    /// Folder of the pages, made where it is missing
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
}

macro_rules! merge {
    ($given:ident, $file:ident, $($field:ident)+) => { $($given.$field = $given.$field.or($file.$field);)+ };
}

impl EdgeOptions {
    /// These options, and those of the configuration file where none is given.
    pub(super) fn with_file(mut self) -> Result<Self, RelayError> {
        if let Some(path) = self.config.clone() {
            let file: Self = read(&path)?;
            merge!(self, file, listen to keys start least most target largest txtime metrics journal);
        }
        Ok(self)
    }
}

impl ClientOptions {
    /// These options, and those of the configuration file where none is given.
    pub(super) fn with_file(mut self) -> Result<Self, RelayError> {
        if let Some(path) = self.config.clone() {
            let file: Self = read(&path)?;
            merge!(self, file, edge listen keys interface phy_rate largest metrics journal);
        }
        Ok(self)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, RelayError> {
    let text = privileges::read_trusted(path)?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let problem = error.message().trim().replace('\n', "; ");
        RelayError::Input(format!("{} line {line}: {problem}", path.display()))
    })
}

/// An option that has to be there.
pub(super) fn required<T>(option: Option<T>, name: &str) -> Result<T, RelayError> {
    option.ok_or_else(|| {
        RelayError::Input(format!("--{name} is missing, and no configuration file has {name}"))
    })
}

/// The largest datagram, checked.
pub(super) fn largest(given: Option<u32>, usual: u16) -> Result<u16, RelayError> {
    let Some(bytes) = given else { return Ok(usual) };
    u16::try_from(bytes).ok().filter(|bytes| (SMALLEST_DATAGRAM..=65_507).contains(bytes)).ok_or_else(|| {
        RelayError::Input(format!("largest is {bytes}; allowed are {SMALLEST_DATAGRAM} to 65507 bytes"))
    })
}

/// The address of the metrics; `None` for "off".
pub(super) fn metrics(
    given: Option<&str>,
    usual: Option<SocketAddr>,
) -> Result<Option<SocketAddr>, RelayError> {
    match given {
        None => Ok(usual),
        Some("off") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            RelayError::Input(format!(
                "metrics is \"{text}\"; allowed are an address with a port, and \"off\""
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use airbound_arguments::reference;
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_reference_page_is_what_the_help_says() {
        let mut program = Cli::command();
        program.build();
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
        let found = fs::read_to_string(&page).expect("the page");
        let wanted =
            reference::with_part(&found, "airbound-relay", &reference::sections("airbound relay", &program))
                .expect("the part");
        if env::var_os(reference::RENEW).is_some() {
            fs::write(&page, &wanted).expect("written");
        } else {
            assert!(found == wanted, "{} is not what the code says; run: make reference", page.display());
        }
    }

    #[test]
    fn an_option_counts_more_than_the_file_and_the_file_names_its_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("relay.toml");
        std::fs::write(&path, "listen = \"127.0.0.1:1\"\nto = \"127.0.0.1:2\"\nmost = \"2 Gbit/s\"\n")
            .expect("a file");
        let given = EdgeOptions {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 9))),
            config: Some(path.clone()),
            ..EdgeOptions::default()
        };
        let merged = given.clone().with_file().expect("valid");
        assert_eq!(merged.listen, given.listen);
        assert_eq!(merged.most, Some(BitRate::from_mbps(2000)));
        std::fs::write(&path, "listen = \"127.0.0.1:1\"\nport = 3\n").expect("a file");
        let error = given.with_file().expect_err("an unknown key");
        assert!(error.to_string().contains("relay.toml line 2: unknown field"), "{error}");
        assert_eq!(error.code(), 2);
    }

    #[test]
    fn values_out_of_range_are_one_sentence() {
        assert_eq!(largest(Some(1199), 1472).expect_err("small").code(), 2);
        assert_eq!(
            largest(Some(70_000), 1472).expect_err("large").to_string(),
            "largest is 70000; allowed are 1200 to 65507 bytes"
        );
        assert!(metrics(Some("on"), None).is_err());
        assert_eq!(metrics(Some("off"), None).expect("valid"), None);
    }
}
