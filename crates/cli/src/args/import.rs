//! Arguments of `airbound import`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound import irtt.json                         irtt: its probe, base delay and loss
  airbound import iperf3.json --out office          iperf3 -J: a link with its rates over time
  airbound import rrul.flent.gz                     flent: rates and pings
  airbound import trace1.log                        times, Mbit/s, RTT, loss: Hairpin's, Zhuge's
  airbound import call.pcapng --station 10.0.0.7    packets of its conversations, as recorded flows

docs/use/import.md says what is taken from each file and what is not.")]
pub(crate) struct Import {
    /// The file: JSON of iperf3, irtt or flent, a capture (pcap, pcapng), a trace of a link
    pub(crate) file: PathBuf,
    /// Folder for scenario.toml and its files, which must not exist [default: the file's name without its ending]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Address of the station in a capture [default: the one that all conversations have]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) station: Option<std::net::IpAddr>,
}
