"""The history of a model file: when, from what and by which version it was made and changed, and its batches.

A history holds names of files, numbers of rows and hashes, never values. It belongs to the file, not to the model: a
model that is saved in Python starts a new one. Batches that were learned or forgotten by name stand in two sorted
lists, so that none of them counts twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, Self, get_args

from bayeskit import __version__
from bayeskit.errors import BayesError
from bayeskit.storage.container import check_file
from bayeskit.tally.tally import Tally

Action = Literal["fit", "learn", "forget", "merge"]
MOST_EVENTS = 200  # the first and the latest ones
MOST_BATCHES = 100_000  # older ones are no longer recognized
PAST = {"learn": "learned", "forget": "forgotten"}
NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,200}", re.ASCII)


@dataclass(frozen=True)
class Event:
    """One step in the history of a model file.

    Parameters
    ----------
    action : {"fit", "learn", "forget", "merge"}
    time : str
        UTC, to the second, in ISO 8601.
    version : str
        The version of bayeskit.
    source : str
        Name of the data, without folders and passwords; empty if it came from memory.
    rows : float
        Rows, documents or sequences that were added or removed.
    batch : str
        Name of the batch; empty for unnamed ones.
    """

    action: Action
    time: str
    version: str
    source: str
    rows: float
    batch: str = ""

    @classmethod
    def now(cls, action: Action, source: str, rows: float, batch: str = "") -> Event:
        """Build an event of this moment and this version."""
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(action, time, __version__, source, float(rows), batch)

    def __str__(self) -> str:
        named = f" as batch {self.batch!r}" if self.batch else ""
        origin = f" from {self.source}" if self.source else ""
        return f"{self.time}  {self.action} {self.rows:,.10g} rows{origin}{named} (bayeskit {self.version})"


@dataclass(frozen=True)
class History:
    """Events of a model file in order, and the hashes of its batches by name.

    >>> history = History().add(Event("fit", "2026-01-05T08:00:00Z", "0.3.0", "birds.csv", 344.0))
    >>> history = history.add(Event("learn", "2026-01-06T08:00:00Z", "0.3.0", "tuesday.csv", 20.0, "tuesday"), "5c2e")
    >>> print(history)
    2026-01-05T08:00:00Z  fit 344 rows from birds.csv (bayeskit 0.3.0)
    2026-01-06T08:00:00Z  learn 20 rows from tuesday.csv as batch 'tuesday' (bayeskit 0.3.0)
    >>> history.refuse_twice("learn", "tuesday", "5c2e")
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: batch 'tuesday' has been learned already: forget it first, or give other rows another
    name
    """

    events: tuple[Event, ...] = ()
    learned: Mapping[str, str] = field(default_factory=dict)
    forgotten: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(map(str, self.events))

    def add(self, event: Event, content: str = "") -> History:
        """Return the history with one more event; a batch changes its list. Steps of one service are added up."""
        events = (*self.events, event)
        if len(self.events) > 1 and not event.batch and _same_origin(self.events[-1], event):
            events = (*self.events[:-1], replace(event, rows=self.events[-1].rows + event.rows))
        if len(events) > MOST_EVENTS:
            events = (events[0], *events[1 - MOST_EVENTS :])
        history = replace(self, events=events)
        return history.with_batch(event.action, event.batch, content) if event.batch else history

    def with_batch(self, action: str, batch: str, content: str) -> History:
        """Return the history in which a batch was learned or forgotten; the opposite of the same rows is undone."""
        target, opposite = (self.learned, self.forgotten)[:: -1 if action == "forget" else 1]
        target = {**target, batch: content}
        while len(target) > MOST_BATCHES:
            del target[next(iter(target))]
        opposite = {n: c for n, c in opposite.items() if n != batch and (not content or c != content)}
        learned, forgotten = (target, opposite)[:: -1 if action == "forget" else 1]
        return replace(self, learned=learned, forgotten=forgotten)

    def merge(self, other: History) -> History:
        """Return the history of a model that is merged with another; a batch that both learned is an error."""
        twice = [name for name, content in other.learned.items() if content and content in self.learned.values()]
        twice += [name for name in other.learned if name in self.learned]
        if twice:
            raise BayesError(f"both have learned batch {twice[0]!r}, which would count twice", hint="forget it in one")
        forgotten = {**self.forgotten, **other.forgotten}
        return replace(self, learned={**self.learned, **other.learned}, forgotten=forgotten)

    def refuse_twice(self, action: str, batch: str, content: str) -> None:
        """Raise an error for a batch that has been learned or forgotten before, or whose name has other rows.

        ``content`` is the hash of its rows, empty where it is not known.
        """
        done, past = (self.forgotten if action == "forget" else self.learned), PAST[action]
        opposite = "forget" if action == "learn" else "learn"
        if batch in done:
            raise BayesError(
                f"batch {batch!r} has been {past} already", hint=f"{opposite} it first, or give other rows another name"
            )
        same = next((name for name, known in done.items() if content and known == content), None)
        if same is not None:
            raise BayesError(
                f"batch {batch!r} has the rows of batch {same!r}, which has been {past} already",
                hint="leave --batch out if these are equal rows of something else",
            )
        if action == "forget" and content and self.learned.get(batch, content) != content:
            raise BayesError(f"these are not the rows that were learned as batch {batch!r}", hint="give the same rows")

    def to_json(self) -> dict[str, Any]:
        """Return plain data for :meth:`from_json`."""
        events = [[e.action, e.time, e.version, e.source, e.rows, e.batch] for e in self.events]
        batches = {"learned": self.learned, "forgotten": self.forgotten}
        lists = {
            name: sorted(f"{batch}\t{content}" for batch, content in held.items()) for name, held in batches.items()
        }
        return {"events": events, **{name: listed for name, listed in lists.items() if listed}}

    @classmethod
    def from_json(cls, written: Any) -> Self:
        """Restore a history from :meth:`to_json`; raise an error for anything else."""
        types = [str, str, str, str, float, str]
        check_file(isinstance(written, dict) and isinstance(written.get("events"), list), "the history has no events")
        for event in written["events"]:
            fits = isinstance(event, list) and list(map(type, event)) == types and event[0] in get_args(Action)
            check_file(fits, f"the history has an event that is none: {str(event)[:80]}")
        batches = {}
        for name in ("learned", "forgotten"):
            listed = list(written.get(name, []))
            fits = all(isinstance(entry, str) and entry.count("\t") == 1 for entry in listed)
            check_file(fits, "the history has a batch without a hash")
            batches[name] = dict(entry.split("\t") for entry in listed)
        return cls(tuple(Event(*event) for event in written["events"]), **batches)


def _same_origin(last: Event, event: Event) -> bool:
    return not last.batch and (last.action, last.version, last.source) == (event.action, event.version, event.source)


def check_batch_name(name: str) -> str:
    """Return the name of a batch; raise an error for one that cannot be stored."""
    if not NAME.fullmatch(name):
        raise BayesError(f"batch {name[:60]!r}: a name has 1 to 200 characters and no control characters")
    return name


def content_hash(counted: Tally) -> str:
    """Return a hash of the counted rows, whatever their order."""
    if counted.row_hash is not None:
        return f"{counted.row_hash.total:016x}"
    return hashlib.sha256(counted.to_bytes()).hexdigest()[:16]
