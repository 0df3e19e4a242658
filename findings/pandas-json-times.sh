#!/usr/bin/env bash
# pandas reads durations of JSON as dates of 1971 once all of them exceed 31.5 ms.
#
# Versions: pandas 3.1.1 with numpy 2.4.6 (PyPI).
#
# Input, made here: a list of 501 objects such as {"seq": 7, "rtt_time": 38000000}, and the same as
# lines: round trips in nanoseconds over a link with a base round trip of 38 ms. In a second file one
# of them took 31 ms.
#
# Expected: int64, 38 to 58 million.
#
# Seen:
#   file                                           dtype            median
#   all above 31.536 ms                            datetime64[us]   1971-07-10 13:20:00
#   one of 31 ms                                   int64            48000000
#   all above 31.536 ms, `dtype=False`             int64            48000000
#   all above 31.536 ms, named `rtt_ns`            int64            48000000
# read_json takes columns for dates whose name ends in `_at` or `_time`, begins with `timestamp`, or
# is `modified` or `date`, as its documentation says. It tries seconds first, and what it takes for
# possible is any number above 31 536 000, a year in seconds; nanoseconds count as seconds so.
#
# Why it matters: `rtt_time`, `queue_time`, `arrival_time` are what logs of latency are made of. The
# same script reads one site's file as numbers and the next site's as dates, depending on its
# fastest packet. Differences of the dates are 10^9 times too long; a mean of dates is a date.
#
# Needs: python3 with venv, at least 3.11. 20 s, most of it to install.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 400 "$work/venv/bin/pip" install -q --disable-pip-version-check pandas==3.1.1 numpy==2.4.6 ||
    unable "packages could not be installed"

cat >"$work/read.py" <<'PY'
import io, json

import pandas

def rows(name, first):
    trips = [38_000_000 + 40_000 * packet for packet in range(501)]
    trips[0] = first
    return [{"seq": packet, name: trip} for packet, trip in enumerate(trips)]

def tell(case, name, first, **options):
    whole = json.dumps(rows(name, first))
    lines = "\n".join(json.dumps(row) for row in rows(name, first))
    one = pandas.read_json(io.StringIO(whole), **options)[name]
    other = pandas.read_json(io.StringIO(lines), lines=True, **options)[name]
    assert one.equals(other)
    median = one.median()
    print(case, one.dtype, median if one.dtype.kind == "M" else int(median))

tell("slow", "rtt_time", 38_000_000)
tell("one-fast", "rtt_time", 31_000_000)
tell("as-numbers", "rtt_time", 38_000_000, dtype=False)
tell("other-name", "rtt_ns", 38_000_000)
PY

timeout 120 "$work/venv/bin/python" "$work/read.py" | tee "$work/seen"
cat >"$work/expected" <<'TABLE'
slow datetime64[us] 1971-07-10 13:20:00
one-fast int64 48000000
as-numbers int64 48000000
other-name int64 48000000
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
