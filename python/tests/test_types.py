"""The stub of the native module matches the module."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import airbound
import pytest
from airbound import _native


def test_the_stub_lists_what_the_native_module_has() -> None:
    stub = Path(_native.__file__).with_name("_native.pyi").read_text(encoding="utf-8")
    for name, member in vars(_native).items():
        if name.startswith("_"):
            continue
        assert f"class {name}" in stub or f"def {name}(" in stub, name
        if inspect.isclass(member) and not issubclass(member, Exception):
            for attribute in vars(member):
                if not attribute.startswith("_"):
                    assert f"def {attribute}(" in stub or f"    {attribute}: " in stub, f"{name}.{attribute}"


def test_every_public_name_is_documented() -> None:
    for name in airbound.__all__:
        if not name.startswith("__"):
            assert inspect.getdoc(getattr(airbound, name)), name


def test_the_command_loads_no_data_frames() -> None:
    script = "import sys, airbound.__main__; sys.exit(bool({'polars', 'matplotlib'} & set(sys.modules)))"
    environment = os.environ | {"PYTHONPATH": str(Path(airbound.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", script], env=environment, timeout=60).returncode == 0
    assert set(airbound.__all__) <= set(dir(airbound))
    with pytest.raises(AttributeError, match="has no attribute nothing"):
        airbound.nothing  # type: ignore[attr-defined]  # noqa: B018
