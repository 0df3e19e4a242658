#!/usr/bin/env bash
# Three WebRTC libraries report a jitter of 50 minutes once the RTP timestamp of a stream wraps.
#
# Versions: pion/interceptor 0.1.51 (Go module); rtc-interceptor 0.21.1, the interceptors of
# webrtc-rs (Rust registry); aiortc 1.16.0 (PyPI).
#
# Input, in virtual time: video with a clock of 90 kHz, one packet each 20 ms, which arrive exactly
# so: there is no jitter. The timestamp passes 2^32 with packet 100. The receivers' statistics get
# the packets: the report interceptors of pion and of webrtc-rs, whose receiver report is read, and
# `StreamStatistics` of aiortc, which fills in its reports and its getStats.
#
# Expected: 0 throughout. Timestamps are numbers of 32 bits that wrap, and begin at random (RFC 3550
# section 5.1); its appendix A.8 takes their differences as such.
#
# Seen, the same in all three:
#   packets after the wrap   jitter
#   before                   0
#   1                        2982616 ms (50 minutes)
#   50                       126237 ms (one second later: two minutes)
#   500                      0
# They subtract the timestamps as floats or as whole numbers without a limit, so that one step is
# 2^32 ticks, 13 hours, short. A 16th of it becomes the jitter, and fades by a 16th a packet.
#
# Why it matters: as they begin at random, a stream of 90 kHz wraps once in 13 hours, one of Opus
# once in 25: of calls that last an hour each 13th. The peer reads that report too. A mean of jitter
# over a day of calls, or an alarm on it, then shows what no Wi-Fi did.
#
# Needs: go (1.24 or later), python3 (3.10 or later) with venv, cargo and rustc (1.88 or later).
# 70 s, most of it to compile (3 to 5 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 240 "$work/venv/bin/pip" install -q --disable-pip-version-check aiortc==1.16.0 2>"$work/log" \
    || unable "$(tail -1 "$work/log")"
cat >"$work/wraps.py" <<'PY'
from types import SimpleNamespace

from aiortc import rtcrtpreceiver

# A clock in whole ticks, above zero, that Python's floats hold exactly.
clock = SimpleNamespace(ticks=90_000)
rtcrtpreceiver.time = SimpleNamespace(time=lambda: clock.ticks / 90_000 + 1e-9)
statistics = rtcrtpreceiver.StreamStatistics(90_000)
for packet in range(600):
    stamp = (2**32 - 100 * 1800 + packet * 1800) % 2**32
    statistics.add(SimpleNamespace(sequence_number=packet, timestamp=stamp))
    clock.ticks += 1800
    if packet in (99, 100, 149, 599):
        print("aiortc", packet, statistics.jitter // 90)
PY
timeout 60 "$work/venv/bin/python" "$work/wraps.py" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"

mkdir "$work/go"
cat >"$work/go/main.go" <<'GO'
package main

import (
	"fmt"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

// The jitter in the receiver report after so many packets.
func jitter(packets int) uint32 {
	now := time.Unix(1_700_000_000, 0)
	factory, _ := report.NewReceiverInterceptor(
		report.ReceiverNow(func() time.Time { return now }), report.ReceiverInterval(20*time.Millisecond))
	receiver, _ := factory.NewInterceptor("")
	defer receiver.Close()
	var header rtp.Header
	info := &interceptor.StreamInfo{SSRC: 7, ClockRate: 90000}
	stream := receiver.BindRemoteStream(info, interceptor.RTPReaderFunc(
		func(buffer []byte, a interceptor.Attributes) (int, interceptor.Attributes, error) {
			n, err := header.MarshalTo(buffer)
			return n, a, err
		}))
	buffer := make([]byte, 1500)
	for packet := 0; packet < packets; packet++ {
		header = rtp.Header{Version: 2, SSRC: 7, SequenceNumber: uint16(packet),
			Timestamp: uint32(packet*1800 - 100*1800)}
		if _, _, err := stream.Read(buffer, interceptor.Attributes{}); err != nil {
			panic(err)
		}
		now = now.Add(20 * time.Millisecond)
	}
	seen := make(chan uint32, 100)
	receiver.BindRTCPWriter(interceptor.RTCPWriterFunc(
		func(packets []rtcp.Packet, _ interceptor.Attributes) (int, error) {
			for _, packet := range packets {
				if r, ok := packet.(*rtcp.ReceiverReport); ok && len(r.Reports) == 1 {
					select {
					case seen <- r.Reports[0].Jitter:
					default:
					}
				}
			}
			return 0, nil
		}))
	return <-seen
}

func main() {
	for _, packet := range []int{99, 100, 149, 599} {
		fmt.Println("pion", packet, jitter(packet+1)/90)
	}
}
GO
(cd "$work/go" && go mod init wraps && go get github.com/pion/interceptor@v0.1.51 && go mod tidy && timeout 200 go build -o wraps .) \
    >"$work/log" 2>&1 || unable "$(tail -1 "$work/log")"
timeout 60 "$work/go/wraps" >>"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"

mkdir -p "$work/rust/src"
cat >"$work/rust/Cargo.toml" <<'TOML'
[package]
name = "wraps"
version = "0.0.0"
edition = "2021"

[dependencies]
rtc-interceptor = "=0.21.1"
rtc-rtp = "=0.21.1"
rtc-rtcp = "=0.21.1"
rtc-shared = { version = "=0.21.1", default-features = false }
sansio = "1"
TOML
cat >"$work/rust/src/main.rs" <<'RUST'
use std::time::{Duration, Instant};

use rtc_interceptor::{AttributedPacket, Interceptor, Packet, ReceiverReportBuilder, StreamInfo, TaggedPacket};
use sansio::Protocol;

fn jitter(packets: u32) -> u32 {
    let interval = Duration::from_millis(20);
    let mut receiver = ReceiverReportBuilder::new().with_interval(interval).build();
    receiver.bind_remote_stream(&StreamInfo { ssrc: 7, clock_rate: 90_000, ..Default::default() });
    let mut now = Instant::now();
    for packet in 0..packets {
        let header = rtc_rtp::header::Header {
            version: 2,
            ssrc: 7,
            sequence_number: packet as u16,
            timestamp: (packet * 1800).wrapping_sub(100 * 1800),
            ..Default::default()
        };
        let packet = rtc_rtp::Packet { header, ..Default::default() };
        let message = AttributedPacket::new(Packet::Rtp(packet));
        receiver.handle_read(TaggedPacket { now, transport: Default::default(), message }).unwrap();
        now += interval;
    }
    receiver.handle_timeout(now).unwrap();
    let Some(TaggedPacket { message, .. }) = receiver.poll_write() else { panic!("no report") };
    let Packet::Rtcp(reports) = message.packet else { panic!("no report") };
    let report = reports[0].as_any().downcast_ref::<rtc_rtcp::receiver_report::ReceiverReport>().unwrap();
    report.reports[0].jitter
}

fn main() {
    for packet in [99, 100, 149, 599] {
        println!("webrtc-rs {packet} {}", jitter(packet + 1) / 90);
    }
}
RUST
CARGO_TARGET_DIR="$work/target" timeout 400 cargo run --quiet --manifest-path "$work/rust/Cargo.toml" \
    >>"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"

cat "$work/seen"
cat >"$work/expected" <<'TABLE'
aiortc 99 0
aiortc 100 2982616
aiortc 149 126237
aiortc 599 0
pion 99 0
pion 100 2982616
pion 149 126237
pion 599 0
webrtc-rs 99 0
webrtc-rs 100 2982616
webrtc-rs 149 126237
webrtc-rs 599 0
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
