#!/usr/bin/env python3
"""Usage: scripts/tests/read_apk.py PACKAGE FOLDER

Reads a package of apk's version 3 (apk-v3(5)) by its offsets, without code of the one that writes (packaging/openwrt/apk.py), checks each rule that
apk-tools 3.0.6 checks (adb.c, extract_v3.c), unpacks it to FOLDER/data and its scripts to FOLDER, and prints its information.
"""

import hashlib
import os
import sys
import zlib

INFORMATION = "name version identity description arch license origin maintainer url commit time installed-size file-size priority depends".split()
SCRIPTS = "trigger pre-install post-install pre-deinstall post-deinstall pre-upgrade post-upgrade".split()


def le(data, at, size):
    assert 0 <= at and at + size <= len(data), f"{size} B at {at} of {len(data)}"
    return int.from_bytes(data[at : at + size], "little")


def value(tree, tag):
    """A number, bytes, or the list of an array's or object's slots; None where there is nothing."""
    kind, rest = tag >> 28, tag & 0x0FFFFFFF
    if kind == 0:
        return None
    if kind == 1:
        return rest
    if kind in (8, 9, 10):
        size = 1 << (kind - 8)
        assert rest % size == 0, f"a blob's length of {size} B at {rest}"
        length = le(tree, rest, size)
        assert rest + size + length <= len(tree)
        return bytes(tree[rest + size : rest + size + length])
    assert kind in (13, 14) and rest % 4 == 0, f"value {tag:#x}"
    return [le(tree, rest + 4 * slot, 4) for slot in range(1, le(tree, rest, 4))]


def named(tree, tag, names):
    tags = value(tree, tag) or []
    assert len(tags) <= len(names), names
    return {name: value(tree, tag) for name, tag in zip(names, tags) if tag}


def access(tree, tag):
    mode, user, group = (value(tree, part) for part in value(tree, tag))
    assert (user, group) == (b"root", b"root")
    return mode


def main():
    package, folder = sys.argv[1:]
    with open(package, "rb") as file:
        packed = file.read()
    assert packed[:4] == b"ADBd"
    inflate = zlib.decompressobj(wbits=-15)
    plain = inflate.decompress(packed[4:])
    assert inflate.eof and not inflate.unused_data
    assert plain[:8] == b"ADB.pckg"
    blocks, at = [], 8
    while at < len(plain):
        kind, size = le(plain, at, 4) >> 30, le(plain, at, 4) & 0x3FFFFFFF
        padded = (size + 7) // 8 * 8
        assert size >= 4 and at + padded <= len(plain) and not any(plain[at + size : at + padded])
        blocks.append((kind, plain[at + 4 : at + size]))
        at += padded
    assert [kind for kind, _ in blocks] == [0] + [2] * (len(blocks) - 1), "one tree, then data"
    tree = bytearray(blocks[0][1])
    assert le(tree, 0, 1) == 0, "a version that 3.0 reads"

    information, paths, *scripts = value(tree, le(tree, 4, 4))
    found = named(tree, information, INFORMATION)
    identity = (value(tree, information)[2] & 0x0FFFFFFF) + 1
    tree_without = bytearray(tree)
    tree_without[identity : identity + 20] = bytes(20)
    assert hashlib.sha256(tree_without).digest()[:20] == found.pop("identity")
    found["depends"] = [value(tree, value(tree, tag)[0]).decode() for tag in found["depends"]]
    assert found["depends"] == sorted(set(found["depends"]))

    data, total, names = iter(blocks[1:]), 0, []
    for place, path in enumerate(value(tree, paths), 1):
        slots = value(tree, path)
        name = (value(tree, slots[0]) or b"").decode()
        names.append(name.encode())
        target = os.path.join(folder, "data", name)
        os.makedirs(target, exist_ok=True)
        os.chmod(target, access(tree, slots[1]))
        files = (value(tree, slots[2]) or []) if len(slots) > 2 else []
        inside = []
        for number, file in enumerate(files, 1):
            file = value(tree, file)
            inside.append(value(tree, file[0]))
            size = value(tree, file[2])
            content = b""
            if size:
                content = next(data)[1]
                assert (le(content, 0, 4), le(content, 4, 4)) == (place, number), "data in the order of the tree"
                content = content[8:]
            assert len(content) == size and hashlib.sha256(content).digest() == value(tree, file[4]) and value(tree, file[3]) == 0
            total += size
            with open(os.path.join(target, inside[-1].decode()), "wb") as unpacked:
                unpacked.write(content)
                os.fchmod(unpacked.fileno(), access(tree, file[1]))
        assert inside == sorted(set(inside)), "apk looks files up in their order"
    assert names == sorted(set(names)) and next(data, None) is None
    assert found["installed-size"] == total
    for name, script in named(tree, scripts[0] if scripts else 0, SCRIPTS).items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(script)
    for name, text in found.items():
        print(name, text.decode() if isinstance(text, bytes) else " ".join(text) if isinstance(text, list) else text)


if __name__ == "__main__":
    main()
