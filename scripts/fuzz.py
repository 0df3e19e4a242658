#!/usr/bin/env python3
"""Lets libFuzzer work on a test from its corpus, and packs the inputs that it found.

usage: fuzz.py [--seconds N] [--merge] PACKAGE TEST [ARGUMENT OF LIBFUZZER ...]

TEST is the full path of a bolero test within its program. Its inputs are unpacked from `tests/corpus/PATH/OF/TEST.txt` of its crate into
`target/fuzz/inputs`, where the fuzzer adds to them. With --merge the file gets the smallest set of them that covers as much, beside the
lines that have a comment. A crash lies in `__fuzz__/PATH__OF__TEST/crashes` beside the test, and the ordinary test fails with it.
"""
import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def refuse(problem):
    """Ends the program: a wrong name or number."""
    print(f"fuzz: {problem}", file=sys.stderr)
    sys.exit(2)


def crate(package):
    """The folder of a package of the workspace."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)["packages"]
    folders = {each["name"]: pathlib.Path(each["manifest_path"]).parent for each in listed}
    if package not in folders:
        fuzzed = [name for name, folder in folders.items() if (folder / "tests/corpus").is_dir()]
        refuse(f"there is no package {package}; with fuzz targets are {', '.join(sorted(fuzzed))}")
    return folders[package]


def check_target(folder, package, test):
    """Refuses a test that no source of the package defines."""
    definition = re.compile(rf"\b{re.escape(test.rsplit('::', 1)[-1])}\b")
    if not any(definition.search(file.read_text()) for part in ("src", "tests") for file in (folder / part).rglob("*.rs")):
        packed = sorted(file.relative_to(folder / "tests/corpus") for file in (folder / "tests/corpus").rglob("*.txt"))
        refuse(f"{package} has no test {test}; it has {', '.join(str(file.with_suffix('')).replace('/', '::') for file in packed) or 'none'}")


def lines(corpus):
    """Inputs of a packed corpus, and the lines of those with a comment."""
    inputs, kept = set(), {}
    for line in corpus.read_text().splitlines() if corpus.exists() else []:
        digits = line.split("#")[0].strip()
        if digits:
            inputs.add(bytes.fromhex(digits))
            if "#" in line:
                kept[bytes.fromhex(digits)] = line
    return inputs, kept


def unpack(inputs, folder):
    """Writes inputs where libFuzzer looks for them, with the names that it gives."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(folder, kept, corpus):
    """Writes a corpus: an input a line, the shortest first, without the empty one, which libFuzzer always tries."""
    inputs = {file.read_bytes() for file in folder.iterdir()} | set(kept)
    texts = [kept.get(data, data.hex()) for data in sorted(inputs - {b""}, key=lambda data: (len(data), data))]
    corpus.parent.mkdir(parents=True, exist_ok=True)
    corpus.write_text("".join(f"{text}\n" for text in texts))
    print(f"fuzz: {len(texts)} inputs, {corpus.stat().st_size} bytes: {corpus.relative_to(ROOT)}")


def fuzz(asked, folder, arguments):
    """Runs libFuzzer with a folder to which it adds; ends with its exit code if that is not 0."""
    command = ["cargo", "bolero", "test", asked.test, "--package", asked.package, "--rustc-bootstrap", "--corpus-dir", folder]
    if asked.seconds and not asked.merge:
        command += ["-T", f"{asked.seconds}s"]
    command += [f"--engine-args={argument}" for argument in arguments]
    code = subprocess.run(command, cwd=ROOT).returncode
    if code:
        sys.exit(code)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="duration, 60 by default; 0 for ever")
    parser.add_argument("--merge", action="store_true", help="pack the smallest set of inputs that covers as much")
    parser.add_argument("package")
    parser.add_argument("test")
    asked, arguments = parser.parse_known_args()

    if asked.seconds < 0:
        refuse(f"{asked.seconds} seconds; allowed is 0, for ever, or more")
    folder = crate(asked.package)
    check_target(folder, asked.package, asked.test)
    corpus = folder / "tests/corpus" / (asked.test.replace("::", "/") + ".txt")
    inputs, kept = lines(corpus)
    found = ROOT / "target/fuzz/inputs" / asked.package / asked.test.replace("::", "__")
    unpack(inputs, found)
    if not asked.merge:
        fuzz(asked, found, arguments)
        return
    with tempfile.TemporaryDirectory() as smallest:
        fuzz(asked, smallest, ["-set_cover_merge=1", *arguments, found])
        pack(pathlib.Path(smallest), kept, corpus)


if __name__ == "__main__":
    main()
