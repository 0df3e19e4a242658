#!/usr/bin/env bash
# pandas and pyarrow refuse a folder of Parquet files whose paths repeat a column, which polars and
# duckdb read.
#
# Versions: pyarrow 26.0.1, pandas 3.1.1, polars 2.1.0, duckdb 2.0.1 (all PyPI), numpy 2.4.6.
#
# Input, made here by pyarrow: two files, `scheme=fifo/part.parquet` and
# `scheme=linux/part.parquet`, as Hive names folders. Each has a column `scheme`, a text with the
# same value, and a column `p95_ms`; so a file that is taken out of its folder still says what it
# is.
#
# Expected: one table of two rows with `scheme`, from each reader by its defaults.
#
# Seen:
#   pandas.read_parquet          ArrowTypeError: Unable to merge: Field scheme has incompatible types:
#   pyarrow.parquet.read_table   string vs dictionary<values=string, indices=int32, ordered=0>
#   the same, partitioning=None  2 rows
#   pyarrow.dataset.dataset      2 rows
#   polars.read_parquet          2 rows
#   duckdb                       2 rows
# pyarrow.parquet infers a dictionary for what stands in a path, and does not merge it with the text
# of the file, though both are equal. Folders named `scheme-fifo` are read by all.
#
# Why it matters: results of sweeps over schemes and stations are kept like this, and tried by their
# writer with one reader. The message names a type, and no path.
#
# Needs: python3 with venv, at least 3.11. 25 s, most of it to install (3 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 400 "$work/venv/bin/pip" install -q --disable-pip-version-check pyarrow==26.0.1 pandas==3.1.1 \
    numpy==2.4.6 polars==2.1.0 duckdb==2.0.1 || unable "packages could not be installed"

cat >"$work/read.py" <<'PY'
import pathlib, sys

import duckdb, pandas, polars, pyarrow, pyarrow.dataset, pyarrow.parquet

for sign in ("=", "-"):
    folder = pathlib.Path(sys.argv[1], f"results{sign}")
    for scheme, p95 in (("fifo", 87.1), ("linux", 21.5)):
        place = folder / f"scheme{sign}{scheme}"
        place.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"scheme": [scheme], "p95_ms": [p95]}), place / "part.parquet")
    readers = {
        "pandas": lambda: pandas.read_parquet(folder).to_dict("list"),
        "pyarrow": lambda: pyarrow.parquet.read_table(folder).to_pydict(),
        "pyarrow-no-partitioning": lambda: pyarrow.parquet.read_table(folder, partitioning=None).to_pydict(),
        "pyarrow-dataset": lambda: pyarrow.dataset.dataset(folder).to_table().to_pydict(),
        "polars": lambda: polars.read_parquet(folder).to_dict(as_series=False),
        "duckdb": lambda: duckdb.sql(f"select * from '{folder}/**/*.parquet'").to_arrow_table().to_pydict(),
    }
    for name, read in readers.items():
        try:
            table = read()
            seen = " ".join(f"{scheme}:{p95}" for scheme, p95 in sorted(zip(table["scheme"], table["p95_ms"])))
        except pyarrow.ArrowTypeError as error:
            seen = str(error).split(":")[0]
        print(sign, name, seen)
PY
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"

cat >"$work/expected" <<'TABLE'
= pandas Unable to merge
= pyarrow Unable to merge
= pyarrow-no-partitioning fifo:87.1 linux:21.5
= pyarrow-dataset fifo:87.1 linux:21.5
= polars fifo:87.1 linux:21.5
= duckdb fifo:87.1 linux:21.5
- pandas fifo:87.1 linux:21.5
- pyarrow fifo:87.1 linux:21.5
- pyarrow-no-partitioning fifo:87.1 linux:21.5
- pyarrow-dataset fifo:87.1 linux:21.5
- polars fifo:87.1 linux:21.5
- duckdb fifo:87.1 linux:21.5
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
