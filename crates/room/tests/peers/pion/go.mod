module peer

go 1.24.0

require github.com/pion/webrtc/v4 v4.2.26
