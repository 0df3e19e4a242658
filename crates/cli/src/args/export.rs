//! Arguments of `airbound export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound export runs/hello-linux --as flent --out hello.flent.gz     then: flent -f summary hello.flent.gz
  airbound export runs/hello-linux --as qlog --flow download --out download.sqlog

docs/use/import.md says what is in each file and what is not.")]
pub(crate) struct Export {
    /// Folder of a run
    pub(crate) run: PathBuf,
    /// Format of the file
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// File to be written; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// qlog: flow whose sender is logged [default: the only one with a sender]
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Data file of flent, format 4, compressed
    Flent,
    /// A sender's events, draft-ietf-quic-qlog-main-schema-13 as JSON text sequences
    Qlog,
}
