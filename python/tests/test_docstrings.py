"""Every public name says what it is."""

import inspect

from collections.abc import Iterator

import airbound
from airbound import control, progress, results, schemes, sweeps



def public() -> Iterator[tuple[str, object]]:
    for module in (airbound, control, schemes, results, sweeps, progress):
        for name in getattr(module, "__all__", []):
            if not name.startswith("__"):
                yield f"{module.__name__}.{name}", getattr(module, name)


def members(owner: type) -> Iterator[tuple[str, object]]:
    for name, value in vars(owner).items():
        if not name.startswith("_") and (callable(value) or isinstance(value, property) or inspect.isgetsetdescriptor(value)):
            yield name, value


def test_every_public_name_has_a_docstring() -> None:
    missing = []
    for name, value in public():
        if inspect.isclass(value) or inspect.isfunction(value) or inspect.isbuiltin(value):
            if not (value.__doc__ or "").strip():
                missing.append(name)
        if inspect.isclass(value) and value.__module__.startswith("airbound"):
            missing += [f"{name}.{member}" for member, one in members(value) if not (inspect.getdoc(one) or "").strip()]
    assert not missing, missing
