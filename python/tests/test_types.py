"""The stub of the native module says what the module has."""

import inspect

import airbound
from airbound import _native


def test_the_stub_lists_what_the_native_module_has() -> None:
    from pathlib import Path

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
