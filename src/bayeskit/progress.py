"""Show a progress bar for fits that take longer than a moment."""

from __future__ import annotations

import sys
import time
from typing import Any

from bayeskit.errors import BayesError
from bayeskit.printable import printable

PATIENCE = 0.5  # seconds before the bar appears


def check_progress(progress: Any) -> None:
    """Raise an error unless progress is a bool, None or a function."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise BayesError(f"progress={progress!r}: give True for a bar, or a function of stage, done and of")


class Bar:
    """Call ``progress(stage, done, of)``, or show a bar on stderr if progress is True.

    >>> told = []
    >>> with Bar(lambda *step: told.append(step)) as tell:
    ...     tell("columns", 1, 2)
    >>> told
    [('columns', 1, 2)]
    """

    def __init__(self, progress: Any) -> None:
        self.progress = progress
        self.started = time.monotonic()
        self.shown: Any = None
        self.tasks: dict[str, Any] = {}

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.shown is not None:
            self.shown.stop()

    def __call__(self, stage: str, done: int, of: int) -> None:
        if callable(self.progress):
            self.progress(stage, done, of)
        elif self.progress and time.monotonic() - self.started > PATIENCE:
            self._show(stage, done, of)

    def _show(self, stage: str, done: int, of: int) -> None:
        if self.shown is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            console = Console(file=sys.stderr)
            self.shown = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=16),
                MofNCompleteColumn(),
                TimeRemainingColumn(compact=True),
                console=console,
                transient=True,
                disable=not console.is_terminal,
            )
            self.shown.start()
        if stage not in self.tasks:
            self.tasks[stage] = self.shown.add_task(printable(stage, keep=""), total=of)
        self.shown.update(self.tasks[stage], completed=done)
