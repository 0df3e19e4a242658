// A client of pion.
// usage: peer ADDRESS WAY NAME [RESUME]
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	way, name := os.Args[2], os.Args[3]
	base, token, _ := strings.Cut(os.Args[1], "#")
	ask := func(method, path, kind, body string) (*http.Response, string) {
		request, err := http.NewRequest(method, base+strings.TrimPrefix(path, "/"), strings.NewReader(body))
		check(err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", kind)
		reply, err := http.DefaultClient.Do(request)
		check(err)
		text, err := io.ReadAll(reply.Body)
		check(err)
		if reply.StatusCode >= 300 {
			check(fmt.Errorf("%d %s", reply.StatusCode, text))
		}
		return reply, string(text)
	}
	connection, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	check(err)
	say := func(value any) {
		text, err := json.Marshal(value)
		check(err)
		os.Stdout.Write(append(text, '\n'))
	}
	var packets atomic.Int64
	began := time.Now()
	connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		for {
			if _, _, err := track.ReadRTP(); err != nil {
				return
			}
			if packets.Add(1) == 1 {
				say(map[string]int64{"first": time.Since(began).Milliseconds()})
			}
		}
	})
	camera, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, "video", "camera")
	check(err)
	flow := map[string]webrtc.RTPTransceiverDirection{
		"join": webrtc.RTPTransceiverDirectionSendrecv,
		"whip": webrtc.RTPTransceiverDirectionSendonly,
		"whep": webrtc.RTPTransceiverDirectionRecvonly,
	}[way]
	if way == "whep" {
		_, err = connection.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, webrtc.RTPTransceiverInit{Direction: flow})
	} else {
		_, err = connection.AddTransceiverFromTrack(camera, webrtc.RTPTransceiverInit{Direction: flow})
	}
	check(err)
	offer, err := connection.CreateOffer(nil)
	check(err)
	gathered := webrtc.GatheringCompletePromise(connection)
	check(connection.SetLocalDescription(offer))
	<-gathered
	answer := webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer}
	var seat string
	if way == "join" {
		body := map[string]any{"name": name, "offer": connection.LocalDescription()}
		if len(os.Args) > 4 {
			body["resume"] = os.Args[4]
		}
		text, err := json.Marshal(body)
		check(err)
		_, reply := ask("POST", "join", "application/json", string(text))
		var joined struct {
			Answer webrtc.SessionDescription
			Resume string
		}
		check(json.Unmarshal([]byte(reply), &joined))
		answer, seat = joined.Answer, joined.Resume
	} else {
		reply, text := ask("POST", way+"?name="+name, "application/sdp", connection.LocalDescription().SDP)
		answer.SDP, seat = text, reply.Header.Get("Location")
	}
	check(connection.SetRemoteDescription(answer))
	say(map[string]string{"seat": seat})
	frames := map[bool][]byte{}
	for key, end := range map[bool]string{true: "key", false: "delta"} {
		frame, err := os.ReadFile(os.Getenv("FRAMES") + "/160." + end)
		check(err)
		frames[key] = append(frame, bytes.Repeat([]byte{0}, 500)...)
	}
	stop := make(chan struct{})
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		close(stop)
	}()
	tick := time.NewTicker(33 * time.Millisecond)
	for count := 0; ; count++ {
		select {
		case <-stop:
			if way == "join" {
				ask("POST", "leave?room=test", "text/plain", seat)
			} else {
				ask("DELETE", seat, "text/plain", "")
			}
			check(connection.Close())
			return
		case <-tick.C:
			if way != "whep" {
				check(camera.WriteSample(media.Sample{Data: frames[count%25 == 0], Duration: 33 * time.Millisecond}))
			}
			if count%6 == 0 {
				say(map[string]int64{"frames": packets.Load()})
			}
		}
	}
}
