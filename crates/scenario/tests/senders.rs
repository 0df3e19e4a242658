//! Senders of flows and sessions: which are allowed where, and with which keys.

use airbound_scenario::{Overrides, Scenario};

use crate::sentence::{GOOD, check};

#[test]
fn a_session_takes_each_sender_with_its_keys() {
    let session = |congestion: &str| {
        format!(
            "duration = \"2 s\"\n[session]\ncongestion = {congestion}\n[[session.client]]\nname = \"a\"\ncount = 3\nrate = \"9 Mbit/s\"\n"
        )
    };
    for good in [
        "\"reno\"",
        "\"fixed\"",
        "{ kind = \"gcc\", probing = false }",
        "{ kind = \"bbr\", mss = \"1000 B\" }",
    ] {
        let scenario = Scenario::parse(&session(good), "test.toml", &Overrides::none()).expect(good);
        scenario.session.expect("a session").transport().expect(good);
    }
    check(&session("\"tahoe\""), &["test.toml:3: session.congestion", "\"bbr\", \"gcc\", \"moonlight\""]);
    check(
        &session("{ kind = \"gcc\", start-rate = \"1 Mbit/s\" }"),
        &["session.congestion", "unknown key start-rate"],
    );
    let tack = |congestion| session(congestion) + "[scheme]\nsession = \"tack\"\n";
    check(&tack("\"fixed\""), &["scheme.session is tack", "with congestion = \"fixed\" plain, last-n"]);
}

#[test]
fn congestion_control_of_video_is_not_tcps() {
    let tcp = |line: &str| {
        let text = GOOD.replace("\"cbr\"", "\"tcp\"").replace("rate = \"20 Mbit/s\"", line);
        format!("{text}[scheme]\nsender = \"gcc\"\n")
    };
    check(&tcp(""), &["test.toml:12:", "scheme.sender", "flow stream is TCP", "\"cubic\""]);
    check(&tcp("congestion = \"gcc\""), &["flow.stream.congestion", "\"cubic\", \"reno\", \"bbr\""]);
    let scenario = Scenario::parse(&tcp("congestion = \"bbr\""), "test.toml", &Overrides::none()).unwrap();
    assert_eq!(scenario.scheme.sender.kind(), "gcc");
    let video = GOOD.replace("\"cbr\"", "\"rtc\"");
    let scenario = Scenario::parse(&video, "test.toml", &Overrides::none()).unwrap();
    assert_eq!(scenario.with_scheme("linux+gcc").unwrap().scheme.to_string(), "linux+minstrel-ht+gcc");
}
