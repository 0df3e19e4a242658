"""Every public name says what it is: at run time, or in the stubs of the native module."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import airbound
from airbound import control, progress, results, schemes, sweeps


def documented_in_stubs() -> set[str]:
    """Classes and their members with a docstring in the stubs; that of an attribute stands below it."""
    tree = ast.parse((Path(airbound.__file__).parent / "_native.pyi").read_text())
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [one for one in node.body if isinstance(one, ast.FunctionDef) and ast.get_docstring(one)]
            found |= {f"{node.name}.{one.name}" for one in inner}
            for one, below in zip(node.body, node.body[1:]):
                if isinstance(one, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                    found.add(f"{node.name}.{ast.unparse(one.target)}")
    return found


def undocumented(value: object, name: str, stubs: set[str]) -> Iterator[str]:
    is_named = inspect.isclass(value) or inspect.isroutine(value)
    if is_named and not (inspect.getdoc(value) or "").strip() and name not in stubs:
        yield name
    if inspect.isclass(value) and value.__module__.startswith("airbound"):
        for member, one in vars(value).items():
            is_public = callable(one) or isinstance(one, property) or inspect.isgetsetdescriptor(one)
            inner = f"{name}.{member}"
            if not member.startswith("_") and is_public and not (inspect.getdoc(one) or "").strip() and inner not in stubs:
                yield inner


def test_every_public_name_has_a_docstring() -> None:
    stubs = documented_in_stubs()
    missing = set()
    for module in (airbound, control, schemes, results, sweeps, progress):
        for name in getattr(module, "__all__", []):
            if not name.startswith("__"):
                missing |= set(undocumented(getattr(module, name), name, stubs))
    assert not missing, sorted(missing)
