"""The build backend of the package (pyproject.toml): maturin, with the toolchain that scripts/require.sh finds or sets up."""
import os
import pathlib
import subprocess
import sys

# The hooks that pip calls.
from maturin import (  # noqa: F401
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]

if subprocess.run([ROOT / "scripts/require.sh", "cargo", "linker", "crates"], check=False).returncode != 0:
    sys.exit(1)
os.environ["MATURIN_NO_MISSING_BUILD_BACKEND_WARNING"] = "1"
# As in the Makefile.
cargo = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
os.environ["PATH"] = os.pathsep.join([str(ROOT / ".toolchain/bin"), os.environ["PATH"], str(cargo / "bin")])
