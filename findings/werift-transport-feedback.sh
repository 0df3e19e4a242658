#!/usr/bin/env bash
# werift's transport-wide feedback: length too short, times that run backwards, losses left out.
#
# Versions: werift 0.25.2 (npm; the two files concerned are the same in 0.24.4); beside it pion/rtcp
# 1.2.20 and pion/interceptor 0.1.51 (Go modules).
#
# Input: two peers of werift on 127.0.0.1 that negotiate `transport-cc` by its public options; 400
# packets of video, one each 10 ms. Twice: with all of them, and with each 20th lost on the way.
# The viewer's feedback is taken before encryption, judged by
# draft-holmer-rmcat-transport-wide-cc-extensions-01, and given to pion's parser. pion's recorder
# is told of the same arrivals and writes its own feedback, which is judged likewise.
#
# Expected: what pion's recorder gives: each report can be parsed, names the packets that did not
# arrive, and its times differ from the true ones by a constant and less than 1 ms.
#
# Seen, of some 36 reports a run:
#                                               werift's    pion's
#   reports that pion's parser refuses          all         0
#   reports that werift's own sender gets       0           not tried
#   lost packets within the reports             17          19
#   of these said to be lost                    0           19
#   reports that begin 10 ms or more too early  9 to 13     0
# 1. The packet is not padded to 32-bit words, and its length field is rounded down: eleven packets,
#    the usual number, give 33 octets with a length of 32. A parser that goes by the field finds the
#    last delta missing ("packet too short"). werift's own takes the last octet for another packet
#    and drops the datagram as malformed, a line that only its debug log has.
# 2. A gap in the numbers does not end a run of statuses. The lost packet is counted as received,
#    and has no delta, so that the times of those behind it move to their predecessors.
# 3. The reference time is the last packet's of the report before, cut to 64 ms, but the first
#    delta counts from the uncut time. Up to 63 ms are missing, another part of them in each report:
#    packets 10 ms apart seem to arrive some 35 ms before their predecessors.
#
# Why it matters: a congestion control at the sender lives on nothing else. Negotiation says that
# both ends have it, packets carry their numbers, reports leave ten times a second, and the sender's
# estimate stays where it began, as on a link that nothing comes back from. A sender that is lenient
# with the length sees a jitter of the size of a busy Wi-Fi's, and never a loss.
#
# Needs: node and npm (18 or later), go (1.24 or later). About 80 s, most of it to compile.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
for tool in node npm go; do
    type "$tool" >"$work/log" 2>&1 || unable "no $tool"
done

mkdir "$work/peers" "$work/judge"
echo '{"private": true}' >"$work/peers/package.json"
(cd "$work/peers" && timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts \
    --cache "$work/npm" werift@0.25.2) >"$work/log" 2>&1 || unable "werift could not be installed"

cat >"$work/peers/peers.js" <<'JS'
"use strict";
const { MediaStreamTrack, RTCPeerConnection, RTCRtpCodecParameters, RtpHeader, RtpPacket, useTransportWideCC } =
  require("werift");
const lose = process.argv[2] === "lose";
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const peer = () => {
  const rtcpFeedback = [{ type: "transport-cc" }];
  const vp8 = new RTCRtpCodecParameters({ mimeType: "video/VP8", clockRate: 90000, rtcpFeedback });
  return new RTCPeerConnection({
    iceServers: [],
    iceUseIpv6: false,
    iceAdditionalHostAddresses: ["127.0.0.1"],
    codecs: { video: [vp8] },
    headerExtensions: { video: [useTransportWideCC()] },
  });
};
// Leaves no candidate but those of 127.0.0.1.
const local = ({ type, sdp }) => ({
  type,
  sdp: sdp.split("\r\n").filter((line) => !line.startsWith("a=candidate") || line.includes(" 127.0.0.1 ")).join("\r\n"),
});

async function main() {
  const sender = peer();
  const viewer = peer();
  const track = new MediaStreamTrack({ kind: "video" });
  const sending = sender.addTransceiver(track, { direction: "sendonly" });
  viewer.onTrack.subscribe((arriving) =>
    arriving.onReceiveRtp.subscribe((packet) => {
      const number = packet.header.extensions[0].payload.readUInt16BE(0);
      console.log("arrival", number, Number(process.hrtime.bigint() / 1000n));
    }),
  );
  await sender.setLocalDescription(await sender.createOffer());
  await viewer.setRemoteDescription(local(sender.localDescription));
  await viewer.setLocalDescription(await viewer.createAnswer());
  await sender.setRemoteDescription(local(viewer.localDescription));
  for (let i = 0; i < 200 && sender.connectionState !== "connected"; i++) await pause(50);
  if (sender.connectionState !== "connected") throw new Error("not connected");

  const receiving = viewer.getTransceivers()[0].receiver.dtlsTransport;
  const report = receiving.sendRtcp.bind(receiving);
  receiving.sendRtcp = (packets) => {
    for (const bytes of packets.map((packet) => packet.serialize())) {
      if (bytes[1] === 205 && (bytes[0] & 31) === 15) console.log("report", bytes.toString("hex"));
    }
    return report(packets);
  };
  const path = sending.sender.dtlsTransport;
  const send = path.sendRtp.bind(path);
  let count = 0;
  path.sendRtp = async (payload, header) => (lose && ++count % 20 === 15 ? payload.length : send(payload, header));

  let heard = 0;
  sending.sender.onRtcp.subscribe((packet) => {
    heard += packet.type === 205;
  });

  const begin = performance.now();
  for (let i = 0; i < 400; i++) {
    const header = new RtpHeader({ payloadType: 96, sequenceNumber: i, timestamp: i * 900, ssrc: 1 });
    track.writeRtp(new RtpPacket(header, Buffer.alloc(500)));
    await pause(Math.max(0, begin + (i + 1) * 10 - performance.now()));
  }
  await pause(200);
  console.log("heard", heard);
  process.exit(0);
}
main().catch((error) => {
  console.error(error);
  process.exit(2);
});
JS

cat >"$work/judge/go.mod" <<'MOD'
module judge

go 1.24.0

require (
	github.com/pion/interceptor v0.1.51
	github.com/pion/rtcp v1.2.20
)
MOD
cat >"$work/judge/main.go" <<'GO'
// Reads arrivals and reports of werift; judges these and the reports of pion's recorder.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/rtcp"
)

// decode returns the first number, the statuses and the times of arrival in us. It reads to the end
// of the bytes, whatever the length field says.
func decode(report []byte) (base int, status []int, at map[int]int64) {
	end := len(report)
	if report[0]&0x20 != 0 {
		end -= int(report[end-1])
	}
	base = int(binary.BigEndian.Uint16(report[12:]))
	count := int(binary.BigEndian.Uint16(report[14:]))
	now := int64(int32(binary.BigEndian.Uint32(report[16:]))>>8) * 64000
	next := 20
	for len(status) < count {
		chunk := int(binary.BigEndian.Uint16(report[next:]))
		next += 2
		switch chunk >> 14 {
		case 2: // fourteen statuses of one bit
			for i := 13; i >= 0; i-- {
				status = append(status, chunk>>i&1)
			}
		case 3: // seven of two bits
			for i := 6; i >= 0; i-- {
				status = append(status, chunk>>(2*i)&3)
			}
		default: // a run
			for range chunk & 0x1fff {
				status = append(status, chunk>>13&3)
			}
		}
	}
	status = status[:count]
	at = map[int]int64{}
	for i, received := range status {
		if received == 0 || next+received > end {
			continue
		}
		if received == 1 {
			now += int64(report[next]) * 250
		} else {
			now += int64(int16(binary.BigEndian.Uint16(report[next:]))) * 250
		}
		next += received
		at[base+i] = now
	}
	return base, status, at
}

func judge(who string, reports [][]byte, arrivals map[int]int64) {
	refused, lost, said, early := 0, 0, 0, 0
	var last, lastTrue int64
	for i, report := range reports {
		if _, err := rtcp.Unmarshal(report); err != nil {
			refused++
		}
		base, status, at := decode(report)
		for i, received := range status {
			if _, arrived := arrivals[base+i]; !arrived {
				lost++
				if received == 0 {
					said++
				}
			}
		}
		first, known := at[base]
		if i > 0 && known && (first-last)-(arrivals[base]-lastTrue) <= -10000 {
			early++
		}
		for number := base + len(status) - 1; number >= base; number-- {
			if time, known := at[number]; known {
				last, lastTrue = time, arrivals[number]
				break
			}
		}
	}
	fmt.Println(who, len(reports), refused, lost, said, early)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func main() {
	arrivals := map[int]int64{}
	var theirs, neighbours [][]byte
	recorder := twcc.NewRecorder(1)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var number int
		var us int64
		var text string
		if n, _ := fmt.Sscanf(lines.Text(), "arrival %d %d", &number, &us); n == 2 {
			arrivals[number] = us
			recorder.Record(2, uint16(number), us)
			if len(arrivals)%11 == 0 {
				for _, packet := range recorder.BuildFeedbackPacket() {
					report, err := packet.Marshal()
					check(err)
					neighbours = append(neighbours, report)
				}
			}
		} else if n, _ := fmt.Sscanf(lines.Text(), "report %s", &text); n == 1 {
			report, err := hex.DecodeString(text)
			check(err)
			theirs = append(theirs, report)
		}
	}
	judge("werift", theirs, arrivals)
	judge("pion", neighbours, arrivals)
}
GO
export GOMODCACHE=$work/modules GOCACHE=$work/built GOFLAGS=-modcacherw CGO_ENABLED=0
(cd "$work/judge" && timeout 60 go mod tidy && timeout 240 go build -o judge .) >"$work/log" 2>&1 ||
    { tail -3 "$work/log" >&2; unable "the judge could not be built"; }

changed=0
for loss in keep lose; do
    timeout 60 node "$work/peers/peers.js" $loss >"$work/$loss" 2>"$work/log" || unable "$(tail -1 "$work/log")"
    timeout 30 "$work/judge/judge" <"$work/$loss" >"$work/verdict" 2>"$work/log" || unable "$(tail -1 "$work/log")"
    while read -r who reports refused lost said early; do
        echo "$loss: $who: $reports reports, $refused refused, $lost lost, $said of these said, $early begin too early"
        ((reports >= 25)) || changed=1
        if [ $loss = lose ]; then ((lost >= 10)) || changed=1; else ((lost == 0)) || changed=1; fi
        if [ "$who" = werift ]; then
            ((refused * 10 >= reports * 9 && said == 0 && early >= 3)) || changed=1
        else
            ((refused == 0 && said == lost && early == 0)) || changed=1
        fi
    done <"$work/verdict"
    heard=$(awk '$1 == "heard" { print $2 }' "$work/$loss")
    echo "$loss: werift's own sender got $heard"
    ((heard == 0)) || changed=1
done
if [ $changed = 0 ]; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
