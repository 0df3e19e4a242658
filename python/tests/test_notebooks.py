"""The notebooks run, and are stored without outputs."""

from pathlib import Path

import airbound
import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_six() -> None:
    assert len(NOTEBOOKS) == 6


def lacks_emulation() -> str | None:
    """The sentence with which the system refuses an emulation."""
    try:
        with airbound.emulate("hello"):
            return None
    except airbound.EmulationError as error:
        return str(error) if "is not available" in str(error) else None


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None, "notebooks are stored without outputs"
    if any("airbound.emulate(" in cell.source for cell in notebook.cells) and (lacking := lacks_emulation()):
        pytest.skip(f"SKIPPED: no emulation here: {lacking}")
    if any("airbound.gym" in cell.source for cell in notebook.cells):
        pytest.importorskip("gymnasium", reason="SKIPPED: no gymnasium; to get it: pip install 'airbound[gym]'")
    if any("stable_baselines3" in cell.source for cell in notebook.cells):
        pytest.importorskip("stable_baselines3", reason="SKIPPED: no stable-baselines3; to get it: pip install stable-baselines3")
    client = NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown), "a figure is displayed"
    assert not any(output.output_type == "error" for output in shown)
