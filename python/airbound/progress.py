"""A bar for those who wait: in a terminal, and in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Runs that are over sooner show no bar, in s.
PATIENCE = 2.0


def _in_notebook() -> bool:
    """Whether this is a kernel whose output somebody sees in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """Shows the share that is done, from 0 to 1, which ``callback`` is told.

    ``wanted`` is whether to show it at once; ``None``: where somebody watches, after 2 s.
    """

    def __init__(self, title: str, wanted: bool | None) -> None:
        watched = _in_notebook() or sys.stderr.isatty()
        self.callback: Callable[[float], None] | None = self._advance if wanted or (wanted is None and watched) else None
        self._patience = 0.0 if wanted else PATIENCE
        self._title = title
        self._begun = time.monotonic()
        self._bar: Any = None

    def _advance(self, share: float) -> None:
        if self._bar is None:
            if time.monotonic() - self._begun < self._patience:
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
            except ImportError:  # a notebook without ipywidgets still shows text
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
