//! The program `airbound-room`, which `airbound room`, `airbound allocator` and `airbound bitrate` start.

mod bitrate_command;

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use airbound_room::allocator::Allocator;
use airbound_room::ice_server::{IceServer, TurnSecret};
use airbound_room::token::{Pass, Role, Secret, is_room_name};
use airbound_room::web::{Web, WebConfig, unguessable, unix_time};
use airbound_room::{demo, prepare, runner};
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use airbound_units::BitRate;
use clap::{Args, Parser, Subcommand};

/// Connections of the allocator that are served at the same time.
const MOST_CALLERS: usize = 64;
/// Time after which a caller without a line is gone: with rooms, its next line is due within a second.
const IDLE: Duration = Duration::from_secs(60);
/// Fewest bytes of a secret that signs tokens.
const LEAST_SECRET: usize = 16;

/// Said at the start under this policy, whose name was that of the layer switch alone.
const PLUM: &str = "airbound: policy plum holds senders and forwarding by the paper's optimiser; \
    layer-suspension only switches off layers that nobody takes";

#[derive(Parser)]
#[command(name = "airbound-room", version, about = "A WebRTC room that explains its decisions", long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves rooms with a page that shows who gets which bitrate, and why
    Room(RoomArgs),
    /// Decides for other servers: lines of JSON on a Unix socket or a loopback address
    Allocator(AllocatorArgs),
    /// Sets the bitrate of a game streaming host beside it: Foundation Sunshine, Vibepollo
    Bitrate(bitrate_command::BitrateArgs),
    /// Prints a token, signed with the secret of a file
    Token(TokenArgs),
    /// Runs synthetic participants of a running room, and prints what they received as JSON
    Synthetic(SyntheticArgs),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  airbound room --demo
  airbound room --origin https://room.example --media 192.0.2.7 --secret-file /etc/airbound/secret

docs/use/room.md is the guide.")]
struct RoomArgs {
    /// Opens a room with three synthetic participants, one of them behind a shaped link
    #[arg(long)]
    demo: bool,
    /// Address of the page; without TLS before it, loopback only
    #[arg(long, default_value = "127.0.0.1:8088", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Serves the page on an address that is not loopback although it has no TLS: for closed test networks
    #[arg(long)]
    without_tls: bool,
    /// Address at which browsers reach the media sockets [default: that of --listen]
    #[arg(long, value_name = "ADDRESS")]
    media: Option<IpAddr>,
    /// Origin of the page behind a TLS proxy, such as https://room.example; repeatable
    #[arg(long, value_name = "URL")]
    origin: Vec<String>,
    /// STUN or TURN server that clients may use, such as turn:turn.example:3478?transport=tcp,user,password, or @FILE with one in each line; repeatable
    #[arg(long, value_name = "URL[,USERNAME,CREDENTIAL]")]
    ice_server: Vec<String>,
    /// File with the secret of TURN servers that are named without a user, as coturn's static-auth-secret: credentials end with the client's token
    #[arg(long, value_name = "FILE")]
    turn_secret_file: Option<PathBuf>,
    /// File with the secret that signs tokens [default: a random one, with which tokens end with this process]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Name of a room for which tokens are printed; repeatable
    #[arg(long, value_name = "NAME", default_value = "room")]
    room: Vec<String>,
    /// Time for which printed tokens are valid, in hours, 1 to 8760
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=8760))]
    hours: u64,
    #[command(flatten)]
    decisions: Decisions,
}

#[derive(Args)]
struct TokenArgs {
    /// File with the secret that signs tokens
    #[arg(long, value_name = "FILE")]
    secret_file: PathBuf,
    /// Name of the room
    #[arg(long, value_name = "NAME", default_value = "room")]
    room: String,
    /// Whether the bearer may change the policy
    #[arg(long)]
    host: bool,
    /// Time for which it is valid, in hours, 1 to 8760
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=8760))]
    hours: u64,
}

#[derive(Args)]
struct SyntheticArgs {
    /// Address of the room as it was printed, with its token
    address: String,
    /// Participants, 1 to 31
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=31))]
    count: u8,
    /// Bitrate of each camera
    #[arg(long, default_value = "1 Mbit/s", value_name = "RATE")]
    camera: BitRate,
    /// Pictures that each shows, up to 31; 0 for one for each other
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=31))]
    slots: u8,
    /// Time in seconds, 1 to 86400
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Time in seconds that is not measured
    #[arg(long, default_value_t = 10)]
    warm_up: u64,
    /// After the warm-up one participant a second leaves, vanishes or comes back, in turn
    #[arg(long)]
    churn: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  airbound allocator --socket /tmp/allocator.sock

A room's decisions are these until its `config`. docs/use/room.md has the lines of JSON.")]
struct AllocatorArgs {
    /// Path of the Unix socket, mode 0600
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    socket: Option<PathBuf>,
    /// Loopback address, instead of a Unix socket
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    decisions: Decisions,
}

#[derive(Args)]
struct Decisions {
    /// Policy: plain, last-n, layer-suspension or plum
    #[arg(long, default_value = "layer-suspension", value_parser = policy)]
    policy: RoomPolicy,
    /// Largest useful bitrate of one sender [default: 1.5 Mbit/s]
    #[arg(long, value_name = "RATE")]
    source: Option<BitRate>,
    /// Rate of the server's outbound link [default: no limit]
    #[arg(long, value_name = "RATE")]
    server: Option<BitRate>,
    /// Weight of fairness in Plum's utility, 0 to 1 [default: 0]
    #[arg(long)]
    rho: Option<f64>,
    /// Floor of the downlink of each viewer under plum, where it fits [default: none]
    #[arg(long, value_name = "RATE")]
    least_down: Option<BitRate>,
    /// Speakers that last-n forwards, 1 to 63 [default: 3]
    #[arg(long)]
    active: Option<usize>,
}

fn policy(text: &str) -> Result<RoomPolicy, String> {
    let known = RoomPolicy::ALL.into_iter().find(|policy| policy.name() == text);
    known.ok_or_else(|| "allowed are plain, last-n, layer-suspension and plum".to_owned())
}

impl Decisions {
    fn config(&self) -> Result<RoomConfig, String> {
        let default = RoomConfig::default();
        let config = RoomConfig {
            policy: self.policy,
            source: self.source.unwrap_or(default.source),
            server: self.server,
            rho: self.rho.unwrap_or(default.rho),
            active: self.active.unwrap_or(default.active),
            least_down: self.least_down.unwrap_or(default.least_down),
            ..default
        };
        config.check().map_err(|error| error.to_string())?;
        Ok(config)
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return refuse(&airbound_arguments::sentence(&error)),
        Err(help) => help.exit(),
    };
    let result = match cli.command {
        Command::Room(args) => room(&args),
        Command::Allocator(args) => allocator(&args),
        Command::Bitrate(args) => bitrate_command::run(&args),
        Command::Token(args) => token(&args),
        Command::Synthetic(args) => synthetic(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => refuse(&sentence),
    }
}

fn refuse(sentence: &str) -> ExitCode {
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(io::stderr(), "airbound: {sentence}");
    ExitCode::from(2)
}

fn say(line: &str) {
    // A closed standard output leaves nobody to tell.
    let _ = writeln!(io::stdout(), "{line}");
}

fn remark(policy: RoomPolicy) {
    if policy == RoomPolicy::Plum {
        // A closed standard error leaves nobody to tell.
        let _ = writeln!(io::stderr(), "{PLUM}");
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if is_room_name(name) {
        return Ok(());
    }
    Err(format!("--room {name} is not allowed; a name has 1 to 32 letters, digits and hyphens"))
}

/// The servers of an option: one, or those in the lines of a file.
fn ice_servers(text: &str, secret: Option<&TurnSecret>) -> Result<Vec<IceServer>, String> {
    let read = |whence: &str, line: &str| {
        // A credential is not said again.
        let url = line.split(',').next().unwrap_or_default();
        IceServer::read(line, secret).map_err(|error| format!("{whence} {url} is not allowed; {error}"))
    };
    let Some(path) = text.strip_prefix('@') else { return Ok(vec![read("--ice-server", text)?]) };
    let lines = read_private_text(Path::new(path))?;
    let servers = (1..).zip(lines.lines()).filter(|(_, line)| !line.trim().is_empty());
    servers.map(|(number, line)| read(&format!("{path}:{number}: --ice-server"), line)).collect()
}

/// The text of a file that no other user can read.
fn read_private_text(path: &Path) -> Result<String, String> {
    let bytes = read_private(path, 1)?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
}

fn read_secret(path: &Path) -> Result<Secret, String> {
    read_private(path, LEAST_SECRET).map(|bytes| Secret::new(&bytes))
}

/// The bytes, `least` or more, of a file that no other user can read.
fn read_private(path: &Path, least: usize) -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    let mut file = fs::File::open(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // Who may read it signs tokens, who may write it chooses them.
        if file.metadata().map_err(failed)?.mode() & 0o066 != 0 {
            let path = path.display();
            return Err(format!("{path} may be read or written by others; `chmod 600 {path}` it first"));
        }
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes).map_err(failed)?;
    if bytes.len() < least {
        let (path, has) = (path.display(), bytes.len());
        return Err(format!("{path} has {has} bytes; at least {least} are needed"));
    }
    Ok(bytes)
}

fn token(args: &TokenArgs) -> Result<(), String> {
    check_name(&args.room)?;
    let secret = read_secret(&args.secret_file)?;
    let role = if args.host { Role::Host } else { Role::Guest };
    let expires = unix_time() + args.hours * 3600;
    say(&secret.sign(&Pass { room: args.room.clone(), role, expires }));
    Ok(())
}

fn room(args: &RoomArgs) -> Result<(), String> {
    let decisions = args.decisions.config()?;
    if !args.listen.ip().is_loopback() && !args.without_tls {
        return Err(format!(
            "--listen {} is not a loopback address; the page has no TLS of its own: let a proxy with TLS pass requests to a loopback address, and name its --origin",
            args.listen
        ));
    }
    if let Some(origin) =
        args.origin.iter().find(|origin| !origin.starts_with("https://") || origin.ends_with('/'))
    {
        return Err(format!(
            "--origin {origin} is not allowed; an origin begins with https:// and has no slash at its end"
        ));
    }
    args.room.iter().try_for_each(|name| check_name(name))?;
    let turn = args.turn_secret_file.as_deref().map(read_private_text).transpose()?;
    let turn = turn.map(|text| TurnSecret::new(text.trim_end_matches(['\r', '\n'])));
    let turn = turn.transpose().map_err(|error| format!("--turn-secret-file is not allowed; {error}"))?;
    let ice_servers: Result<Vec<_>, _> =
        args.ice_server.iter().map(|text| ice_servers(text, turn.as_ref())).collect();
    let ice_servers = ice_servers?.concat();
    let secret = match &args.secret_file {
        Some(path) => read_secret(path)?,
        None => {
            Secret::new(&unguessable().map_err(|error| format!("there is no source of randomness: {error}"))?)
        }
    };
    prepare();
    let media = args.media.unwrap_or(args.listen.ip());
    let listener = TcpListener::bind(args.listen)
        .map_err(|error| format!("cannot listen on {}: {error}", args.listen))?;
    let address =
        listener.local_addr().map_err(|error| format!("cannot listen on {}: {error}", args.listen))?;
    let mut origins = args.origin.clone();
    if args.without_tls {
        origins.push(format!("http://{address}"));
    }
    let web = Web::new(WebConfig { media, origins, ice_servers, room: decisions, secret });
    let base = args.origin.first().cloned().unwrap_or_else(|| format!("http://{address}"));
    let rooms = if args.demo { vec!["demo".to_owned()] } else { args.room.clone() };
    let lasts = Duration::from_secs(args.hours * 3600);
    for name in &rooms {
        for (role, label) in [(Role::Host, "host"), (Role::Guest, "guest")] {
            // Behind the mark of a fragment, a token is in no server's log.
            say(&format!("{name}, {label}: {base}/#{}", web.token(name, role, lasts)));
        }
    }
    if args.demo {
        let handle = web.room("demo").map_err(|error| format!("the room cannot start: {error}"))?;
        demo::start(&handle).map_err(|error| error.to_string())?;
        say("open the first address in a browser; Ctrl-C ends the demonstration");
    }
    remark(decisions.policy);
    web.serve(&listener)
}

fn synthetic(args: SyntheticArgs) -> Result<(), String> {
    prepare();
    let run = runner::Run {
        address: args.address,
        count: usize::from(args.count),
        camera: args.camera.as_bps() as f64,
        slots: usize::from(args.slots),
        time: Duration::from_secs(args.seconds),
        warm_up: Duration::from_secs(args.warm_up),
        churn: args.churn,
    };
    say(&runner::run(&run).map_err(|error| error.to_string())?.to_string());
    Ok(())
}

fn allocator(args: &AllocatorArgs) -> Result<(), String> {
    let config = args.decisions.config()?;
    match (&args.socket, args.listen) {
        (Some(path), _) => serve_unix(path, config),
        (None, Some(address)) if !address.ip().is_loopback() => {
            Err(format!("--listen {address} is not a loopback address; the allocator knows no passwords"))
        }
        (None, Some(address)) => {
            let listener =
                TcpListener::bind(address).map_err(|error| format!("cannot listen on {address}: {error}"))?;
            let bound = listener.local_addr().map_err(|error| error.to_string())?;
            say(&format!("allocator on {bound}"));
            serve_each(
                || {
                    let (connection, _) = listener.accept()?;
                    connection.set_nodelay(true)?;
                    connection.set_read_timeout(Some(IDLE))?;
                    connection.set_write_timeout(Some(IDLE))?;
                    Ok((connection.try_clone()?, connection))
                },
                config,
            )
        }
        (None, None) => Err("allocator needs --socket PATH or --listen ADDRESS:PORT".to_owned()),
    }
}

/// Serves callers, each by a thread of its own; a caller that makes one panic loses its rooms, and no other does.
fn serve_each<C: io::Read + io::Write + Send + 'static>(
    accept: impl Fn() -> io::Result<(C, C)>,
    config: RoomConfig,
) -> ! {
    remark(config.policy);
    let callers = std::sync::Arc::new(());
    loop {
        // Mostly a shortage of descriptors.
        let Ok((read, mut write)) = accept() else {
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if std::sync::Arc::strong_count(&callers) > MOST_CALLERS {
            // A connection that ended needs no answer.
            let _ = writeln!(write, "{{\"error\":\"there are {MOST_CALLERS} callers already\"}}");
            continue;
        }
        let seat = callers.clone();
        // A thread that does not start gives its seat back.
        let _ = thread::Builder::new().name("caller".to_owned()).spawn(move || {
            let _seat = seat;
            // A connection that fails, or is idle for too long, ends its rooms.
            let _ = Allocator::new(config).serve(read, io::BufWriter::new(write));
        });
    }
}

#[cfg(unix)]
fn serve_unix(path: &Path, config: RoomConfig) -> Result<(), String> {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    if UnixStream::connect(path).is_ok() {
        return Err(format!("another process listens at {}; choose another path", path.display()));
    }
    // A socket that an earlier process left is replaced; anything else is not.
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        fs::remove_file(path).map_err(|error| format!("cannot replace {}: {error}", path.display()))?;
    }
    let listener =
        UnixListener::bind(path).map_err(|error| format!("cannot listen on {}: {error}", path.display()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .map_err(|error| format!("cannot protect {}: {error}", path.display()))?;
    say(&format!("allocator on {}", path.display()));
    serve_each(
        || {
            let (connection, _) = listener.accept()?;
            connection.set_read_timeout(Some(IDLE))?;
            connection.set_write_timeout(Some(IDLE))?;
            Ok((connection.try_clone()?, connection))
        },
        config,
    )
}

#[cfg(not(unix))]
fn serve_unix(_: &Path, _: RoomConfig) -> Result<(), String> {
    Err("--socket needs a Unix system; use --listen".to_owned())
}

#[cfg(test)]
mod tests {
    use std::env;

    use airbound_arguments::reference;
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_reference_page_is_what_the_help_says() {
        let mut program = Cli::command();
        program.build();
        let sections = program.get_subcommands().map(|command| match command.get_name() {
            // `airbound` starts these.
            name @ ("room" | "allocator" | "bitrate") => {
                reference::sections(&format!("airbound {name}"), command)
                    .replace("`airbound-room ", "`airbound ")
            }
            "help" => String::new(),
            name => reference::sections(&format!("airbound-room {name}"), command),
        });
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
        let found = fs::read_to_string(&page).expect("the page");
        let wanted =
            reference::with_part(&found, "airbound-room", &sections.collect::<String>()).expect("the part");
        if env::var_os(reference::RENEW).is_some() {
            fs::write(&page, &wanted).expect("written");
        } else {
            assert!(found == wanted, "{} is not what the code says; run: make reference", page.display());
        }
    }
}
