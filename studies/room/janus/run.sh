#!/bin/sh
# Runs test.mjs with a built airbound-room, in a network namespace of its own; SKIPPED where Chromium, node, Janus or the registry of npm is missing.
# usage: run.sh PROGRAM
set -e
program=$(realpath "$1")
folder=$(dirname "$(realpath "$0")")
browser=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$browser" ] || ! command -v npm >/dev/null || ! command -v janus >/dev/null; then
    echo "janus: SKIPPED, it needs chromium, npm and janus; to get them: sudo apt-get install chromium npm janus"
    exit 0
fi
work=$(mktemp -d)
cp "$folder/../../../crates/room/tests/browsers/package.json" "$folder/test.mjs" "$work"
cd "$work"
if ! npm install --silent --no-audit --no-fund >/dev/null 2>&1; then
    echo "janus: SKIPPED, playwright-core cannot be installed"
    exit 0
fi
export BRIDGE_FOLDER="$folder"
# Janus offers no loopback addresses: it gets an interface that leads nowhere.
trap 'rm -rf "$work"' EXIT
unshare --map-root-user --net sh -c '
    ip link set lo up && ip link add host type veth peer name peer && ip addr add 10.99.0.1/24 dev host && ip link set host up && ip link set peer up
    exec node test.mjs "$@"' test "$program" "$browser"
