#!/bin/sh
# Runs browsers.mjs, svc.mjs and, with coturn, relay.mjs against a built program; SKIPPED where Chromium, node or the registry of npm is missing.
# usage: run.sh PROGRAM
set -e
program=$(realpath "$1")
folder=$(dirname "$(realpath "$0")")
browser=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$browser" ] || ! command -v npm >/dev/null; then
    echo "room-browsers: SKIPPED, it needs chromium and npm; to get them: sudo apt-get install chromium npm"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$folder/package.json" "$folder"/*.mjs "$folder/package.ts" "$work"
cd "$work"
if ! npm install --silent --no-audit --no-fund >/dev/null 2>&1; then
    echo "room-browsers: SKIPPED, playwright-core cannot be installed"
    exit 0
fi
packed=$(npm pack --silent --pack-destination "$work" "$folder/../../page")
npm install --silent --no-audit --no-fund --no-save "./$packed" >/dev/null
node package.mjs
node browsers.mjs "$program" "$browser"
node svc.mjs "$program" "$browser"
node svc.mjs "$program" "$browser" L3T3_KEY av1
if command -v turnserver >/dev/null; then
    node relay.mjs "$program" "$browser"
else
    echo "room-browsers: SKIPPED the relay, it needs coturn; to get it: sudo apt-get install coturn"
fi
