//! The command `bitrate`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use airbound_room::bitrate::{Address, Host, Identity, Journal, Relay, RelayError, Service, Session, Source};
use airbound_room::web::unguessable;
use airbound_senders::bitrate::{BitrateConfig, BitrateController};
use airbound_units::{BitRate, Span};
use clap::Args;

use super::{LEAST_SECRET, read_private};

/// Time between two looks at a relay.
const LOOKS: Duration = Duration::from_secs(1);

#[derive(Args)]
#[command(after_help = "\
Examples:
  airbound bitrate --bitrate '30 Mbit/s'
  airbound bitrate --host https://192.0.2.7:47984 --client deck --certificate client.pem --key key.pem --host-certificate host.pem
  airbound bitrate --host https://192.0.2.7:47984 --client deck --certificate client.pem --key key.pem --host-certificate host.pem \\
      --relay http://127.0.0.1:9479 --station headset

docs/use/bitrate.md is the guide. A line says each change and its reason.

Exit codes: 0 ended by a signal; 2 an option or a file cannot be used, or the host or the relay is of another kind.")]
pub(super) struct BitrateArgs {
    /// Address of the host's encrypted port, such as https://192.0.2.7:47984; http for a loopback address only [default: none, clients are
    /// told]
    #[arg(long, value_name = "URL")]
    host: Option<Address>,
    /// Name under which the host knows the client
    #[arg(long, value_name = "NAME", requires = "host", default_value = "client")]
    client: String,
    /// Certificate of the paired client, PEM
    #[arg(long, value_name = "FILE", requires_all = ["host", "key", "host_certificate"])]
    certificate: Option<PathBuf>,
    /// Key of that certificate, PEM; readable by its owner only
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Certificate of the host as pairing has shown it, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    host_certificate: Option<PathBuf>,
    /// Rate at the start, that of the client's settings
    #[arg(long, value_name = "RATE", default_value = "20 Mbit/s")]
    bitrate: BitRate,
    /// Least rate, from 500 kbit/s
    #[arg(long, value_name = "RATE", default_value = "2 Mbit/s")]
    least: BitRate,
    /// Highest rate, up to 500 Mbit/s
    #[arg(long, value_name = "RATE", default_value = "150 Mbit/s")]
    most: BitRate,
    /// Time that packets may wait in queues, 2 ms to 500 ms
    #[arg(long, value_name = "TIME", default_value = "20 ms")]
    queue: Span,
    /// Loopback address that answers the client's reports
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9481", conflicts_with = "relay")]
    listen: SocketAddr,
    /// File with the token that clients show, readable by its owner only [default: a random one, which is printed]
    #[arg(long, value_name = "FILE", conflicts_with = "relay")]
    token_file: Option<PathBuf>,
    /// Metrics of `airbound relay edge`, whose allocated rate counts instead of a client's reports
    #[arg(long, value_name = "URL", requires = "host")]
    relay: Option<Address>,
    /// Name of the relay's station [default: the only one]
    #[arg(long, value_name = "NAME", requires = "relay")]
    station: Option<String>,
    /// Prints events as lines of JSON
    #[arg(long)]
    json: bool,
    /// Prints no events
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
}

pub(super) fn run(args: &BitrateArgs) -> Result<(), String> {
    let config = BitrateConfig { start: args.bitrate, least: args.least, most: args.most, queue: args.queue };
    let controller = BitrateController::new(config).map_err(|error| {
        // The option has another name.
        error.to_string().replace("start is", "bitrate is")
    })?;
    let host = host(args)?;
    let out: Box<dyn io::Write + Send> =
        if args.quiet { Box::new(io::sink()) } else { Box::new(io::stdout()) };
    let mut session = Session::new(controller, host, Journal::new(out, args.json));
    if let Some(address) = &args.relay {
        let relay = Relay::new(address.clone(), args.station.clone());
        // One that is away may come; one of another kind does not become a relay.
        if let Err(error @ (RelayError::Other(..) | RelayError::Station { .. })) = relay.rate() {
            return Err(error.to_string());
        }
        session.begin().map_err(|error| error.to_string())?;
        follow(&mut session, &relay)
    }
    if !args.listen.ip().is_loopback() {
        return Err(format!(
            "--listen {} is not a loopback address; a client elsewhere needs a tunnel, such as ssh -L",
            args.listen
        ));
    }
    if args.quiet && args.token_file.is_none() {
        return Err("--quiet without --token-file leaves clients without a token".to_owned());
    }
    let token = token(args)?;
    let listener = TcpListener::bind(args.listen)
        .map_err(|error| format!("cannot listen on {}: {error}", args.listen))?;
    let bound =
        listener.local_addr().map_err(|error| format!("cannot listen on {}: {error}", args.listen))?;
    session.begin().map_err(|error| error.to_string())?;
    let shown = match (&args.token_file, args.quiet) {
        (None, false) => format!("http://{bound} answers clients with the token {token}"),
        _ => format!("http://{bound} answers clients with the token of the file"),
    };
    session.journal().note("ready", &shown);
    Service::new(session, config, &token).serve(&listener)
}

/// Looks at a relay without end.
fn follow(session: &mut Session, relay: &Relay) -> ! {
    loop {
        match relay.rate() {
            Ok((rate, limit)) => {
                session.works(Source::Relay);
                session.on_allocated(rate, &limit);
            }
            Err(error) => session.trouble(Source::Relay, &error.to_string()),
        }
        thread::sleep(LOOKS);
    }
}

fn host(args: &BitrateArgs) -> Result<Option<Host>, String> {
    let Some(address) = &args.host else { return Ok(None) };
    let identity = match (&args.certificate, &args.key, &args.host_certificate) {
        (Some(certificate), Some(key), Some(host)) => {
            read_private(key, LEAST_SECRET)?;
            Some(Identity::read(certificate, key, host)?)
        }
        _ if address.is_encrypted() => {
            return Err(format!("--host {address} needs --certificate, --key and --host-certificate"));
        }
        _ => None,
    };
    let is_name = (1..=128).contains(&args.client.len()) && !args.client.chars().any(char::is_control);
    if !is_name {
        return Err(
            "--client is not allowed; a name has 1 to 128 bytes without control characters".to_owned()
        );
    }
    Ok(Some(Host::new(address.clone(), identity, args.client.clone())))
}

fn token(args: &BitrateArgs) -> Result<String, String> {
    let Some(path) = &args.token_file else {
        let bytes = unguessable().map_err(|error| format!("there is no source of randomness: {error}"))?;
        return Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    };
    let text = String::from_utf8(read_private(path, LEAST_SECRET)?).unwrap_or_default();
    let token = text.trim_end();
    if token.len() < 16 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{} has no token: one line of at least 16 visible ASCII characters",
            path.display()
        ));
    }
    Ok(token.to_owned())
}
