"""Every public name says what it is, at run time and in the stubs of the native module."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import airbound
from airbound import _native


def stubs() -> Iterator[tuple[str, str]]:
    """Names of the native module and their docstrings in the stubs; that of an attribute stands below it."""
    tree = ast.parse((Path(airbound.__file__).parent / "_native.pyi").read_text())
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        yield node.name, ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            for one, below in zip(node.body, [*node.body[1:], None]):
                if isinstance(one, ast.FunctionDef):
                    yield f"{node.name}.{one.name}", ast.get_docstring(one) or ""
                elif isinstance(one, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                    yield f"{node.name}.{ast.unparse(one.target)}", str(below.value.value)


def undocumented(value: object, name: str) -> Iterator[str]:
    is_named = inspect.isclass(value) or inspect.isroutine(value)
    if is_named and not (inspect.getdoc(value) or "").strip():
        yield name
    if inspect.isclass(value) and value.__module__.startswith("airbound"):
        for member, one in vars(value).items():
            is_public = callable(one) or isinstance(one, property) or inspect.isgetsetdescriptor(one)
            if not member.startswith("_") and is_public and not (inspect.getdoc(one) or "").strip():
                yield f"{name}.{member}"


def test_every_public_name_has_a_docstring() -> None:
    missing = set()
    for found in pkgutil.iter_modules(airbound.__path__):
        if found.name.startswith("_"):
            continue
        module = importlib.import_module(f"airbound.{found.name}")
        for name, value in vars(module).items():
            if not name.startswith("_") and (getattr(value, "__module__", "") or "").startswith("airbound"):
                missing |= set(undocumented(value, f"{found.name}.{name}"))
    for name in airbound.__all__:
        missing |= set(undocumented(getattr(airbound, name), name))
    assert not missing, sorted(missing)


def test_the_native_module_says_what_its_stubs_say() -> None:
    differ = []
    for name, said in stubs():
        if name.split(".")[0] in PRIVATE:
            continue
        value: object = _native
        for part in name.split("."):
            value = inspect.getattr_static(value, part, None) if inspect.isclass(value) else getattr(value, part)
        shown = inspect.getdoc(value.__func__ if isinstance(value, staticmethod) else value) or ""
        if said and not name.endswith("__") and shown.split() != said.split():
            differ.append(name)
    assert not differ, differ


#: A unit, or a word that says of what a number is a count or an index.
UNIT = re.compile(
    r"\b(ns|ms|s|seconds|bit/s|kb/s|Mb/s|MHz|dB|m|bytes|packets?|MPDUs?|frames?|[Ss]egments?|shares?|number|integer|index|percentile"
    r"|columns|unit|exit code|jobs|0 to 1)\b"
)
NUMBER = re.compile(r"\b(int|float|Series)\b")
#: Parts of the native module that the package wraps: modules export what is public.
PRIVATE = {"main", "run", "compare", "report", "verdict", "groups", "execute", "plum_allocation", "arena", "Stepper", "Sweep"}


def annotated(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Public functions and attributes of a file: name, type of the result, types of the arguments, docstring."""

    def walk(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str, str, str]]:
        for node, below in zip(body, [*body[1:], None]):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in PRIVATE:
                yield from walk(node.body, f"{node.name}.")
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name not in PRIVATE:
                given = " ".join(ast.unparse(one.annotation) for one in [*node.args.args, *node.args.kwonlyargs] if one.annotation)
                yield prefix + node.name, ast.unparse(node.returns) if node.returns else "", given, ast.get_docstring(node) or ""
            elif isinstance(node, ast.AnnAssign) and prefix:
                text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
                yield prefix + ast.unparse(node.target), ast.unparse(node.annotation), "", str(text)

    yield from walk(ast.parse(path.read_text()).body, "")


def test_numbers_have_units_and_data_frames_say_what_a_row_is() -> None:
    folder = Path(airbound.__file__).parent
    missing = []
    for path in [*sorted(folder.glob("*.py")), folder / "_native.pyi"]:
        for name, result, given, text in annotated(path):
            if "DataFrame" in result and not re.search(r"\brows?\b", text):
                missing.append(f"{path.name}: {name}: meaning of a row")
            elif (NUMBER.search(result) or NUMBER.search(given)) and not UNIT.search(text):
                missing.append(f"{path.name}: {name}: unit")
    assert not missing, missing
