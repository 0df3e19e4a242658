#!/usr/bin/env bash
# Usage: scripts/first-build.sh TARGET
# Says in a line how long the first build of a target of the Makefile takes, unless it was built before. Times were measured
# (docs/results/performance.md).
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
release="more than the 4 minutes of processor time of make demo, since it is optimised at link time"
# What the target leaves, and how long its first build takes.
case ${1:-} in
    demo | build) made=$target/debug/airbound took="about 4 minutes of processor time" ;;
    test) made=$target/debug/deps/all-* took="about 4 minutes of processor time, and 5.5 minutes on two cores for the tests" ;;
    python) made=$target/debug/lib_native.so took="about 4 minutes of processor time, half a minute after make demo" ;;
    room | room-test) made=$target/debug/airbound-room took="about 2.5 minutes of processor time" ;;
    capi) made=$target/release/libairbound.so took="about half a minute of processor time" ;;
    install) made=$target/release/airbound took=$release ;;
    wheel) made=$target/release/lib_native.so took=$release ;;
    deb) made=$target/dist/airbound took=$release ;;
    static) made=target/static/airbound-* took="$release, for each processor" ;;
    *)
        echo "first-build: there is no target ${1:-}; allowed are demo, build, test, python, room, room-test, capi, install, wheel, deb, static" >&2
        exit 2
        ;;
esac
compgen -G "$made" >/dev/null || echo "$1: the first build takes $took; later ones compile what changed" >&2
