#!/usr/bin/env python3
"""Keeps the figures of pages equal to docs/results/results.json, the one file of results.

  scripts/results.py check              pages whose figures differ from the file, one per line
  scripts/results.py write              writes the figures of the file into the pages
  scripts/results.py take NAME [FILE]   takes what a command printed with --markdown or --json (standard input) as entry NAME
  scripts/results.py show [NAME]        names the entries, or the values and tables of one

An entry has the command, its date and commit, `values` (single figures) and `tables` (rows of texts, the first is the head).
A page names what it shows in comments, which readers do not see:

  <!-- run law -->              the next line says command, date and commit; up to <!-- end -->
  <!-- table law.headlines -->  the next lines are that table; up to <!-- end -->
  4 of 6<!-- wqm.held wqm.headlines -->   the last numbers before the comment, in that order
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "docs/results/results.json"
BLOCK = re.compile(r"<!-- (run|table) ([\w.-]+) -->\n(.*?)<!-- end -->", re.S)
INLINE = re.compile(r"<!-- ((?:[\w-]+\.[\w-]+ ?)+)-->")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?")
VERDICTS = ("held", "beyond", "undecided", "trend", "missed", "impossible", "not run")


class Unknown(Exception):
    """A page names an entry that the file does not have."""


def found(results, name, part):
    entry, _, key = name.partition(".")
    if entry not in results or (part and key not in results[entry].get(part, {})):
        raise Unknown(f"docs/results/results.json has no {part or 'entry'} {name}")
    return results[entry][part][key] if part else results[entry]


def block(results, kind, name):
    """The lines of a block."""
    if kind == "run":
        entry = found(results, name, None)
        commit = f", commit `{entry['commit']}`" if entry.get("commit") else ""
        return f"`{entry['command']}`, {entry['date']}{commit}.\n"
    head, *rows = found(results, name, "tables")
    texts = lambda row: ("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |").replace("|  |", "| |")
    rule = "|" + "|".join("---:" if rows and all(is_figure(row[place]) for row in rows) else "---" for place in range(len(head))) + "|"
    return "\n".join([texts(head), rule, *map(texts, rows)]) + "\n"


def is_figure(cell):
    return isinstance(cell, (int, float)) or re.fullmatch(r"[-+–]?[\d.,]*\s*%?", str(cell)) is not None


def inline(results, text):
    """The text with the numbers before each comment as in the file."""
    made, start = "", 0
    for mark in INLINE.finditer(text):
        names = mark[1].split()
        before = text[start : mark.start()]
        line = before.rfind("\n") + 1
        numbers = list(NUMBER.finditer(before, line))[-len(names) :]
        if len(numbers) < len(names):
            raise Unknown(f"fewer than {len(names)} numbers stand before <!-- {mark[1]}-->")
        for number, name in reversed(list(zip(numbers, names))):
            value = found(results, name, "values")
            before = before[: number.start()] + str(value) + before[number.end() :]
        made += before + mark[0]
        start = mark.end()
    return made + text[start:]


def page(results, text):
    text = BLOCK.sub(lambda mark: f"<!-- {mark[1]} {mark[2]} -->\n{block(results, mark[1], mark[2])}<!-- end -->", text)
    return inline(results, text)


def update(write):
    """Compares all pages with the file, or writes them; returns the number of pages that differ."""
    results, wrong = json.loads(FILE.read_text()), 0
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text()
        name = path.relative_to(ROOT)
        try:
            made = page(results, text)
        except Unknown as error:
            print(f"{name}: {error}")
            wrong += 1
            continue
        if made == text:
            continue
        if write:
            path.write_text(made)
            print(f"{name}: written")
            continue
        wrong += 1
        for number, (is_, right) in enumerate(zip(text.splitlines(), made.splitlines()), 1):
            if is_ != right:
                print(f"{name}:{number}: {is_.strip()!r} differs from results.json: {right.strip()!r}; run: scripts/results.py write")
                break
        else:
            print(f"{name}: a table has another number of rows than in results.json; run: scripts/results.py write")
    return wrong


def tables_of(text):
    """The tables of a page of Markdown, by the words of the heading above each."""
    tables, heading, number, rows = {}, "", 0, []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip().replace("\\|", "|").replace("**", "") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]])
        elif rows:
            number += 1
            tables[heading if number == 1 else f"{heading}-{number}"] = [rows[0], *rows[2:]]
            rows = []
        if title := re.match(r"#+ ([^:]*)", line):
            heading = re.sub(r"[^\w]+", "-", re.sub(r"<[^>]*>", "", title[1]).lower()).strip("-")
            number = 0
    return tables


def entry_of(text):
    """The command, values and tables that a command printed with --markdown or --json."""
    if text.lstrip().startswith(("{", "[")):
        document = json.loads(text)
        if isinstance(document, list):
            # Rows of `validate --json`: those with a tolerance are judged.
            verdicts = [row["verdict"] for row in document]
            return {"values": {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))} | {"rows": len(verdicts)}}
        return {part: document[part] for part in ("command", "values", "tables") if part in document}
    entry = {"tables": tables_of(text)}
    if written := re.search(r"^Written by `(.*?)(?: --markdown)?`", text, re.M):
        entry["command"] = written[1]
    if "headlines" in entry["tables"]:
        verdicts = [row[-1] for row in entry["tables"]["headlines"][1:]]
        entry["values"] = {name.replace(" ", "-"): verdicts.count(name) for name in VERDICTS}
        # Values that no run can reach are counted apart.
        entry["values"]["headlines"] = len(verdicts) - verdicts.count("impossible")
    return entry


def refuse(problem):
    """Ends the program: a wrong name or file."""
    print(f"results: {problem}", file=sys.stderr)
    sys.exit(2)


def take(name, file, date, commit):
    try:
        text = pathlib.Path(file).read_text() if file else sys.stdin.read()
        printed = entry_of(text)
    except (OSError, ValueError, KeyError, TypeError) as error:
        refuse(f"{file or 'standard input'} is not what a command prints with --markdown or --json: {error}")
    results = json.loads(FILE.read_text())
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    run = {"date": date or datetime.date.today().isoformat(), "commit": commit or git("rev-parse", "--short=8", "HEAD")}
    entry = results.get(name, {}) | run | printed
    if "command" not in entry:
        refuse(f"entry {name} has no command; write it into docs/results/results.json first")
    order = ("command", "date", "commit", "values", "tables")
    results[name] = {key: entry[key] for key in [*order, *entry] if key in entry}
    store(results)
    update(write=True)


def store(results):
    """Writes the file: a row of a table stands in one line."""
    text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
    text = re.sub(r"\[\n\s+((?:\"(?:[^\"\\]|\\.)*\"|[-\d.e+]+|null)(?:,\n\s+(?:\"(?:[^\"\\]|\\.)*\"|[-\d.e+]+|null))*)\n\s+\]",
                  lambda row: "[" + re.sub(r",\n\s+", ", ", row[1]) + "]", text)
    FILE.write_text(text + "\n")


def show(name):
    results = json.loads(FILE.read_text())
    if name is None:
        for entry, content in results.items():
            print(f"{entry:28} {content['date']}  {content['command']}")
    elif name not in results:
        refuse(f"there is no entry {name}; there are {', '.join(results)}")
    else:
        print(json.dumps(results[name], indent=1, ensure_ascii=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("check", "write", "take", "show"))
    parser.add_argument("name", nargs="?")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--date", help="date of the run (take; default: today)")
    parser.add_argument("--commit", help="commit of the program that ran (take; default: HEAD)")
    arguments = parser.parse_args()
    if arguments.task in ("check", "write") and arguments.name is not None:
        refuse(f"{arguments.task} takes no name: it is about all pages")
    if arguments.task == "take":
        if arguments.name is None:
            parser.error("take needs the NAME of an entry")
        take(arguments.name, arguments.file, arguments.date, arguments.commit)
    elif arguments.task == "show":
        show(arguments.name)
    elif update(write=arguments.task == "write"):
        sys.exit(1)


if __name__ == "__main__":
    main()
