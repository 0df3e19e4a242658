"""Usage: complete-wheel.py WHEEL

Adds the shell completions and manual pages of the command, printed by the module in the wheel, to the wheel: below share, where pip puts
them beside the command.
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

COMPLETIONS = {
    "bash": "bash-completion/completions/airbound",
    "zsh": "zsh/site-functions/_airbound",
    "fish": "fish/vendor_completions.d/airbound.fish",
}
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from _native import main; sys.exit(main(['airbound', *sys.argv[1:]]))"


def shared_files(package: Path, scratch: Path) -> dict[str, bytes]:
    """The files below share, as the module in `package` prints them."""

    def command(*arguments: str) -> bytes:
        # The package itself would import what the wheel requires.
        run = [sys.executable, "-c", RUN, str(package), *arguments]
        return subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout

    files = {path: command("completions", shell) for shell, path in COMPLETIONS.items()}
    pages = scratch / "man1"
    command("man", "--out", str(pages), "--quiet")
    files |= {f"man/man1/{page.name}": page.read_bytes() for page in pages.iterdir()}
    return files


def complete(wheel: Path) -> int:
    """Rewrites the wheel with the files; returns their number."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as old:
        scratch = Path(folder)
        old.extractall(scratch / "wheel")
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        data = record.replace(".dist-info/RECORD", ".data/data/share/")
        files = {data + path: text for path, text in sorted(shared_files(scratch / "wheel/airbound", scratch).items())}
        lines = old.read(record).decode().splitlines()
        for name, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(text)}")
        whole = scratch / wheel.name
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
            for entry in old.infolist():
                if entry.filename != record:
                    new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED, 9)
            for name, text in files.items():
                new.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED, 9)
            new.writestr(zipfile.ZipInfo(record), "\n".join(lines) + "\n", zipfile.ZIP_DEFLATED, 9)
        shutil.copy(whole, wheel)
    return len(files)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"completions and manual pages in the wheel: {complete(Path(sys.argv[1]))} files")
