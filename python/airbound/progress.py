"""Progress bars in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Time before a bar is shown, in s.
DELAY_S = 2.0


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """A bar of the completed share, 0 to 1, which ``callback`` takes.

    ``wanted`` shows it at once or never; ``None`` shows it after 2 s in a terminal or a notebook.
    """

    def __init__(self, title: str, wanted: bool | None) -> None:
        interactive = _in_notebook() or sys.stderr.isatty()
        self.callback: Callable[[float], None] | None = self._advance if wanted or (wanted is None and interactive) else None
        self._delay = 0.0 if wanted else DELAY_S
        self._title = title
        self._begun = time.monotonic()
        self._bar: Any = None

    def _advance(self, share: float) -> None:
        if self._bar is None:
            if time.monotonic() - self._begun < self._delay:
                return
            self._bar = self._make()
        self._bar.n = round(1000 * share)
        self._bar.refresh()

    def _make(self) -> Any:
        form = "{desc} {bar} {percentage:3.0f} %, {remaining} left"
        if _in_notebook():
            try:
                from tqdm.notebook import tqdm as notebook_bar

                return notebook_bar(total=1000, desc=self._title, bar_format=form, leave=False)
            except ImportError:  # a text bar in notebooks without ipywidgets
                pass
        from tqdm import tqdm as terminal_bar

        return terminal_bar(total=1000, desc=self._title, bar_format=form, leave=False, file=sys.stderr)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
