#!/usr/bin/env python3
"""Lists the public items of the library crates, and compares them with `surface/CRATE.txt`; of crates that others build on also their
signatures, with `surface/CRATE-signatures.txt`, so that a change which breaks a user's build is seen.

usage: surface.py [--renew] [CRATE...]

They are read from rustdoc's JSON, which is unstable: the check is SKIPPED if the toolchain does not write it. Each line is an item that
other crates can name: the shortest path to it, and its kind. Methods count; fields, variants and implementations of traits do not; they
are lines of signatures.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import workspace
from signatures import Signatures

CRATES = ("units", "wifi", "senders", "control", "record", "runs", "link")
MOST = {"control": 360}
#: Crates for the registry, whose signatures are held.
SIGNED = ("link",)
STORED = workspace.HERE / "surface"
KINDS = {"struct", "enum", "union", "trait", "function", "constant", "static", "type_alias", "macro", "proc_macro"}


def documented(names):
    """Writes the JSON of the crates; returns its folder, or `None` if rustdoc fails."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", workspace.ROOT / "target"))
    with tempfile.TemporaryDirectory() as folder:
        # Enables unstable options in rustdoc only: in cargo's environment they would cause rebuilds.
        wrapper = pathlib.Path(folder) / "rustdoc"
        wrapper.write_text('#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n')
        wrapper.chmod(0o755)
        environment = {**os.environ, "RUSTDOC": str(wrapper), "RUSTDOCFLAGS": "-Z unstable-options --output-format json"}
        command = [os.environ.get("CARGO", "cargo"), "doc", "--quiet", "--no-deps", "--lib",
                   *(part for name in names for part in ("--package", f"airbound-{name}"))]
        run = subprocess.run(command, cwd=workspace.ROOT, env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        print(f"surface: SKIPPED, rustdoc of this toolchain writes no JSON:\n{run.stderr.strip()[-600:]}")
        return None
    return target / "doc"


def public_items(crate):
    """Number, kind and path of all public items."""
    index, found, visited = crate["index"], {}, set()

    def item(number):
        return index.get(str(number))

    def note(kind, number, path):
        known = found.get(number)
        if known is None or (len(path), path) < (len(known[1]), known[1]):
            found[number] = (kind, path)

    def visit(number, path):
        one = item(number)
        if one is None or (number, path) in visited or len(path) > 9:
            return
        visited.add((number, path))
        kind, inner = next(iter(one["inner"].items()))
        if kind == "use":
            if inner.get("id") is None:
                return
            if inner.get("is_glob"):
                target = item(inner["id"])
                for child in (target["inner"].get("module", {}).get("items", []) if target else []):
                    visit(child, path)
            else:
                renamed(inner["id"], path, inner["name"])
            return
        if one["name"] is None or one["visibility"] != "public":
            return
        renamed(number, path, one["name"])

    def renamed(number, path, name):
        one = item(number)
        if one is None:
            return
        kind, inner = next(iter(one["inner"].items()))
        here = (*path, name)
        if kind == "module":
            for child in inner["items"]:
                visit(child, here)
        elif kind == "use":
            visit(number, path)
        elif kind in KINDS:
            note(kind, number, here)
            for implementation in inner.get("impls", []) if isinstance(inner, dict) else []:
                block = item(implementation)
                if block is None or block["inner"]["impl"]["trait"] is not None:
                    continue
                for member in block["inner"]["impl"]["items"]:
                    method = item(member)
                    if method is not None and method["visibility"] == "public":
                        note("method" if "function" in method["inner"] else "constant", member, (*here, method["name"]))
            for member in inner.get("items", []) if kind == "trait" else []:
                method = item(member)
                if method is not None:
                    note("method", member, (*here, method["name"]))

    for child in item(crate["root"])["inner"]["module"]["items"]:
        visit(child, ())
    return [(number, kind, path) for number, (kind, path) in found.items()]


def compared(file, lines, renew):
    """The stored lines, and whether others were found; these are printed, or stored with `renew`."""
    stored = STORED / file
    before = stored.read_text().splitlines() if stored.exists() else []
    if renew:
        STORED.mkdir(exist_ok=True)
        stored.write_text("".join(f"{line}\n" for line in lines))
    elif lines != before:
        print(*(f"  + {line}" for line in lines if line not in before), *(f"  - {line}" for line in before if line not in lines), sep="\n")
        return before, True
    return before, False


def main():
    arguments = workspace.arguments(("--renew",), CRATES)
    present = [name for name in CRATES if name in workspace.crates() and (name in arguments or not set(CRATES) & set(arguments))]
    folder = documented(present)
    if folder is None:
        return
    failed = False
    for name in present:
        crate = json.loads((folder / f"airbound_{name}.json").read_text())
        found = public_items(crate)
        items = sorted(f"{'::'.join(path)} {kind}" for _, kind, path in found)
        print(f"surface: {name} has {len(items)} public items")
        before, differs = compared(f"{name}.txt", items, "--renew" in arguments)
        failed |= differs
        if name in SIGNED:
            signatures = Signatures(crate, {number: path for number, _, path in found})
            lines = sorted({line for number, _, path in found for line in signatures.lines(number, path)})
            failed |= compared(f"{name}-signatures.txt", lines, "--renew" in arguments)[1]
        most = max(MOST.get(name, len(items)), len(before))
        if len(items) > most:
            failed = True
            print(f"surface: {name} has {len(items)} public items; allowed are {most}")
    if failed:
        sys.exit("surface: the public items changed; what is gone, or new in a type that users build or match, breaks them; if intended: scripts/lint/surface.py --renew")


if __name__ == "__main__":
    main()
