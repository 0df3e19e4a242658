#!/usr/bin/env bash
# DuckDB cuts latencies to whole milliseconds where it writes Parquet, and reads those of others
# without their unit.
#
# Versions: duckdb 2.0.1, pyarrow 26.0.1, polars 2.1.0 (all PyPI).
#
# Input, made here: 1000 packets, each with a time of sending and one of arrival (TIMESTAMP, in us),
# 0.3 to 2.298 ms apart. DuckDB computes `received - sent` and keeps it, by COPY as Parquet and CSV
# and as a table of its own; and reads it back. The other way round polars writes a Duration of ns
# and one of us to one file (pyarrow's are alike), which DuckDB reads.
#
# Expected: what was written, or an error; and one kind of value for durations.
#
# Seen:
#   written by DuckDB   mean        least       values that are 0
#   table, CSV          1.299 ms    0.300 ms    0
#   Parquet             0.800 ms    0           350 of 1000
#   written by polars   type        1.5 ms is read as
#   Duration of ns      BIGINT      1500000
#   Duration of us      BIGINT      1500
# A difference of two times is an INTERVAL of microseconds. Parquet's INTERVAL has months, days and
# milliseconds, and DuckDB divides without a word. polars and pyarrow keep the unit in the file's
# Arrow schema, next to plain numbers, which DuckDB does not look at.
#
# Why it matters: `COPY (SELECT *, received - sent AS latency ...)` is how a packet log becomes a
# file to share. On Wi-Fi half a millisecond is the time of an aggregate: means lose 0.5 ms, and what
# is below 1 ms is gone. Write epoch_us(received) - epoch_us(sent), with the unit in the name.
#
# Needs: python3 with venv, at least 3.11. 30 s, most of it to install (2 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 400 "$work/venv/bin/pip" install -q --disable-pip-version-check duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0 \
    || unable "packages could not be installed"

cat >"$work/read.py" <<'PY'
import datetime, os, sys

import duckdb, polars, pyarrow.parquet

os.chdir(sys.argv[1])
duckdb.sql("""
    CREATE TABLE log AS SELECT sent, sent + to_microseconds(300 + 2 * packet) AS received FROM (
        SELECT packet, TIMESTAMP '2026-01-01' + to_milliseconds(packet) AS sent FROM range(1000) AS rows(packet))""")
duckdb.sql("CREATE TABLE own AS SELECT received - sent AS latency FROM log")
for form in "parquet", "csv":
    duckdb.sql(f"COPY (SELECT received - sent AS latency FROM log) TO 'log.{form}'")
for source in "own", "'log.csv'", "'log.parquet'":
    print(source, *duckdb.sql(f"""
        SELECT round(1000 * avg(epoch(latency::INTERVAL)), 3), 1000 * epoch(min(latency::INTERVAL)),
            count(*) FILTER (latency::INTERVAL = INTERVAL 0 SECONDS) FROM {source}""").fetchall()[0])

wait = [datetime.timedelta(microseconds=1500)]
polars.DataFrame({"ns": polars.Series(wait, dtype=polars.Duration("ns")), "us": polars.Series(wait, dtype=polars.Duration("us"))}) \
    .write_parquet("durations.parquet")
print("arrow", *pyarrow.parquet.read_schema("durations.parquet").types)
print("duckdb", *duckdb.sql("SELECT typeof(ns), ns, typeof(us), us FROM 'durations.parquet'").fetchall()[0])
PY
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
cat >"$work/expected" <<'TABLE'
own 1.299 0.3 0
'log.csv' 1.299 0.3 0
'log.parquet' 0.8 0.0 350
arrow duration[ns] duration[us]
duckdb BIGINT 1500000 BIGINT 1500
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
