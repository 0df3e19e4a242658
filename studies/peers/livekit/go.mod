module load

go 1.25.0

tool github.com/livekit/livekit-server/cmd/server

require (
	github.com/livekit/livekit-server v1.11.0
	github.com/livekit/protocol v1.45.3
	github.com/livekit/server-sdk-go/v2 v2.16.2
	github.com/pion/webrtc/v4 v4.2.11
)
