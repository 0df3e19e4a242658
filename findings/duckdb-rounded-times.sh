#!/usr/bin/env bash
# DuckDB reads late fractions of a column as whole numbers, and neither DuckDB nor polars keeps a
# field of NDJSON that first appears late. Neither says so.
#
# Versions: duckdb 2.0.1, polars 2.1.0, pandas 3.1.1 (all PyPI).
#
# Input, made here: a log of 40 000 packets as CSV and as NDJSON. `wait_s` is the time in a queue as
# `%g` prints it: 0 for the first 30 000 packets, then 0.35 (each second one) or 0.65. In the NDJSON
# each hundredth packet of the busy part also has `"drop": "retry_limit"`.
#
# Expected: a largest wait of 0.65 s, a mean wait of 0.125 s, 100 drops; or an error.
#
# Seen:
#   reader             largest   mean    field `drop`
#   duckdb, CSV        1         0.125   (not in the CSV)
#   duckdb, NDJSON     1         0.125   missing
#   polars, CSV        error     error   (not in the CSV)
#   polars, NDJSON     error     error   missing without an error where `wait_s` is left out
#   pandas, both       0.65      0.125   100
# Types are guessed from the first rows (20 480 in duckdb, 100 in polars): `0` is BIGINT. duckdb then
# casts 0.35 to 0 and 0.65 to 1, as its casts round. `sample_size = -1` (duckdb) and
# `infer_schema_length = None` (polars) read it right.
#
# Why it matters: a quiet link first and a busy one then is the usual course of a latency test. Of
# half the busy packets the wait is gone, of the others it is a second; the mean even stays right.
# Reasons of rare losses vanish with their column.
#
# Needs: python3 with venv, at least 3.11. 30 s, most of it to install.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 400 "$work/venv/bin/pip" install -q --disable-pip-version-check duckdb==2.0.1 polars==2.1.0 \
    pandas==3.1.1 || unable "packages could not be installed"

cat >"$work/read.py" <<'PY'
import json, sys

import duckdb, pandas, polars

folder = sys.argv[1]

def waits():
    """Whole seconds are printed without a fraction, as `%g` and most printers of numbers do."""
    for packet in range(40_000):
        yield packet, "0" if packet < 30_000 else ("0.35", "0.65")[packet % 2]

with open(f"{folder}/log.csv", "w") as file:
    file.write("packet,wait_s\n")
    file.writelines(f"{packet},{wait}\n" for packet, wait in waits())
with open(f"{folder}/log.ndjson", "w") as full, open(f"{folder}/drops.ndjson", "w") as drops:
    for packet, wait in waits():
        drop = ', "drop": "retry_limit"' if packet >= 30_000 and packet % 100 == 0 else ""
        full.write(f'{{"packet": {packet}, "wait_s": {wait}{drop}}}\n')
        drops.write(f'{{"packet": {packet}{drop}}}\n')

def tell(name, read):
    try:
        largest, mean, drops = read()
        print(name, f"{largest:g}", f"{mean:g}", drops)
    except polars.exceptions.ComputeError:
        print(name, "error")

def by_duckdb(file):
    rows = duckdb.sql(f"select * from '{folder}/{file}'")
    [(largest, mean)] = duckdb.sql("select max(wait_s), avg(wait_s) from rows").fetchall()
    return largest, mean, "there" if "drop" in rows.columns else "missing"

def by_frame(frame):
    drops = "missing"
    if "drop" in frame.columns:
        drops = frame["drop"].count()
    return frame["wait_s"].max(), frame["wait_s"].mean(), drops

tell("duckdb-csv", lambda: by_duckdb("log.csv"))
tell("duckdb-ndjson", lambda: by_duckdb("log.ndjson"))
tell("polars-csv", lambda: by_frame(polars.read_csv(f"{folder}/log.csv")))
tell("polars-ndjson", lambda: by_frame(polars.read_ndjson(f"{folder}/log.ndjson")))
print("polars-drops", "drop" in polars.read_ndjson(f"{folder}/drops.ndjson").columns)
tell("pandas-csv", lambda: by_frame(pandas.read_csv(f"{folder}/log.csv")))
tell("pandas-ndjson", lambda: by_frame(pandas.read_json(f"{folder}/log.ndjson", lines=True)))
PY

timeout 120 "$work/venv/bin/python" "$work/read.py" "$work" | tee "$work/seen"
cat >"$work/expected" <<'TABLE'
duckdb-csv 1 0.125 missing
duckdb-ndjson 1 0.125 missing
polars-csv error
polars-ndjson error
polars-drops False
pandas-csv 0.65 0.125 missing
pandas-ndjson 0.65 0.125 100
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
