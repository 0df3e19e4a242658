#!/usr/bin/env python3
"""The documents: what is wrong with them, the commands in them, and what the site's search finds.

  scripts/docs.py check               links, anchors, widths, pages, marks of commands
  scripts/docs.py run [PAGE ...]      runs the commands marked `ci` as they stand, page by page
  scripts/docs.py list [KIND]         names the blocks of commands of a kind: ci, long, device
  scripts/docs.py search              asks the built site for every scenario key (needs chromium)
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 100
KINDS = ("ci", "long", "device")
KEYS = ROOT / "docs/reference/scenario-keys.md"


def pages():
    """All pages that people read, in order: the root's, then the site's."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def named(page):
    return str(page.relative_to(ROOT))


def outside_of_code(text):
    """The lines of a page that are no code, with their numbers."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def blocks(page):
    """Blocks of code: number of the first line, marks, text."""
    marks, lines, first, indent = None, [], 0, 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        stripped = line.lstrip()
        if marks is None and stripped.startswith("```"):
            marks, lines, first, indent = stripped[3:].strip().split(","), [], number + 1, len(line) - len(stripped)
        elif marks is not None and stripped.startswith("```"):
            yield first, marks, "\n".join(lines)
            marks = None
        elif marks is not None:
            lines.append(line[indent:])


def anchors(page):
    """The anchors of a page's headings, as GitHub and mdBook make them."""
    found = set()
    for _, line in outside_of_code(page.read_text()):
        if heading := re.match(r"#+ (.*)", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            while name in found:
                name += "-1"
            found.add(name)
    return found


def check():
    """All that is wrong, one line each."""
    wrong = []
    summary = ROOT / "docs/SUMMARY.md"
    listed = set()
    for page in pages():
        text = page.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > WIDTH and "](http" not in line:
                wrong.append(f"{named(page)}:{number}: {len(line)} columns; allowed are {WIDTH}")
        for number, line in outside_of_code(text):
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                other = (page.parent / path).resolve() if path else page
                if page == summary:
                    listed.add(other)
                if not other.exists():
                    wrong.append(f"{named(page)}:{number}: {target} is not there")
                elif anchor and other.suffix == ".md" and anchor not in anchors(other):
                    wrong.append(f"{named(page)}:{number}: {path or 'the page'} has no heading #{anchor}")
        for number, marks, block in blocks(page):
            if marks[0] in ("sh", "bash", "shell", "console") and (len(marks) != 2 or marks[1] not in KINDS):
                wrong.append(f"{named(page)}:{number}: commands without a mark; allowed are ```sh,{{{','.join(KINDS)}}}")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page != summary and page.resolve() not in listed:
            wrong.append(f"docs/SUMMARY.md: {named(page)} is not listed")
    readme = len((ROOT / "README.md").read_text().splitlines())
    if readme > 120:
        wrong.append(f"README.md: {readme} lines; allowed are 120")
    for line in wrong:
        print(line)
    print(f"docs: {len(pages())} pages, {len(wrong)} defects", file=sys.stderr)
    return not wrong


def commands(kind):
    for page in pages():
        for number, marks, block in blocks(page):
            if marks[0] == "sh" and marks[1:] == [kind]:
                yield page, number, block


def run(only):
    """Runs the `ci` blocks of each page in order, in the root of a fresh copy of the repository."""
    program = ROOT / "target/release"
    if not (program / "airbound").exists():
        sys.exit("docs: there is no target/release/airbound; build it with: make build")
    environment = os.environ | {"PATH": f"{program}:{os.environ['PATH']}", "COLUMNS": "100"}
    failed, count = [], 0
    for page in pages():
        own = [(number, block) for at, number, block in commands("ci") if at == page]
        if not own or (only and named(page) not in only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                "git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read 2>/dev/null"
                f" | tar -x -C {folder}",
                shell=True, cwd=ROOT, check=True,
            )
            for number, block in own:
                count += 1
                began = time.monotonic()
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", block],
                    cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                )
                took = time.monotonic() - began
                verdict = "ok" if done.returncode == 0 else "FAILED"
                print(f"{verdict} {named(page)}:{number} ({took:.1f} s)", flush=True)
                if done.returncode != 0:
                    failed.append(number)
                    print(block, done.stdout[-2000:], f"exit code {done.returncode}", sep="\n")
    print(f"docs: {count} blocks of commands, {len(failed)} failed", file=sys.stderr)
    return not failed


def search():
    """Asks the search of the built site for every key of the reference."""
    site = ROOT / "target/docs"
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("docs: SKIPPED, the site's search is tried with chromium, which is not here", file=sys.stderr)
        return True
    keys = sorted(set(re.findall(r"^\| `([a-z0-9.-]+)`", KEYS.read_text(), re.M)))
    index = next(site.glob("searchindex*.js"))
    library = next(site.glob("elasticlunr*.js"))
    script = f"""
      const shown = JSON.parse(window.search_data || 'null') || window.search;
      const index = elasticlunr.Index.load(shown.index);
      const missing = {json.dumps(keys)}.filter(key => {{
        const found = index.search(key, shown.search_options);
        return !found.some(hit => shown.doc_urls[hit.ref].includes('scenario-keys'));
      }});
      document.body.textContent = 'MISSING ' + JSON.stringify(missing) + ' END';"""
    # The index is a script that sets window.search.
    text = f"""<html><body></body><script src="{library.as_uri()}"></script><script src="{index.as_uri()}"></script>
      <script>{script}</script></html>"""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "search.html"
        page.write_text(text)
        dumped = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom", page.as_uri()],
            text=True, capture_output=True, check=False,
        ).stdout
    found = re.search(r"MISSING (\[.*\]) END", dumped)
    if not found:
        sys.exit(f"docs: the search could not be tried: {dumped[:500]}")
    missing = json.loads(found[1])
    print(f"docs: the search finds {len(keys) - len(missing)} of {len(keys)} scenario keys", *missing, file=sys.stderr)
    return not missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "run", "list", "search"])
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.what == "check":
        good = check()
    elif arguments.what == "run":
        good = run(set(arguments.names))
    elif arguments.what == "search":
        good = search()
    else:
        good = True
        for kind in arguments.names or KINDS:
            for page, number, block in commands(kind):
                print(f"{kind} {named(page)}:{number}", *(f"    {line}" for line in block.splitlines()), sep="\n")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
