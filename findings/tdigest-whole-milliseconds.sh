#!/usr/bin/env bash
# Digests of latencies in whole milliseconds: a p95 of 188 ms where 96 % take 5 ms, and a p5 below zero.
#
# Versions: tdigest 0.5.2.2, pytdigest 0.1.4; beside them fastdigest 0.12.0, crick 0.0.8, numpy 2.2.6 (PyPI).
#
# Input: 1000 round trips as `ping` prints them on a phone that sleeps: 960 take 5 ms, 40 take 200;
# the same with 60 of the 960 at 6 ms; and 20,000 draws in whole ms, of which 6 % lie between 50 and
# 300 in steps of 50. Each library gets all values with its defaults and is asked for quantiles.
#
# Expected: those of the data, or a value between neighbours of that rank: a digest of two values
# has nothing to approximate.
#
# Seen, ms:
#                        p5       p50    p75     p95     p99
#   two values           5        5      5       5       200
#   tdigest             -162.7    12.8   110.3   188.3   200
#   pytdigest            5        12.8   110.3   188.3   200
#   fastdigest, crick    5        5      5       5       200
#   three values         5        5      5       6       200
#   tdigest              4.17     5.1    5.62    83.6    200
#   pytdigest            5        5.1    5.62    83.6    200
# Equal values become one centroid, and between centroids the two take the distribution for even:
# from the middle of the 960 at 5 ms to the middle of the 40 at 200 it rises in a straight line, and
# tdigest goes on with it below the first. The accuracy that a digest promises is that of its ranks,
# with centroids that are small near the ends; one of 96 % of the data has no such bound.
# fastdigest and crick keep the weight of such a centroid at its value.
#
# Why it matters: latencies come in whole milliseconds from ping, from JavaScript's clocks and from
# logs, and Wi-Fi has two modes, asleep and awake. A limit of 20 ms at p95 is kept here by a wide
# margin, and the digest says that it is missed nine times over.
#
# Needs: python3 (3.10 or later) with venv. 20 s, most of it to install.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
python3 -m venv "$work/python" >"$work/log" 2>&1 || unable "no python3 with venv"
timeout 240 "$work/python/bin/pip" install --quiet --disable-pip-version-check --only-binary numpy,fastdigest \
    tdigest==0.5.2.2 pytdigest==0.1.4 fastdigest==0.12.0 crick==0.0.8 numpy==2.2.6 >"$work/log" 2>&1 ||
    { tail -3 "$work/log" >&2; unable "the packages could not be installed"; }

cat >"$work/ask.py" <<'PYTHON'
import sys

import crick
import fastdigest
import numpy
import pytdigest
import tdigest

RANKS = [5, 50, 75, 95, 99]


def of_tdigest(values):
    digest = tdigest.TDigest()
    digest.batch_update(values.tolist())
    return [digest.percentile(rank) for rank in RANKS]


def of_pytdigest(values):
    return pytdigest.TDigest.compute(values).inverse_cdf(numpy.array(RANKS) / 100)


def of_fastdigest(values):
    digest = fastdigest.TDigest.from_values(values.tolist())
    return [digest.percentile(rank) for rank in RANKS]


def of_crick(values):
    digest = crick.TDigest()
    digest.update(values)
    return [digest.quantile(rank / 100) for rank in RANKS]


LIBRARIES = {"tdigest": of_tdigest, "pytdigest": of_pytdigest, "fastdigest": of_fastdigest, "crick": of_crick}
draws = numpy.random.default_rng(1)
awake = numpy.round(draws.gamma(4, 0.7, 20_000))
asleep = numpy.round(draws.uniform(50, 300, 20_000) / 50) * 50
SETS = {
    "two": numpy.array([5.0] * 960 + [200.0] * 40),
    "three": numpy.array([5.0] * 900 + [6.0] * 60 + [200.0] * 40),
    "draws": numpy.where(draws.random(20_000) < 0.06, asleep, awake),
}
seen = {}
for name, values in SETS.items():
    seen[name, "data"] = numpy.percentile(values, RANKS)
    for library, ask in LIBRARIES.items():
        seen[name, library] = ask(values)
for (name, library), quantiles in seen.items():
    print(f"{name:6} {library:10}", *(f"p{rank} {value:8.2f}" for rank, value in zip(RANKS, quantiles, strict=True)))
as_described = all(
    seen["two", library][3] > 150 and seen["two", library][2] > 50 and seen["three", library][3] > 50
    for library in ("tdigest", "pytdigest")
)
as_described &= seen["two", "tdigest"][0] < 0
as_described &= all(seen["two", library][3] == 5 for library in ("fastdigest", "crick"))
sys.exit(0 if as_described else 1)
PYTHON
if timeout 60 "$work/python/bin/python" "$work/ask.py" 2>"$work/log"; then
    echo "as described"
elif [ -s "$work/log" ]; then
    unable "$(tail -1 "$work/log")"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
