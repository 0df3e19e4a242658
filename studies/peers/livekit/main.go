// Members of a meeting, each of whom sends one VP8 stream and receives those of all others, at the room or at LiveKit.
// Each line of its input is answered by what has been counted so far.
//
// usage: load room|livekit ADDRESS COUNT BITS_PER_SECOND
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
)

const (
	frameTime = time.Second / 30
	keyFrame  = 60 // frames from one key frame to the next
)

var sent, streams, packets, octets atomic.Int64

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func count(track *webrtc.TrackRemote) {
	streams.Add(1)
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		// Padding alone is a server's probe.
		if len(packet.Payload) > 0 {
			packets.Add(1)
			octets.Add(int64(len(packet.Payload)))
		}
	}
}

func joinRoom(address, name string, camera webrtc.TrackLocal, others int) error {
	connection, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	check(err)
	connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { count(track) })
	_, err = connection.AddTransceiverFromTrack(camera, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	check(err)
	for range others {
		flow := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		_, err = connection.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, flow)
		check(err)
	}
	offer, err := connection.CreateOffer(nil)
	check(err)
	gathered := webrtc.GatheringCompletePromise(connection)
	check(connection.SetLocalDescription(offer))
	<-gathered
	body, err := json.Marshal(map[string]any{"name": name, "offer": connection.LocalDescription()})
	check(err)
	base, token, _ := strings.Cut(address, "#")
	request, err := http.NewRequest("POST", base+"join", bytes.NewReader(body))
	check(err)
	request.Header.Set("Authorization", "Bearer "+token)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	check(err)
	var joined struct{ Answer webrtc.SessionDescription }
	if err := json.Unmarshal(text, &joined); err != nil {
		return fmt.Errorf("%s: %s", reply.Status, text)
	}
	return connection.SetRemoteDescription(joined.Answer)
}

func joinLiveKit(address, name string, camera webrtc.TrackLocal) error {
	callback := lksdk.NewRoomCallback()
	callback.OnTrackSubscribed = func(track *webrtc.TrackRemote, _ *lksdk.RemoteTrackPublication, _ *lksdk.RemoteParticipant) {
		count(track)
	}
	url, secret, _ := strings.Cut(address, "#")
	member := lksdk.ConnectInfo{APIKey: "key", APISecret: secret, RoomName: "test", ParticipantIdentity: name}
	room, err := lksdk.ConnectToRoom(url, member, callback)
	if err != nil {
		return err
	}
	_, err = room.LocalParticipant.PublishTrack(camera, &lksdk.TrackPublicationOptions{Name: "camera", VideoWidth: 160, VideoHeight: 90})
	return err
}

// frame is a decodable VP8 frame of an own file, filled up with zeroes, which a decoder does not look at.
func frame(kind string, size int) []byte {
	bytes, err := os.ReadFile(os.Getenv("FRAMES") + "/160." + kind)
	check(err)
	return append(bytes, make([]byte, max(0, size-len(bytes)))...)
}

func main() {
	members, err := strconv.Atoi(os.Args[3])
	check(err)
	rate, err := strconv.Atoi(os.Args[4])
	check(err)
	logger.InitFromConfig(&logger.Config{Level: "error"}, "load")
	lksdk.SetLogger(logger.GetLogger())
	size := rate / 8 * int(frameTime/time.Microsecond) / 1e6
	key, delta := frame("key", size), frame("delta", size)
	for number := range members {
		camera, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, "video", "camera")
		check(err)
		name := fmt.Sprintf("member %d", number)
		if os.Args[1] == "room" {
			check(joinRoom(os.Args[2], name, camera, members-1))
		} else {
			check(joinLiveKit(os.Args[2], name, camera))
		}
		go func() {
			tick := time.NewTicker(frameTime)
			for count := 0; ; count++ {
				<-tick.C
				data := delta
				if count%keyFrame == 0 {
					data = key
				}
				check(camera.WriteSample(media.Sample{Data: data, Duration: frameTime}))
				sent.Add(1)
			}
		}()
		time.Sleep(100 * time.Millisecond)
	}
	asked := bufio.NewScanner(os.Stdin)
	for asked.Scan() {
		counts := map[string]int64{"sent": sent.Load(), "streams": streams.Load(), "packets": packets.Load(), "bytes": octets.Load()}
		check(json.NewEncoder(os.Stdout).Encode(counts))
	}
}
