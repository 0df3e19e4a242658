//! Pictures in H.264 over loopback: who has the codec sees them from a key frame on, who has it not is named. A handshake whose first message is
//! lost.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use str0m::change::SdpAnswer;
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{ExtensionValues, RtpWrite};
use str0m::{Candidate, Event, Input, Output, Rtc};

use super::av1::{DESCRIBED, Described};
use super::one_way::{Room, socket, text};

/// Parameters, as one packet; a picture that needs them; one that needs the picture before it.
const PICTURES: [&[u8]; 3] =
    [&[0x78, 0, 4, 0x67, 0x42, 0xc0, 0x1f, 0, 2, 0x68, 0xce], &[0x65, 0x88, 0x80], &[0x41, 0x9a, 0x21]];

/// A client with one section of video and some codecs.
pub(crate) struct Client {
    rtc: Rtc,
    socket: UdpSocket,
    mid: Mid,
    pub(crate) connected: bool,
    /// Messages of DTLS that are lost on the way to it.
    loses: usize,
    pub(crate) asked: usize,
    arrived: Vec<(Pt, Vec<u8>)>,
    /// Dependency descriptors of what arrived.
    pub(crate) described: Vec<Vec<u8>>,
    /// Number, timestamp and marker of what arrived.
    pub(crate) numbers: Vec<(u64, u32, bool)>,
    sequence: u64,
}

impl Client {
    /// Asks for a session with an offer that is changed on its way; the answer.
    pub(crate) fn join(
        room: &Room,
        path: &str,
        codecs: &[Codec],
        change: impl Fn(String) -> String,
    ) -> (Self, String) {
        let socket = socket();
        let mut config = Rtc::builder().set_rtp_mode(true).clear_codecs();
        config = config.enable_vp8(codecs.contains(&Codec::Vp8)).enable_h264(codecs.contains(&Codec::H264));
        config = config.enable_vp9(codecs.contains(&Codec::Vp9));
        if codecs.contains(&Codec::Av1) {
            config = config.enable_av1(true).set_extension(DESCRIBED, Described::extension());
        }
        let mut rtc = config.build(Instant::now());
        let address = socket.local_addr().expect("an address");
        rtc.add_local_candidate(Candidate::host(address, "udp").expect("a candidate"));
        let flow = if path.starts_with("/whip") { Direction::SendOnly } else { Direction::RecvOnly };
        let mut api = rtc.sdp_api();
        let mid = api.add_media(MediaKind::Video, flow, None, None, None);
        let (offer, pending) = api.apply().expect("an offer");
        let created = room.post(path, &change(offer.to_sdp_string()));
        assert_eq!(created.status, 201, "{}", text(&created));
        let answer = SdpAnswer::from_sdp_string(text(&created)).expect("an answer");
        rtc.sdp_api().accept_answer(pending, answer).expect("it fits");
        let own = Self {
            rtc,
            socket,
            mid,
            connected: false,
            loses: 0,
            asked: 0,
            arrived: Vec::new(),
            described: Vec::new(),
            numbers: Vec::new(),
            sequence: 1,
        };
        (own, text(&created).to_owned())
    }

    pub(crate) fn step(&mut self) {
        let (mut buffer, destination) = ([0; 2048], self.socket.local_addr().expect("an address"));
        while let Ok((length, source)) = self.socket.recv_from(&mut buffer) {
            if buffer[0] == 22 && self.loses > 0 {
                self.loses -= 1;
                continue;
            }
            let Ok(contents) = buffer[..length].try_into() else { continue };
            let receive = Receive { proto: Protocol::Udp, source, destination, contents };
            self.rtc.handle_input(Input::Receive(Instant::now(), receive)).expect("taken");
            self.drain();
        }
        self.rtc.handle_input(Input::Timeout(Instant::now())).expect("taken");
        self.drain();
    }

    fn drain(&mut self) {
        loop {
            match self.rtc.poll_output().expect("it lives") {
                Output::Timeout(_) => return,
                Output::Transmit(datagram) => {
                    drop(self.socket.send_to(&datagram.contents, datagram.destination))
                }
                Output::Event(Event::Connected) => self.connected = true,
                Output::Event(Event::KeyframeRequest(_)) => self.asked += 1,
                Output::Event(Event::RtpPacket(packet)) if !packet.payload.is_empty() => {
                    self.numbers.push((*packet.seq_no, packet.header.timestamp, packet.header.marker));
                    let values = &packet.header.ext_vals.user_values;
                    self.described.extend(values.get::<Described>().map(|one| one.0.clone()));
                    self.arrived.push((packet.header.payload_type, packet.payload.to_vec()));
                }
                Output::Event(_) => {}
            }
        }
    }

    fn send(&mut self, number: u8, payload: &[u8]) {
        self.send_at(number, payload, self.sequence as u32 * 3000, false);
    }

    /// Payloads that arrived.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        self.arrived.iter().map(|(_, payload)| payload.as_slice())
    }

    /// Sends a packet of a picture.
    pub(crate) fn send_at(&mut self, number: u8, payload: &[u8], time: u32, marker: bool) {
        self.send_described(number, payload, time, marker, None);
    }

    /// Sends a packet of a picture with a dependency descriptor.
    pub(crate) fn send_described(
        &mut self,
        number: u8,
        payload: &[u8],
        time: u32,
        marker: bool,
        descriptor: Option<Vec<u8>>,
    ) {
        let sequence = self.sequence;
        self.sequence += 1;
        let mut api = self.rtc.direct_api();
        let stream = api.stream_tx_by_mid(self.mid, None).expect("a stream");
        let write = RtpWrite::new(number.into(), sequence.into(), time, Instant::now(), payload.to_vec());
        let mut values = ExtensionValues::default();
        if let Some(descriptor) = descriptor {
            values.user_values.set(Described(descriptor));
        }
        stream.write_rtp(write.marker(marker).ext_vals(values));
        self.drain();
    }
}

/// The number of a codec in an answer.
pub(crate) fn number(answer: &str, codec: &str) -> Option<u8> {
    let line = answer.lines().find(|line| line.starts_with("a=rtpmap:") && line.contains(codec))?;
    line["a=rtpmap:".len()..].split(' ').next()?.parse().ok()
}

#[test]
fn pictures_in_h264_reach_who_has_the_codec_from_a_key_frame_on() {
    let room = Room::new();
    let main = |offer: String| {
        // As programs write it: one profile that str0m does not list, another order, sprop.
        let lines = offer.lines().map(|line| match line.split_once(' ') {
            Some((start, rest)) if start.starts_with("a=fmtp:") && rest.contains("profile-level-id") => {
                let mode = if rest.contains("packetization-mode=1") { 1 } else { 0 };
                format!(
                    "{start} packetization-mode={mode};profile-level-id=6e0028;sprop-parameter-sets=Z2Q=\r\n"
                )
            }
            _ => format!("{line}\r\n"),
        });
        lines.collect()
    };
    let (mut camera, answer) = Client::join(&room, "/whip?name=camera", &[Codec::H264], |offer| offer);
    let sent = number(&answer, "H264/90000").expect("a number");
    let parameters =
        format!("a=fmtp:{sent} level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42");
    assert!(answer.contains(&parameters), "{answer}");
    assert_eq!(answer.matches("a=rtpmap:").count(), 2, "one codec, and its retransmissions: {answer}");
    let (mut viewer, answer) =
        Client::join(&room, "/whep?name=both", &[Codec::Vp8, Codec::H264], |offer| offer);
    assert!(number(&answer, "VP8/90000").is_some(), "{answer}");
    let shown = number(&answer, "H264/90000").expect("a number");
    let (mut other, answer) = Client::join(&room, "/whep?name=other", &[Codec::Vp8], |offer| offer);
    assert_eq!(number(&answer, "H264"), None);
    let until = Instant::now() + Duration::from_secs(20);
    let mut sending = 0_usize;
    // The first round has no key frame; asked for one, the camera sends it.
    while viewer.arrived.len() < 12 {
        assert!(Instant::now() < until, "{:?} {}", viewer.arrived.len(), room.state());
        [&mut camera, &mut viewer, &mut other].into_iter().for_each(Client::step);
        if camera.connected && viewer.connected && other.connected {
            let is_key = camera.asked > 0;
            let payloads = if is_key { &PICTURES[..2] } else { &PICTURES[2..] };
            for payload in payloads {
                // Large enough to be a layer.
                camera.send(sent, &[*payload, &[0; 400]].concat());
            }
            camera.asked = 0;
            sending += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(sending >= 10, "{sending}");
    assert_eq!(
        viewer.arrived[0],
        (shown.into(), [PICTURES[0], &[0; 400]].concat()),
        "nothing before the parameters"
    );
    assert!(viewer.arrived[1].1.starts_with(PICTURES[1]));
    assert!(viewer.arrived[2..].iter().all(|(number, _)| *number == shown.into()));
    assert_eq!(other.arrived.len(), 0);
    // The state is published at intervals.
    let said = |state: &serde_json::Value| {
        let log = state["log"].to_string();
        state["members"][0]["codec"] == "H264" && log.contains("other cannot show camera, who sends H264")
    };
    while !said(&room.state()) {
        assert!(Instant::now() < until, "{}", room.state());
        std::thread::sleep(Duration::from_millis(20));
    }
    // A profile that is not in str0m's list, and parameters that it does not know.
    let (_, answer) = Client::join(&room, "/whep", &[Codec::H264], main);
    assert!(answer.contains("packetization-mode=1;profile-level-id=6e0028\r\n"), "{answer}");
}

#[test]
fn a_first_message_of_dtls_that_is_lost_is_sent_again() {
    let room = Room::new();
    // As FFmpeg, which takes the first one for a part of ICE.
    let passive = |offer: String| offer.replace("a=setup:actpass", "a=setup:passive");
    let (mut camera, answer) = Client::join(&room, "/whip", &[Codec::H264], passive);
    assert!(answer.contains("a=setup:active"), "{answer}");
    camera.loses = 1;
    let until = Instant::now() + Duration::from_secs(10);
    while !camera.connected {
        assert!(Instant::now() < until, "{}", room.state()["log"]);
        camera.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(camera.loses, 0);
}
