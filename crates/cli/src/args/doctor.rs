//! Arguments of `airbound doctor`.

use std::net::IpAddr;
use std::path::PathBuf;

use airbound_units::Span;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound doctor                                the Wi-Fi of this machine, while the program runs
  airbound doctor 203.0.113.7                    and the way to the server beyond
  airbound doctor my-host --stutters             the program stutters right now
  airbound doctor --near 192.168.1.20            on an access point: the way to this station

Needs no root. Probes are ICMP echo requests where net.ipv4.ping_group_range permits them, else TCP connections to --port; the last \
lines say which. 100 small packets go to the gateway in a second, 50 to the host. docs/use/doctor.md explains the causes.")]
pub(crate) struct Doctor {
    /// Host beyond the gateway, such as the server of the stream: a name or an address [default: the Wi-Fi alone]
    pub(crate) host: Option<String>,
    /// Wi-Fi interface [default: that of the default route, else an access point's]
    #[arg(long, value_name = "NAME")]
    pub(crate) iface: Option<String>,
    /// Near end of the Wi-Fi; an access point has no default [default: the gateway]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) near: Option<IpAddr>,
    /// Time of the probes, 10 s to 10 min
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = duration)]
    pub(crate) duration: Span,
    /// Port of TCP connections where ICMP is not permitted
    #[arg(long, value_name = "PORT", default_value_t = 443, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// A program stutters now: a network that is well then means the program
    #[arg(long)]
    pub(crate) stutters: bool,
    /// Page with the evidence
    #[arg(long, value_name = "FILE", default_value = "runs/doctor.html")]
    pub(crate) out: PathBuf,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// The time of the probes.
fn duration(text: &str) -> Result<Span, String> {
    let span = text.parse::<Span>().map_err(|error| error.to_string())?;
    let allowed = Span::from_secs(10)..=Span::from_secs(600);
    if allowed.contains(&span) { Ok(span) } else { Err("allowed are 10 s to 10 min".to_owned()) }
}
