#!/usr/bin/env bash
# fastparquet reads times of packets wrongly, silently, once latencies of a column differ by 0.15 s.
#
# Versions: fastparquet 2026.9.0 with pandas 3.1.1 and numpy 2.4.6; beside it pyarrow 26.0.1, polars
# 2.1.0 and duckdb 2.0.1 (all PyPI).
#
# Input, written by pyarrow: a packet log of two flows of one station, in order of arrival, as any
# simulator or capture tool writes it. Columns `sent_ns` and `received_ns` are INT64, nanoseconds
# since 1970, encoded DELTA_BINARY_PACKED (the encoding that suits times). One flow has a latency
# of 5 ms; the other's grows from 8 ms to a largest value and begins anew each 4 s, as a queue does.
#
# Expected: what was written. pyarrow, polars and duckdb return it in all cases.
#
# Seen: fastparquet returns other values and neither warns nor fails. Of 2000 rows, latency in ms:
#   largest   sent_ns wrong   received_ns wrong   p50 (right)      p95 (right)
#   108 ms    0               0                   6.5 (6.5)        97.5 (97.5)
#   157 ms    1738            0                   7019.9 (6.5)     13259.6 (142.3)
#   307 ms    1902            0                   52349.9 (6.5)    114844.5 (276.6)
#   1007 ms   1997            0                   492872.7 (6.5)   1025804.1 (903.2)
# Its decoder of bit-packed deltas collects octets in a register of 64 bits, and loses the upper
# ones where a block's deltas, less the smallest of them, need more than 28 bits: 2^28 ns are 0.27
# s. The lost bits add up, as each value is the sum of those before. Columns that rise evenly, such
# as `received_ns`, stay right, so that a table of a quiet link is right and one of a bufferbloated
# link is not. (Another valid table ended the reading process; it is not in here.)
#
# Why it matters: long tails are what a latency study is about, and they are what makes the values
# wrong. pandas takes fastparquet where pyarrow is not installed. A writer that cannot choose its
# readers stores times of nanoseconds plain.
#
# Needs: python3 with venv, at least 3.11. About 60 s, most of it to install.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 400 "$work/venv/bin/pip" install -q --disable-pip-version-check fastparquet==2026.9.0 pandas==3.1.1 \
    numpy==2.4.6 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1 || unable "packages could not be installed"

cat >"$work/read.py" <<'PY'
import sys

import duckdb, fastparquet, numpy, polars, pyarrow, pyarrow.parquet

path = f"{sys.argv[1]}/packets.parquet"
columns = ("sent_ns", "received_ns")

def packets(growth_ms):
    """Times of 50 packets a second of each flow, for 20 s, in order of arrival."""
    index = numpy.arange(1000, dtype=numpy.int64)
    call = 1_700_000_000_000_000_000 + index * 20_000_000
    bulk = call + 7_000_000
    queue = 8_000_000 + index % 200 * growth_ms * 5_000
    sent = numpy.concatenate([call, bulk])
    received = numpy.concatenate([call + 5_000_000, bulk + queue])
    order = numpy.argsort(received, kind="stable")
    return {"sent_ns": sent[order], "received_ns": received[order]}

readers = {
    "pyarrow": lambda: pyarrow.parquet.read_table(path).to_pydict(),
    "polars": lambda: polars.read_parquet(path).to_dict(as_series=False),
    "duckdb": lambda: duckdb.sql(f"select * from '{path}'").fetchnumpy(),
    "fastparquet": lambda: fastparquet.ParquetFile(path).to_pandas(),
}

for growth in (100, 150, 300, 1000):
    truth = packets(growth)
    pyarrow.parquet.write_table(pyarrow.table(truth), path, use_dictionary=False,
                                column_encoding=dict.fromkeys(columns, "DELTA_BINARY_PACKED"))
    for name, read in readers.items():
        table = {column: numpy.asarray(read()[column]) for column in columns}
        wrong = [int((table[column] != truth[column]).sum()) for column in columns]
        latency = (table["received_ns"] - table["sent_ns"]) / 1e6
        p50, p95 = numpy.percentile(latency, [50, 95])
        print(f"{growth} {name} {wrong[0]} {wrong[1]} {p50:.1f} {p95:.1f}")
PY
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work" >"$work/seen" || { cat "$work/seen"; unable "a reader failed"; }
cat "$work/seen"

cat >"$work/expected" <<'TABLE'
100 pyarrow 0 0 6.5 97.5
100 polars 0 0 6.5 97.5
100 duckdb 0 0 6.5 97.5
100 fastparquet 0 0 6.5 97.5
150 pyarrow 0 0 6.5 142.3
150 polars 0 0 6.5 142.3
150 duckdb 0 0 6.5 142.3
150 fastparquet 1738 0 7019.9 13259.6
300 pyarrow 0 0 6.5 276.6
300 polars 0 0 6.5 276.6
300 duckdb 0 0 6.5 276.6
300 fastparquet 1902 0 52349.9 114844.5
1000 pyarrow 0 0 6.5 903.2
1000 polars 0 0 6.5 903.2
1000 duckdb 0 0 6.5 903.2
1000 fastparquet 1997 0 492872.7 1025804.1
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
