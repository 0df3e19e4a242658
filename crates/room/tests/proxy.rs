//! The page behind nginx, with the lines of docs/use/room.md.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use airbound_room::http::LONGEST_BODY;
use airbound_room::synthetic::{Equipment, Synthetic};
use airbound_room::token::Role;
use serde_json::json;

/// A running nginx.
struct Proxy {
    child: Child,
    socket: PathBuf,
}

impl Proxy {
    /// Starts one that passes all requests on by these lines; `None` without the program.
    fn start(name: &str, lines: &str) -> Option<Self> {
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        // A path of a socket has at most 108 bytes.
        let socket = std::env::temp_dir().join(format!("airbound-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&socket);
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|path| format!("{path}_temp_path {path};"));
        let text = format!(
            "daemon off; master_process off; pid pid; error_log stderr; events {{}}\nhttp {{ access_log off; {}\nserver {{ listen unix:{}; location / {{\n{lines}\n}} }} }}\n",
            paths.concat(),
            socket.display()
        );
        fs::write(folder.join("nginx.conf"), text).expect("a file");
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        let child = Command::new("nginx")
            .env("PATH", path)
            .arg("-p")
            .arg(&folder)
            .args(["-c", "nginx.conf"])
            .spawn()
            .ok()?;
        let until = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < until, "nginx does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Some(Self { child, socket })
    }

    /// The answer to a request, and whether nginx has made it itself.
    fn ask(&self, head: &str, body: &[&[u8]]) -> String {
        let mut stream = UnixStream::connect(&self.socket).expect("nginx");
        write!(stream, "{head}\r\nHost: room.example\r\nConnection: close\r\n\r\n").expect("asked");
        for part in body {
            // An answer may come, and the connection end, before all of a body that is too long.
            let _ = stream.write_all(part);
        }
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.socket);
    }
}

#[test]
fn a_page_behind_nginx_is_joined_with_bodies_of_any_coding() {
    let web = super::web::web();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = listener.local_addr().expect("bound").to_string();
    let token = web.token("blue", Role::Guest, Duration::from_secs(60));
    thread::spawn(move || web.serve(&listener));
    let page = include_str!("../../../docs/use/room.md");
    let lines =
        page.split("```nginx\n").nth(1).and_then(|rest| rest.split("```").next()).expect("lines of nginx");
    let lines = lines.replace("127.0.0.1:8088", &address);
    let buffered: String = lines.lines().take(2).map(|line| format!("{line}\n")).collect();
    for (name, lines) in [("unbuffered", lines.as_str()), ("buffered", buffered.as_str())] {
        let Some(proxy) = Proxy::start(name, lines) else {
            let _ =
                writeln!(std::io::stderr(), "SKIPPED: nginx is not installed (apt-get install nginx-light)");
            return;
        };
        let address = "127.0.0.1:9".parse().expect("an address");
        let (_, offer) = Synthetic::new(Instant::now(), address, 0.4e6, 3).expect("an offer");
        let body = json!({"name": "x", "offer": offer}).to_string().into_bytes();
        let head =
            format!("POST /join HTTP/1.1\r\nOrigin: https://room.example\r\nAuthorization: Bearer {token}");
        let length = |length: usize| format!("{head}\r\nContent-Length: {length}");
        let chunked = format!("{head}\r\nTransfer-Encoding: chunked");
        let (size, end) = (format!("{:x}\r\n", body.len()), b"\r\n0\r\n\r\n");
        for answer in
            [proxy.ask(&length(body.len()), &[&body]), proxy.ask(&chunked, &[size.as_bytes(), &body, end])]
        {
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"answer\""), "{name}: {answer}");
        }
        let long = vec![b' '; LONGEST_BODY + 1];
        let size = format!("{:x}\r\n", long.len());
        for answer in
            [proxy.ask(&length(long.len()), &[&long]), proxy.ask(&chunked, &[size.as_bytes(), &long, end])]
        {
            assert!(
                answer.starts_with("HTTP/1.1 413") && answer.contains("longer than allowed"),
                "{name}: {answer}"
            );
        }
        assert!(proxy.ask("GET /client.js HTTP/1.1", &[]).contains("holdSender"));
        let equipment = Equipment { camera: 0.4e6, slots: 0, ears: 0, channel: false };
        let (_, offer) =
            Synthetic::equipped(Instant::now(), "127.0.0.1:9".parse().expect("an address"), equipment)
                .expect("an offer");
        let offer = offer.to_sdp_string().into_bytes();
        let authorized = |line: &str| format!("{line} HTTP/1.1\r\nAuthorization: Bearer {token}");
        let head = format!(
            "{}\r\nContent-Type: application/sdp\r\nTransfer-Encoding: chunked",
            authorized("POST /whip")
        );
        let created = proxy.ask(&head, &[format!("{:x}\r\n", offer.len()).as_bytes(), &offer, end]);
        let session = created
            .lines()
            .find_map(|line| line.strip_prefix("location: "))
            .unwrap_or_else(|| panic!("{name}: {created}"));
        let ended = proxy.ask(&authorized(&format!("DELETE {session}")), &[]);
        assert!(created.starts_with("HTTP/1.1 201") && ended.starts_with("HTTP/1.1 200"), "{name}: {ended}");
    }
}
