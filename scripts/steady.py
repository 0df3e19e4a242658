#!/usr/bin/env python3
"""Lists the rows whose verdict is the same in ten quick reproductions with ten seeds: studies/data/steady.

Usage: scripts/steady.py [PAPER ...]     needs target/debug/airbound (make build)

Plum's rows have to be the same over the measured traces, where they are beside the project, and over synthetic ones.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAPERS = ["wqm", "last-pq", "law", "low-delay-rate-allocation", "plum"]
SEEDS = range(1, 11)


def verdicts(paper: str, seed: int, page: pathlib.Path, place: pathlib.Path) -> dict[str, str]:
    """The verdicts of a quick reproduction in a folder, by claim and metric."""
    program = ROOT / "target/debug/airbound"
    command = [program, "reproduce", paper, "--quick", "--json", "--seed", str(seed), "--out", page]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, cwd=place)
    if done.returncode not in (0, 1):
        sys.exit(f"{paper}, seed {seed}: {done.stderr}")
    rows = json.loads(done.stdout)
    return {f"{row['id']} | {row['metric']}": row["verdict"] for row in rows if row["verdict"] != "informs"}


def main() -> None:
    papers = sys.argv[1:] or PAPERS
    if unknown := set(papers) - set(PAPERS):
        print(f"steady: there is no paper {', '.join(sorted(unknown))}; allowed are {', '.join(PAPERS)}", file=sys.stderr)
        sys.exit(2)
    if unknown := [paper for paper in papers if paper not in PAPERS]:
        sys.exit(f"there is no paper {unknown[0]}; there are {', '.join(PAPERS)}")
    with tempfile.TemporaryDirectory() as folder:
        for paper in papers:
            page = pathlib.Path(folder) / "page.html"
            places = [ROOT, pathlib.Path(folder)] if paper == "plum" else [ROOT]
            first, *others = (verdicts(paper, seed, page, place) for place in places for seed in SEEDS)
            steady = [row for row, verdict in first.items() if all(of.get(row) == verdict for of in others)]
            text = "# Rows whose verdict was the same in ten quick reproductions: scripts/steady.py\n"
            text += "".join(f"{row}\n" for row in steady)
            (ROOT / f"studies/data/steady/{paper}.txt").write_text(text)
            print(f"{paper}: {len(steady)} of {len(first)} rows are steady")


if __name__ == "__main__":
    main()
