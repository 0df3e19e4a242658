"""A script on a host of the laboratory's machine, where an instruction takes a nanosecond, with further modules of its kernel."""

import json
import lzma
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

#: A network beside which the script runs; a call is sent over it.
SCENARIO = """
title = "A host for programs"
duration = "3 s"
warm-up = "1 s"
[air]
standard = "ht"
width = "20 MHz"
[access-point]
preset = "mac80211"
[uplink]
queue = "linux"
preset = "mac80211"
[scheme]
queue = "linux"
rate = "minstrel-ht"
[[station]]
name = "laptop"
channel = { kind = "fixed", snr = "25 dB" }
[[flow]]
name = "call"
kind = "voip"
station = "laptop"
"""


def options(parser):
    parser.add_argument("--airbound", default="airbound", type=program)
    parser.add_argument("--relay", default="airbound-relay", type=program)
    parser.add_argument("--datagrams", default="target/release/examples/datagrams", type=program)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--verbose", action="store_true", help="print what the script says")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache/airbound/lab")


def tool(name):
    """The path of a program of this machine. The laboratory's shell takes its own applet for a bare name; that of tc lacks fq."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not found:
        raise SystemExit(f"{name} is missing on this machine; the laboratory's machine needs it")
    return str(pathlib.Path(found).resolve())


def run(args, folder, script, modules, programs):
    """Runs a shell script in /files, beside the modules and a file of one key; returns the folder of what it has written."""
    for name in modules:
        found = sorted(args.cache.glob(f"{args.kernel}*/**/{name}.ko*"))
        if not found:
            raise SystemExit(f"there is no {name} of a kernel {args.kernel} below {args.cache}; airbound lab build --kernel {args.kernel} fetches it")
        content = found[-1].read_bytes()
        (folder / f"{name}.ko").write_bytes(lzma.decompress(content) if found[-1].suffix == ".xz" else content)
    (folder / "keys").touch(mode=0o600)
    (folder / "keys").write_text(f"a 0 {bytes(range(16)).hex()}\n")
    # Busybox's applets come after the full programs.
    (folder / "guest.sh").write_text("export PATH=/bin:/applets:$PATH\ncd /files\nchmod 600 keys\n" + script)
    (folder / "host.toml").write_text(SCENARIO)
    command = [args.airbound, "lab", "exec", str(folder / "host.toml"), "--for", "200 s", "--out", str(folder / "out"), "--kernel", args.kernel]
    for file in ["keys", "guest.sh"] + [f"{name}.ko" for name in modules]:
        command += ["--with", str(folder / file)]
    for program in programs:
        command += ["--bring", program]
    done = subprocess.run([*command, "--", "sh", "guest.sh"], capture_output=True, text=True)
    files = folder / "out" / "files"
    said = "".join(path.read_text() for path in sorted((folder / "out").glob("commands/*")))
    if args.verbose:
        print(said, flush=True)
    if not (files / "end").exists():
        raise SystemExit(f"the script did not reach its end\n{said[-3000:]}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return files


def figures(path):
    """The line of JSON that a program of `datagrams` has written."""
    return json.loads(path.read_text())
