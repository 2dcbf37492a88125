"""Show a progress bar for work that takes longer than a moment."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

from bayeskit.errors import BayesError
from bayeskit.printable import printable

PATIENCE = 0.5  # seconds before the bar appears


def check_progress(progress: Any, arguments: str = "stage, done and of") -> None:
    """Raise an error unless progress is a bool, None or a function of these arguments."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise BayesError(f"progress={progress!r}: give True for a bar, or a function of {arguments}")


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.shown is not None:
            self.shown.stop()

    def __call__(self, stage: str, done: int, of: int, note: str = "") -> None:
        if callable(self.progress):
            self.progress(stage, done, of)
        elif self.progress:
            self.show(stage, done, of, note)

    def columns(self) -> list[Any]:
        """Return the columns between the bar and the note."""
        from rich.progress import MofNCompleteColumn, TimeRemainingColumn

        return [MofNCompleteColumn(), TimeRemainingColumn(compact=True)]

    def show(self, stage: str, done: int, of: int | None, note: str = "") -> None:
        """Update the bar of a stage, with a note behind it; nothing is shown before a moment has passed."""
        if time.monotonic() - self.started <= PATIENCE:
            return
        if self.shown is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            console = Console(file=sys.stderr)
            self.shown = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=16),
                *self.columns(),
                TextColumn("{task.fields[note]}", markup=False),
                console=console,
                transient=True,
                disable=not console.is_terminal,
            )
            self.shown.start()
        if stage not in self.tasks:
            self.tasks[stage] = self.shown.add_task(printable(stage, keep=""), total=of, note=note)
        self.shown.update(self.tasks[stage], completed=done, note=note)
