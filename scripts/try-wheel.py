"""Usage: try-wheel.py WHEEL [ROOT...]

Prints the libraries and the version of glibc that the wheel requires. Then installs and tries it in each ROOT, the folder of a bare file
system with Python (as root, with chroot): debootstrap --variant=minbase --include=python3,python3-pip bookworm ROOT.
Exits with 1 if it requires more than glibc 2.35 (Ubuntu 22.04; Debian 12 has 2.36), if it lacks the command, or if a trial fails.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NEWEST_GLIBC = (2, 35)
SHARE = (
    "bash-completion/completions/airbound",
    "zsh/site-functions/_airbound",
    "fish/vendor_completions.d/airbound.fish",
    "man/man1/airbound.1",
    "man/man1/airbound-compare.1",
)
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
SYSTEM = {"libgcc_s.so.1", "libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

TRIAL = """
import airbound
result = airbound.run(airbound.Scenario.shipped("hello").set("duration", "1 s"), "pie")
assert result.packets.height > 100 and result.plot_latency().axes
class Own(airbound.QueueScheme):
    pass
assert airbound.run("hello", Own).summary["scheme"]["queue"] == "Own"
print("airbound", airbound.__version__, "runs on", open("/etc/os-release").read().split('"')[1])
"""


def inspect(wheel: Path) -> list[str]:
    """Defects of the wheel."""
    wrong = []
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        names = archive.namelist()
        [module] = [name for name in names if name.endswith(".so")]
        entry = next((name for name in names if name.endswith("entry_points.txt")), None)
        if entry is None or b"airbound=airbound.__main__:main" not in archive.read(entry):
            wrong.append("the wheel lacks the command airbound")
        wrong += [f"the wheel lacks {name}" for name in ("airbound/py.typed", "airbound/_native.pyi") if name not in names]
        share = [name.partition(".data/data/share/")[2] for name in names]
        wrong += [f"the wheel lacks share/{name}" for name in SHARE if name not in share]
        wrong += [f"the wheel contains {name}" for name in names if "/tests/" in name]
        path = archive.extract(module, folder)
        symbols = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
        private = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", symbols)]
    libraries = set(re.findall(r"NEEDED\s+(\S+)", private))
    newest = max(versions)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, requires glibc {'.'.join(map(str, newest))} and {', '.join(sorted(libraries))}")
    if newest > NEWEST_GLIBC:
        wrong.append(f"glibc {'.'.join(map(str, newest))} is newer than that of Ubuntu 22.04")
    wrong += [f"{library} is not part of every system" for library in sorted(libraries - SYSTEM)]
    return wrong


def try_in(root: Path, wheel: Path) -> list[str]:
    """Installs and tries the wheel in a bare file system; returns the failures."""
    inside = Path("/tmp/airbound-wheel")
    shutil.rmtree(root / inside.relative_to("/"), ignore_errors=True)
    (root / inside.relative_to("/")).mkdir(parents=True)
    shutil.copy(wheel, root / inside.relative_to("/"))
    # Dependencies are downloaded by the host: the bare file system has no network.
    wheels = root / inside.relative_to("/")
    python = subprocess.run(
        ["chroot", root, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version", python]
    subprocess.run([*download, "--dest", wheels, wheel], check=True)
    install = "python3 -m pip install --quiet --break-system-packages --no-index --find-links {0} airbound".format(inside)
    if tuple(map(int, python.split("."))) < (3, 11):
        install = install.replace("--break-system-packages ", "")
    for command in (install, f"cd {inside} && python3 - <<'EOF'\n{TRIAL}\nEOF", f"cd {inside} && airbound run hello --quiet"):
        # The environment of this machine is excluded.
        if subprocess.run(["env", "-i", f"PATH={PATH}", "HOME=/root", "chroot", root, "/bin/sh", "-ec", command]).returncode != 0:
            return [f"{root}: fails: {command.splitlines()[0]}"]
    return []


def main() -> int:
    wheel = Path(sys.argv[1])
    wrong = inspect(wheel)
    for root in map(Path, sys.argv[2:]):
        wrong += try_in(root, wheel)
    for problem in wrong:
        print(f"try-wheel: {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
