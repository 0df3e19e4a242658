//! Tells a WebRTC room (docs/use/room.md) B, the rate that both directions of a station's link have together: its PHY rate times the airtime that
//! all others leave free. With it the room knows that the two directions share the air, before any traffic fills them.
//!
//! A thread of its own reads nl80211 and asks the room, since a room that is slow must not hold packets up. Requests are HTTP without TLS: the
//! room is on this machine, in a private network, or behind a tunnel.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use airbound_linux::neighbours::Neighbours;
use airbound_linux::nl80211::{Station, Survey, Wireless};
use airbound_linux::{LinuxError, MacAddress, now};
use airbound_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

use crate::error::AgentError;
use crate::journal::{Event, Journal};

/// Interval of readings; the room forgets a sum after 10 s.
const INTERVAL: Duration = Duration::from_secs(2);
/// Time in which a request has to be answered.
const PATIENCE: Duration = Duration::from_secs(2);
/// Stations that are told of in one interval, and addresses of each.
const MOST: usize = 64;
/// Bytes of an answer that are read, and of a token.
const LONGEST: u64 = 4096;

/// The room that is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RoomSettings {
    /// Address of its page: loopback or private, as the token goes without TLS.
    pub address: SocketAddr,
    /// File with a host's token (`airbound-room token --host`), which no other user can read.
    pub token_file: PathBuf,
}

/// Whether requests without TLS to this address stay near.
const fn is_near(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

impl RoomSettings {
    /// Checks the address; the sentence begins with the key.
    pub(crate) fn check(&self) -> Result<(), String> {
        if is_near(self.address.ip()) && self.address.port() != 0 {
            return Ok(());
        }
        Err(format!(
            "room.address is {}; allowed are ports of loopback and private addresses, as the token goes without TLS",
            self.address
        ))
    }

    fn token(&self) -> Result<String, AgentError> {
        let path = self.token_file.display();
        let wrong = |problem: String| AgentError::Value(format!("room.token-file {path} {problem}"));
        let failed = |error: io::Error| wrong(format!("cannot be read: {error}"));
        let file = std::fs::File::open(&self.token_file).map_err(failed)?;
        if file.metadata().map_err(failed)?.mode() & 0o066 != 0 {
            return Err(wrong(format!("may be read or written by others; `chmod 600 {path}` it first")));
        }
        let mut token = String::new();
        file.take(LONGEST).read_to_string(&mut token).map_err(failed)?;
        let token = token.trim().to_owned();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("has no token; `airbound-room token --host` prints one".to_owned()));
        }
        Ok(token)
    }
}

/// Counters of the channel and of the stations at one time.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The survey of the channel in use.
    pub survey: Option<Survey>,
    /// The stations.
    pub stations: Vec<Station>,
}

/// Sums of links, from one reading to the next.
#[derive(Debug, Default)]
pub struct Sums {
    before: Option<Reading>,
}

/// The airtime of a station's link so far, both directions as far as the driver counts them; `None` if it counts neither, though packets
/// were sent.
fn airtime(station: &Station) -> Option<Span> {
    let counted = [station.transmit_airtime, station.receive_airtime].into_iter().flatten();
    let is_counted = counted.clone().count() > 0 || station.sent_bytes.is_none_or(|bytes| bytes == 0);
    is_counted.then(|| counted.fold(Span::ZERO, |sum, one| sum + one))
}

impl Sums {
    /// The sum of each station's link since the last reading: the rate of the last frame sent to it, or what rate control expects of it if that is less,
    /// times the airtime that others leave, of this network or of another. Stations without a rate are left out.
    ///
    /// # Errors
    /// A sentence on what the driver does not count.
    pub fn take(&mut self, reading: Reading) -> Result<Vec<(MacAddress, BitRate)>, &'static str> {
        let before = self.before.replace(reading);
        let (Some(before), Some(now)) = (before, &self.before) else { return Ok(Vec::new()) };
        let counted =
            |reading: &Reading| reading.survey.and_then(|survey| Some((survey.time?, survey.busy?)));
        let (Some(first), Some(last)) = (counted(&before), counted(now)) else {
            return Err("the driver's survey has no busy time of the channel");
        };
        // A channel that changed, or a counter that began anew.
        let (whole, busy) = (last.0.saturating_sub(first.0), last.1.saturating_sub(first.1));
        if whole.is_zero() {
            return Ok(Vec::new());
        }
        let mut sums = Vec::new();
        for station in &now.stations {
            let Some(earlier) = before.stations.iter().find(|other| other.address == station.address) else {
                continue;
            };
            let (Some(first), Some(last)) = (airtime(earlier), airtime(station)) else {
                return Err("the driver counts no airtime of stations");
            };
            let others = busy.saturating_sub(last.saturating_sub(first));
            let free = 1.0 - (others.as_secs_f64() / whole.as_secs_f64()).min(1.0);
            let phy = station.transmit_rate.map(|rate| rate.rate);
            let Some(rate) = phy.into_iter().chain(station.expected_throughput).min() else { continue };
            sums.push((station.address, rate.mul_f64(free)));
        }
        Ok(sums)
    }
}

/// A room's address, and a host's token for it.
#[derive(Debug, Clone)]
pub struct Client {
    address: SocketAddr,
    token: String,
}

impl Client {
    /// Reads the token.
    ///
    /// # Errors
    /// The file cannot be read, may be read by others, or has no token.
    pub fn new(settings: &RoomSettings) -> Result<Self, AgentError> {
        Ok(Self { address: settings.address, token: settings.token()? })
    }

    /// Tells the sum of the participant's link that has one of these addresses, if there is one.
    ///
    /// # Errors
    /// The room cannot be reached, does not answer in 2 s, or refuses: a sentence.
    pub fn tell(&self, addresses: &[IpAddr], sum: BitRate) -> Result<(), String> {
        let address = self.address;
        let answer = self.ask(addresses, sum).map_err(|error| {
            format!("the room at {address} is not reached: {error}; it is told again every 2 s")
        })?;
        let line = answer.lines().next().unwrap_or_default();
        let code = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
        match code {
            Some("204") => Ok(()),
            Some("401") => Err(format!("the room at {address} does not know the token, or it has expired")),
            Some("403") => Err(format!("the room at {address} takes sums by a host's token only")),
            Some(code) if code.len() == 3 && code.bytes().all(|digit| digit.is_ascii_digit()) => {
                Err(format!("the room at {address} refuses with status {code}"))
            }
            _ => Err(format!("the server at {address} is no room of this version")),
        }
    }

    /// The first bytes of the answer.
    fn ask(&self, addresses: &[IpAddr], sum: BitRate) -> io::Result<String> {
        let until = Instant::now() + PATIENCE;
        let left = || {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(Some(left)) }
        };
        let addresses = &addresses[..addresses.len().min(MOST)];
        let body = serde_json::json!({ "addresses": addresses, "sum": sum.as_bps() }).to_string();
        let request = format!(
            "POST /channel HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_write_timeout(left()?)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        let mut buffer = [0; 512];
        // The status line is enough: what follows may come slowly, or never end.
        while answer.len() < LONGEST as usize && !answer.contains(&b'\n') {
            stream.set_read_timeout(left()?)?;
            match stream.read(&mut buffer)? {
                0 => break,
                length => answer.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            }
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

/// One look at the interfaces of a radio: the sums of its stations, with their addresses.
fn look(
    wireless: &mut Wireless,
    names: &[String],
    sums: &mut Sums,
) -> Result<Vec<(Vec<IpAddr>, BitRate)>, String> {
    let failed = |error: LinuxError| error.to_string();
    let found = wireless.interfaces().map_err(failed)?;
    let ours: Vec<u32> =
        found.iter().filter(|wifi| names.contains(&wifi.name)).map(|wifi| wifi.index).collect();
    let mut reading = Reading::default();
    let mut neighbours = Vec::new();
    for index in ours {
        let survey = wireless.survey(index).map_err(failed)?;
        reading.survey = reading.survey.or(survey.into_iter().find(|survey| survey.is_in_use));
        reading.stations.extend(wireless.stations(index).map_err(failed)?);
        neighbours.push(Neighbours::of(index).map_err(failed)?);
    }
    // A station behind a bridge is a neighbour of the bridge.
    neighbours.extend(bridges(names).into_iter().filter_map(|bridge| Neighbours::of(bridge).ok()));
    let of = |station: MacAddress| -> Vec<IpAddr> {
        neighbours.iter().flat_map(|table| table.addresses(station)).take(MOST).collect()
    };
    let sums = sums.take(reading).map_err(str::to_owned)?;
    let told = sums.into_iter().map(|(station, sum)| (of(station), sum));
    Ok(told.filter(|(addresses, _)| !addresses.is_empty()).take(MOST).collect())
}

/// The numbers of the bridges of interfaces.
fn bridges(names: &[String]) -> Vec<u32> {
    let read = |name: &String| -> Option<u32> {
        let path = Path::new("/sys/class/net").join(name).join("master/ifindex");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    let mut bridges: Vec<u32> = names.iter().filter_map(read).collect();
    bridges.sort_unstable();
    bridges.dedup();
    bridges
}

/// Tells the room in a thread that lives as long as the process. A change of what it answers goes to the journal.
///
/// # Errors
/// The token cannot be read, or the journal or nl80211 cannot be opened.
pub fn serve(settings: &RoomSettings, names: Vec<String>, mut journal: Journal) -> Result<(), AgentError> {
    let client = Client::new(settings)?;
    let mut wireless = Wireless::open()?;
    let address = settings.address.to_string();
    let run = move || {
        let (mut sums, mut answer) = (Sums::default(), None);
        loop {
            let told = look(&mut wireless, &names, &mut sums)
                .and_then(|told| told.iter().try_for_each(|(addresses, sum)| client.tell(addresses, *sum)));
            let told = told.err();
            if answer.as_ref() != Some(&told) {
                journal.event(now(), &Event::Room { address: address.clone(), answer: told.clone() });
                answer = Some(told);
            }
            thread::sleep(INTERVAL);
        }
    };
    let spawned = thread::Builder::new().name("room".to_owned()).spawn(run);
    spawned
        .map(drop)
        .map_err(|error| AgentError::Value(format!("cannot start the thread that tells the room: {error}")))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    /// A second's reading, milliseconds so far: on the channel, busy, of the link in each direction.
    fn reading(whole: u64, busy: u64, link: [u64; 2], expected: Option<u64>) -> Reading {
        let ms = Span::from_millis;
        let survey =
            Survey { is_in_use: true, time: Some(ms(whole)), busy: Some(ms(busy)), ..Survey::default() };
        let [transmit, receive] = link.map(|time| Some(ms(time)));
        let station = Station {
            address: STATION,
            expected_throughput: expected.map(BitRate::from_mbps),
            transmit_airtime: transmit,
            receive_airtime: receive,
            ..Station::default()
        };
        Reading { survey: Some(survey), stations: vec![station] }
    }

    #[test]
    fn a_sum_is_the_rate_times_what_others_leave() {
        let mut sums = Sums::default();
        assert_eq!(
            sums.take(reading(1000, 100, [50, 50], Some(40))),
            Ok(Vec::new()),
            "nothing to compare with"
        );
        // Busy for 600 ms, 350 of them by the link itself: others leave 75 %.
        let found = sums.take(reading(2000, 700, [250, 200], Some(40))).expect("counted");
        assert_eq!(found, [(STATION, BitRate::from_mbps(30))]);
        // Others cannot take more than all, and a link not more than there is.
        assert_eq!(sums.take(reading(3000, 2700, [250, 200], Some(40))), Ok(vec![(STATION, BitRate::ZERO)]));
        assert_eq!(
            sums.take(reading(4000, 2800, [950, 900], Some(40))),
            Ok(vec![(STATION, BitRate::from_mbps(40))])
        );
        // Counters that began anew, as after a change of the channel, and a station without a rate.
        assert_eq!(sums.take(reading(100, 50, [0, 0], Some(40))), Ok(Vec::new()));
        assert_eq!(sums.take(reading(1100, 50, [0, 0], None)), Ok(Vec::new()));
    }

    #[test]
    fn what_a_driver_does_not_count_is_named() {
        let mut sums = Sums::default();
        let mut bare = reading(1000, 0, [0, 0], Some(40));
        bare.survey = None;
        sums.take(bare.clone()).expect("the first");
        assert_eq!(sums.take(bare), Err("the driver's survey has no busy time of the channel"));
        let mut sums = Sums::default();
        let mut bare = reading(1000, 0, [0, 0], Some(40));
        bare.stations[0].sent_bytes = Some(1000);
        (bare.stations[0].transmit_airtime, bare.stations[0].receive_airtime) = (None, None);
        sums.take(bare.clone()).expect("the first");
        bare.survey = reading(2000, 0, [0, 0], None).survey;
        assert_eq!(sums.take(bare), Err("the driver counts no airtime of stations"));
    }

    #[test]
    fn a_token_does_not_leave_the_neighbourhood() {
        let check = |address: &str| {
            let address = address.parse().expect("an address");
            RoomSettings { address, token_file: PathBuf::new() }.check()
        };
        for near in ["127.0.0.1:8088", "192.168.1.2:8088", "10.0.0.1:80", "[::1]:80", "[fd00::1]:80"] {
            assert_eq!(check(near), Ok(()), "{near}");
        }
        for far in ["203.0.113.5:8088", "[2001:db8::1]:80", "127.0.0.1:0"] {
            assert!(check(far).expect_err(far).starts_with("room.address is "), "{far}");
        }
    }

    #[test]
    fn a_token_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let ask = |mode: u32, text: &str| {
            std::fs::write(&file, text).expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("permissions");
            let address = SocketAddr::from(([127, 0, 0, 1], 8088));
            let made = Client::new(&RoomSettings { address, token_file: file.clone() });
            made.map(|client| client.token).map_err(|error| error.to_string())
        };
        assert_eq!(ask(0o600, "room.host.1.ab\n").as_deref(), Ok("room.host.1.ab"));
        assert!(ask(0o644, "room.host.1.ab").expect_err("others").contains("chmod 600"));
        assert!(ask(0o600, " \n").expect_err("empty").contains("has no token"));
        assert!(ask(0o600, "a b\r\nHost: x").expect_err("a header").contains("has no token"));
    }

    /// The answer of a client whose server sends these parts.
    fn told(parts: &'static [&'static str], pause: Duration) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let _ = stream.read(&mut [0; 2048]);
            for part in parts {
                if stream.write_all(part.as_bytes()).is_err() {
                    return;
                }
                thread::sleep(pause);
            }
        });
        let client = Client { address, token: "t".to_owned() };
        let told = client.tell(&["192.0.2.1".parse().expect("an address")], BitRate::from_mbps(20));
        drop(server);
        told
    }

    #[test]
    fn a_room_that_is_away_slow_or_lies_is_a_sentence() {
        let now = Duration::ZERO;
        assert_eq!(told(&["HTTP/1.1 204 No Content\r\n\r\n"], now), Ok(()));
        for (parts, said) in [
            (&["HTTP/1.1 401 Unauthorized\r\n\r\n"][..], "does not know the token"),
            (&["HTTP/1.1 403 Forbidden\r\n\r\n"], "by a host's token only"),
            (&["HTTP/1.1 429 Too Many Requests\r\n\r\n"], "refuses with status 429"),
            (&["SSH-2.0-OpenSSH_9.2\r\n"], "is no room of this version"),
            (&["HTTP/1.1 \u{7}\u{1b}[2J\r\n"], "is no room of this version"),
            (&[""], "is no room of this version"),
        ] {
            let sentence = told(parts, now).expect_err(said);
            assert!(sentence.contains(said) && !sentence.contains(char::is_control), "{sentence:?}");
        }
        let began = Instant::now();
        let sentence = told(&["H", "T", "T", "P", "/", "1", ".", "1", " ", "2"], Duration::from_millis(400));
        assert!(sentence.expect_err("slow").contains("is not reached"));
        assert!(began.elapsed() < PATIENCE * 2, "{:?}", began.elapsed());
        let gone = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).expect("a port");
        let client = Client { address: gone, token: "t".to_owned() };
        assert!(client.tell(&[], BitRate::ZERO).expect_err("away").contains("is not reached"));
    }
}
