#!/bin/sh
# Runs peers.py against a built program with clients of the registries, as far as they can be installed; the others are SKIPPED aloud.
# usage: run.sh PROGRAM [CLIENT...]
set -e
program=$(realpath "$1")
shift
folder=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skipped() { echo "room-peers: SKIPPED $1"; }

if command -v python3 >/dev/null && python3 -m venv "$work/venv" 2>"$work/log"; then
    "$work/venv/bin/pip" install -q aiortc==1.16.0 av==18.1.0 aiohttp==3.14.2 >"$work/log" 2>&1 || rm -rf "$work/venv"
fi
[ -d "$work/venv" ] || skipped "aiortc and ffmpeg: aiortc 1.16.0 and av 18.1.0 cannot be installed (python3 with venv)"
cp "$folder"/*.mjs "$folder/package.json" "$work"
if ! command -v npm >/dev/null || ! (cd "$work" && npm install --silent --no-audit --no-fund >"$work/log" 2>&1); then
    skipped "werift and node-datachannel: npm is missing, or cannot install them"
    rm "$work"/*.mjs
fi
cp -r "$folder/pion" "$work"
export GOFLAGS=-modcacherw CGO_ENABLED=0
if ! command -v go >/dev/null || ! (cd "$work/pion" && go mod tidy && go build -o peer .) >"$work/log" 2>&1; then
    skipped "pion: go is missing, or cannot build it"
    rm -rf "$work/pion"
fi
gst="import gi; gi.require_version('GstWebRTC', '1.0'); from gi.repository import Gst, GstWebRTC; Gst.init(None); assert Gst.ElementFactory.make('nicesrc') and Gst.ElementFactory.make('x264enc')"
if /usr/bin/python3 -c "$gst" 2>"$work/log"; then
    touch "$work/gstreamer"
else
    skipped "gstreamer; to get it: sudo apt-get install gstreamer1.0-plugins-bad gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly gstreamer1.0-nice python3-gi gir1.2-gst-plugins-bad-1.0"
fi
python3 "$folder/peers.py" "$program" "$work" "$@"
