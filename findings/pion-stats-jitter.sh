#!/usr/bin/env bash
# pion's statistics double the jitter that pion's own receiver report has, and show none of a queue
# that grows.
#
# Version: pion/interceptor 0.1.51 (Go module), packages stats and report.
#
# Input, in virtual time: audio of 48 kHz, one packet each 20 ms, 2000 of them, to both interceptors
# at once. They arrive
#   even         20 ms apart
#   alternate    each second one 10 ms late
#   growing      each one 1 ms later than the one before, as through a queue that fills
#   independent  late by 0 to 15 ms at random (a fixed sequence)
#
# Expected: RFC 3550, 6.4.1: a mean of |D|, D being the difference of two packets' transit times,
# in the report's field and, in seconds, in InboundRTPStreamStats.Jitter.
#
# Seen, in ms:    receiver report   statistics
#   even          0                 0
#   alternate     10                20
#   growing       1                 0
#   independent   6                 11
# The recorder puts the packet's expected arrival, computed
# from the one before it, in the place of its arrival, so that what it calls a transit time is
# already a difference of two; the difference of these goes into the mean. It is the jitter's jitter.
#
# Why it matters: a server of pion gives this number to its operators, and a browser at the other
# end of the same Wi-Fi the other one. By it a link that interleaves early and late packets is twice
# as bad as it is, and a queue that grows by 50 ms a second is perfect.
#
# Needs: go (1.24 or later). 15 s, most of it to compile (2 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

command -v go >/dev/null || unable "no go"
cat >"$work/main.go" <<'GO'
package main

import (
	"fmt"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/interceptor/pkg/stats"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const packets = 2000

// Jitter in milliseconds after the last packet, by the receiver report and by the statistics.
func jitters(late func(int) time.Duration) (float64, float64) {
	begin := time.Unix(1_700_000_000, 0)
	now := begin
	clock := func() time.Time { return now }
	reports, _ := report.NewReceiverInterceptor(report.ReceiverNow(clock), report.ReceiverInterval(20*time.Millisecond))
	receiver, _ := reports.NewInterceptor("")
	var getter stats.Getter
	recorders, _ := stats.NewInterceptor(stats.SetNowFunc(clock))
	recorders.OnNewPeerConnection(func(_ string, g stats.Getter) { getter = g })
	recorder, _ := recorders.NewInterceptor("")
	defer receiver.Close()
	defer recorder.Close()

	var header rtp.Header
	wire := interceptor.RTPReaderFunc(func(buffer []byte, a interceptor.Attributes) (int, interceptor.Attributes, error) {
		n, err := header.MarshalTo(buffer)
		return n, a, err
	})
	info := &interceptor.StreamInfo{SSRC: 7, ClockRate: 48000}
	stream := recorder.BindRemoteStream(info, receiver.BindRemoteStream(info, wire))
	time.Sleep(100 * time.Millisecond) // The recorder is started by a goroutine.
	buffer := make([]byte, 1500)
	for packet := 0; packet < packets; packet++ {
		header = rtp.Header{Version: 2, SSRC: 7, SequenceNumber: uint16(packet), Timestamp: uint32(960 * packet)}
		now = begin.Add(time.Duration(packet)*20*time.Millisecond + late(packet))
		if _, _, err := stream.Read(buffer, interceptor.Attributes{}); err != nil {
			panic(err)
		}
	}
	seen := make(chan float64, 100)
	receiver.BindRTCPWriter(interceptor.RTCPWriterFunc(func(list []rtcp.Packet, _ interceptor.Attributes) (int, error) {
		for _, packet := range list {
			if r, ok := packet.(*rtcp.ReceiverReport); ok && len(r.Reports) == 1 {
				select {
				case seen <- float64(r.Reports[0].Jitter) / 48:
				default:
				}
			}
		}
		return 0, nil
	}))
	return <-seen, getter.Get(7).InboundRTPStreamStats.Jitter * 1000
}

func main() {
	state := uint32(1)
	ways := []struct {
		name string
		late func(int) time.Duration
	}{
		{"even", func(int) time.Duration { return 0 }},
		{"alternate", func(packet int) time.Duration { return time.Duration(packet%2) * 10 * time.Millisecond }},
		{"growing", func(packet int) time.Duration { return time.Duration(packet) * time.Millisecond }},
		{"independent", func(int) time.Duration {
			state = state*1664525 + 1013904223
			return time.Duration(state>>16) * 15 * time.Millisecond / 65536
		}},
	}
	for _, way := range ways {
		reported, recorded := jitters(way.late)
		fmt.Printf("%s %.0f %.0f\n", way.name, reported, recorded)
	}
}
GO
(cd "$work" && go mod init jitter && go get github.com/pion/interceptor@v0.1.51 && go mod tidy && timeout 200 go build -o jitter .) \
    >"$work/log" 2>&1 || unable "$(tail -1 "$work/log")"
timeout 60 "$work/jitter" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
cat >"$work/expected" <<'TABLE'
even 0 0
alternate 10 20
growing 1 0
independent 6 11
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
