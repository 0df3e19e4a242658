#!/bin/sh
# Builds the streamer into target/live: `live-sockets` over the system's sockets, `live-lockstep` over the simulated air in virtual time.
# Needs target/capi (make capi), a C compiler, and for encoder=x264 Debian's libavcodec-dev.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
capi=${CAPI:-$root/target/capi}
out=${OUT:-$root/target/live}
[ -f "$capi/lib/libairbound.a" ] || { echo "build.sh: there is no $capi/lib/libairbound.a; run make capi" >&2; exit 1; }
mkdir -p "$out"
flags="-std=c11 -O2 -Wall -Wextra -Werror -I $capi/include"
codec=
if pkg-config --exists libavcodec libavutil 2>/dev/null; then
  flags="$flags -DWITH_AVCODEC $(pkg-config --cflags libavcodec libavutil)"
  codec=$(pkg-config --libs libavcodec libavutil)
else
  echo "build.sh: there is no libavcodec-dev: without encoder=x264" >&2
fi
common="main.c send.c view.c encoder.c rule_airbound.c rules_by_frames.c rule_gcc.c"
cd "$here"
for world in sockets lockstep; do
  # shellcheck disable=SC2086
  cc $flags $common "world_$world.c" "$capi/lib/libairbound.a" $codec -lpthread -ldl -lm -o "$out/live-$world"
done
# For the laboratory, whose machine need not carry libavcodec.
# shellcheck disable=SC2086
cc -std=c11 -O2 -Wall -Wextra -Werror -I "$capi/include" $common world_sockets.c "$capi/lib/libairbound.a" -lpthread -ldl -lm -o "$out/live-lab"
