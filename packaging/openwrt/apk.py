#!/usr/bin/env python3
"""Usage: packaging/openwrt/apk.py FILES PACKAGE NAME=VALUE... [SCRIPT=FILE]...

Packs the folder FILES as PACKAGE in version 3 of apk's format, unsigned, as apk-tools 3 and so OpenWrt 25.12 take it. Names are those of
package information (name, version, description, arch, license, url, depends) and of scripts (post-install, ...); depends is a list of names with
spaces between. Files and folders are root's, of time 0. The same bytes for the same input.

The format is that of apk-v3(5) and of the schemas in src/apk_adb.h of apk-tools 3.0.6: an ADB block, a tree of values with 32-bit tags, and a data block
for each file that is not empty.
"""

import hashlib
import pathlib
import stat
import struct
import sys
import typing
import zlib

# Types of values: the upper four bits of a tag.
INT, BLOBS, OBJECT = 0x10000000, (0x80000000, 0x90000000, 0xA0000000), 0xE0000000
# Types of blocks: the upper two bits of its head.
ADB, DATA = 0, 2
# Slots of a package's information (ADBI_PI_*), and of scripts (ADBI_SCRPT_*).
INFORMATION = dict(name=1, version=2, description=4, arch=5, license=6, url=9)
HASHES, INSTALLED_SIZE, DEPENDS = 3, 12, 15
SCRIPTS = {"pre-install": 2, "post-install": 3, "pre-deinstall": 4, "post-deinstall": 5, "pre-upgrade": 6, "post-upgrade": 7}


def refuse(problem: str) -> typing.NoReturn:
    print(f"apk: {problem}", file=sys.stderr)
    raise SystemExit(2)


class Tree:
    """The values of an ADB block. A method returns the tag of what it adds; 0 is no value."""

    def __init__(self) -> None:
        self.data = bytearray(8)

    def _add(self, data: bytes, alignment: int) -> int:
        self.data += bytes(-len(self.data) % alignment)
        place = len(self.data)
        self.data += data
        return place

    def number(self, value: int) -> int:
        if value >= INT:
            refuse(f"{value} is more than a number of 28 bits")
        return INT | value

    def blob(self, data: bytes) -> int:
        if not data:
            return 0
        size = (len(data) > 0xFF) + (len(data) > 0xFFFF)
        return BLOBS[size] | self._add(struct.pack("<" + "BHI"[size], len(data)) + data, (1, 2, 4)[size])

    def object(self, slots: dict[int, int]) -> int:
        last = max((slot for slot, tag in slots.items() if tag), default=0)
        if not last:
            return 0
        words = [last + 1] + [slots.get(slot, 0) for slot in range(1, last + 1)]
        return OBJECT | self._add(struct.pack(f"<{len(words)}I", *words), 4)

    def array(self, tags: list[int]) -> int:
        """An array is an object here, as apk-tools writes it."""
        return self.object(dict(enumerate(tags, 1)))

    def access(self, path: pathlib.Path) -> int:
        root = self.blob(b"root")
        return self.object({1: self.number(stat.S_IMODE(path.lstat().st_mode)), 2: root, 3: root})


def block(kind: int, data: bytes) -> bytes:
    head = struct.pack("<I", kind << 30 | (len(data) + 4))
    return head + data + bytes(-(len(data) + 4) % 8)


def pack(root: pathlib.Path, values: dict[str, str]) -> bytes:
    tree = Tree()
    paths, contents, size = [], [], 0
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    name_of = lambda folder: b"" if folder == root else str(folder.relative_to(root)).encode()
    for place, folder in enumerate(sorted(folders, key=name_of), 1):
        files = []
        for file in sorted((path for path in folder.iterdir() if not path.is_dir()), key=lambda path: path.name.encode()):
            if not stat.S_ISREG(file.lstat().st_mode):
                refuse(f"{file} is no file; links are not packed")
            data = file.read_bytes()
            size += len(data)
            files.append(
                tree.object(
                    {
                        1: tree.blob(file.name.encode()),
                        2: tree.access(file),
                        3: tree.number(len(data)),
                        4: tree.number(0),
                        5: tree.blob(hashlib.sha256(data).digest()),
                    }
                )
            )
            if data:
                contents.append(block(DATA, struct.pack("<II", place, len(files)) + data))
        paths.append(tree.object({1: tree.blob(name_of(folder)), 2: tree.access(folder), 3: tree.array(files)}))

    scripts = {SCRIPTS[name]: tree.blob(pathlib.Path(values.pop(name)).read_bytes()) for name in list(values) if name in SCRIPTS}
    needs = [tree.object({1: tree.blob(name.encode())}) for name in sorted(values.pop("depends", "").split())]
    information = {slot: tree.blob(values.pop(name, "").encode()) for name, slot in INFORMATION.items()}
    if values:
        refuse(f"{', '.join(values)}: unknown; allowed are {', '.join((*INFORMATION, 'depends', *SCRIPTS))}")
    if not information[1] or not information[2]:
        refuse("name and version are required")
    # The package's identity: the hash of the tree with zeros in its place.
    identity = tree.blob(bytes(20))
    start = len(tree.data) - 20
    information |= {HASHES: identity, INSTALLED_SIZE: tree.number(size), DEPENDS: tree.array(needs)}
    package = tree.object({1: tree.object(information), 2: tree.array(paths), 3: tree.object(scripts)})
    struct.pack_into("<BBHI", tree.data, 0, 0, 0, 0, package)
    tree.data[start : start + 20] = hashlib.sha256(tree.data).digest()[:20]

    plain = b"ADB.pckg" + block(ADB, bytes(tree.data)) + b"".join(contents)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"ADBd" + deflate.compress(plain) + deflate.flush()


def main() -> None:
    if len(sys.argv) < 4 or not all("=" in value for value in sys.argv[3:]):
        refuse("FILES, PACKAGE and values NAME=VALUE are required: packaging/openwrt/apk.py FILES PACKAGE NAME=VALUE...")
    values = dict(value.split("=", 1) for value in sys.argv[3:])
    pathlib.Path(sys.argv[2]).write_bytes(pack(pathlib.Path(sys.argv[1]), values))


if __name__ == "__main__":
    main()
