"""A served model file: requests read the model, and one thread changes the file.

A change is acknowledged after the file that holds it has replaced the old one, flushed to the disk. The file holds the
keys of the changes as well (:mod:`bayeskit.storage.history`), so that a change that is sent again is not applied twice,
whenever the service was killed. Changes that wait for the disk are written together, and several processes may serve
and change the same file: each change locks it and starts from what it holds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Literal

from bayeskit.errors import BayesError, with_article
from bayeskit.models import open_file, to_bytes
from bayeskit.storage.files import lock_file
from bayeskit.storage.history import Event, History, content_hash
from bayeskit.storage.model_file import write_model

Action = Literal["learn", "forget"]
SOURCE = "bayes serve"  # in the history of the file
TOGETHER = 1_000  # most changes that are written at once


class Conflict(BayesError):
    """A key that was used for other rows."""


class FileUnavailable(BayesError):
    """The model file cannot be read or written at the moment."""


@dataclass(frozen=True)
class Change:
    """Rows to learn or forget, and the key by which they are recognized when they are sent again."""

    action: Action
    key: str
    rows: Any
    done: Future[dict[str, Any]] = field(default_factory=Future)


class ServedModel:
    """The model of a file, read again whenever the file has changed.

    Parameters
    ----------
    path : Path
    lock_timeout : float
        Seconds to wait for another process that changes the file.
    """

    def __init__(self, path: Path, lock_timeout: float = 10.0) -> None:
        self.path, self.name, self.lock_timeout = path, path.stem, lock_timeout
        self.problem = ""  # why the model served is not that of the file
        self._stamp = self._stamp_of_file()
        self._model, self.history = open_file(path)
        self._reading = Lock()
        self._changes: SimpleQueue[Change | None] = SimpleQueue()
        self._writer: Thread | None = None

    @property
    def model(self) -> Any:
        """Return the model of the file; where the file is gone or damaged, the last one that it held."""
        self.refresh()
        return self._model

    def refresh(self) -> None:
        """Read the file again if it has changed."""
        stamp = self._stamp_of_file()
        if stamp != self._stamp:
            with self._reading:
                if stamp != self._stamp:
                    self._read(stamp)

    def _stamp_of_file(self) -> tuple[int, ...]:
        try:
            status = os.stat(self.path)  # noqa: PTH116  (twice as fast as that of a Path)
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_ino, status.st_size

    def _read(self, stamp: tuple[int, ...]) -> None:
        try:
            self._model, self.history = open_file(self.path)
            self.problem = ""
        except BayesError as problem:
            self.problem = str(problem)
        self._stamp = stamp

    # -- changes -------------------------------------------------------------------------------------

    def change(self, action: Action, key: str, rows: Any) -> Future[dict[str, Any]]:
        """Learn or forget rows in the writing thread; the result comes when the file is on the disk."""
        with self._reading:
            if self._writer is None:
                self._writer = Thread(target=self._write_changes, name=f"writer of {self.name}", daemon=True)
                self._writer.start()
        change = Change(action, key, rows)
        self._changes.put(change)
        return change.done

    def close(self) -> None:
        """Write the changes that wait, and end the writing thread."""
        if self._writer is not None:
            self._changes.put(None)
            self._writer.join()

    def _write_changes(self) -> None:
        while (change := self._changes.get()) is not None:
            waiting = [change]
            while len(waiting) < TOGETHER:
                try:
                    change = self._changes.get_nowait()
                except Empty:
                    break
                if change is None:
                    self._changes.put(None)  # ends the next round
                    break
                waiting.append(change)
            self._write([change for change in waiting if change.done.set_running_or_notify_cancel()])

    def _write(self, changes: Sequence[Change]) -> None:
        """Apply changes to the model of the file and replace the file; then answer all of them."""
        answers: list[tuple[Change, Any]] = []
        try:
            with lock_file(self.path, self.lock_timeout):
                model, history = open_file(self.path)
                before = history
                for change in changes:
                    try:
                        history, answer = apply_change(model, history, change)
                        answers.append((change, answer))
                    except Exception as problem:
                        answers.append((change, problem))
                if history is not before:
                    write_model(self.path, to_bytes(model, history))
        except Exception as problem:
            for change in changes:
                change.done.set_exception(FileUnavailable(f"nothing was changed: {problem}"))
            return
        for change, answered in answers:
            if isinstance(answered, Exception):
                change.done.set_exception(answered)
            else:
                change.done.set_result(answered)


def apply_change(model: Any, history: History, change: Change) -> tuple[History, dict[str, Any]]:
    """Apply a change to a model unless its key has been applied; return the new history and the answer."""
    if not hasattr(model, "_count_more") or (change.action == "forget" and not hasattr(model, "forget")):
        raise BayesError(f"{with_article(type(model).__name__)} cannot {change.action} rows", hint="fit it again")
    counted = model._count_more(model._labeled(*change.rows, None))
    content = content_hash(counted)
    known = (history.learned if change.action == "learn" else history.forgotten).get(change.key)
    if known not in (None, content):
        raise Conflict(f"key {change.key!r} was used for other rows", hint="give each batch a key of its own")
    if known is None:
        if change.action == "learn":
            model._with_more(counted)
        else:
            model._without(counted)
        event = Event.now(change.action, SOURCE, counted.n_rows)
        history = history.add(event).with_batch(change.action, change.key, content)
    answer = {"applied": known is None, "rows": float(counted.n_rows), "total": float(model.tally_.n_rows)}
    return history, answer | {"fixed": list(getattr(model, "fixed_", ()))}
