"""The workspace for the lints: its crates, their Rust sources without comments and tests, and ratchets."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\(crate\))? )?mod \w+ \{.*\n\}\n?", re.S)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r'b?r(#+)".*?"\1|b?r"[^"]*"|b?"(?:[^"\\]|\\.)*"', re.S)


def arguments(options=("--list", "--renew"), names=()):
    """The words of the command line; one that is not allowed ends the program with exit code 2."""
    words = sys.argv[1:]
    for word in words:
        if word not in (*options, *names):
            allowed = ", ".join((*options, *names)) or "none"
            print(f"{pathlib.Path(sys.argv[0]).stem}: unknown argument {word}; allowed are: {allowed}", file=sys.stderr)
            sys.exit(2)
    return words


def crates():
    """Names and folders of all crates; a crate outside `crates` has the name of its folder."""
    folders = [file.parent for file in ROOT.glob("crates/*/Cargo.toml")]
    folders += [ROOT / name for name in ("studies",) if (ROOT / name / "Cargo.toml").exists()]
    return {folder.name: folder for folder in sorted(folders)}


def sources(folder):
    """Sorted Rust sources of a crate, without tests, examples and benchmarks."""
    return sorted(file for file in (folder / "src").rglob("*.rs") if file.name != "tests.rs")


def code(file, strings=True):
    """Text of a source without comments and test modules, and optionally without strings."""
    text = file.read_text()
    kept = []
    at = 0
    # A string may contain a comment's delimiter, and the reverse: the first to begin applies.
    for found in re.finditer(f"(?P<string>{STRING.pattern.replace('(#+)', '(?P<hashes>#+)').replace(chr(92) + '1', '(?P=hashes)')})|{COMMENT.pattern}", text, re.S):
        kept.append(text[at:found.start()])
        if found.group("string") is not None:
            kept.append(found.group() if strings else '""')
        at = found.end()
    return TESTS.sub("\n", "".join(kept) + text[at:])


def place(file):
    """Path of a file from the root of the workspace."""
    return str(file.relative_to(ROOT))


def ratchet(name, counts, found, arguments, hint):
    """Compares counts with the limits in `NAME.json`, and lowers the limits if `--renew` is among the arguments.

    No count may increase, but `--renew` accepts code that moved between keys if the sum does not increase. `found` contains the places of
    each key. Returns whether all counts are within their limits.
    """
    file = HERE / f"{name}.json"
    allowed = json.loads(file.read_text()) if file.exists() else None
    counts = {key: count for key, count in sorted(counts.items()) if count}
    now = sum(counts.values())
    before = now if allowed is None else sum(allowed.values())
    print(f"{name}: {now} ({before} allowed)")
    if "--list" in arguments:
        for key in counts:
            print(*(f"  {key}: {place}" for place in found.get(key, [])), sep="\n")
    if "--renew" in arguments or allowed is None:
        if now > before:
            print(f"{name}: {now}, allowed are {before}; the sum may only decrease")
            return False
        file.write_text(json.dumps(counts, indent=2) + "\n")
        return True
    script = f"scripts/lint/{pathlib.Path(sys.argv[0]).name}"
    more = {key: count for key, count in counts.items() if count > allowed.get(key, 0)}
    for key, count in more.items():
        print(*(f"  {place}" for place in found.get(key, [])[:40]), sep="\n")
        print(f"{name}: {key} has {count}, allowed are {allowed.get(key, 0)}: {hint}")
    if more:
        print(f"{name}: if code moved and the sum did not increase: {script} --renew")
    elif now < before:
        print(f"{name}: fewer than allowed; to lower the limits: {script} --renew")
    return not more
