"""The record of a diagnosis: which columns or words break the naive assumption, what it costs, and what helps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bayeskit.drawable import Drawable
from bayeskit.evaluate.reliability import Reliability
from bayeskit.tables.sheet import Figure, Grid, Items, Readable, Sheet
from bayeskit.tables.table import Table
from bayeskit.typing import Floats

SHOWN = 10  # pairs that are printed
MEASURED = 10  # pairs whose cost is measured
LEAST_LOG = -690.0  # ln P of what has no probability, where losses are compared


@dataclass(frozen=True)
class Dependence:
    """Two columns, or words, that tell of each other beyond what the class tells.

    ``bits`` of information given the class, beyond the bits that chance gives; ``p_value`` of chance alone; ``cost``:
    by how many nats the log loss falls where the two are counted together (for words: where one is left out); None
    where it was not measured; ``overconfidence``: by how much the mean probability of what is chosen, less the share
    that is right, falls with it; ``drop``: the one of the two without which the log loss is lower, ``without`` it.
    """

    first: str
    second: str
    bits: float
    p_value: float
    cost: float | None = None
    overconfidence: float | None = None
    drop: str | None = None
    without: float | None = None


@dataclass(frozen=True)
class Cure:
    """Something to do: ``key`` ("as it is", "drop", "exponents", "tan", …), its leave-one-out log loss and calibration
    error, and ``python``, how it is done; ``column`` is the one that is left out."""

    key: str
    what: str
    log_loss: float
    calibration_error: float
    python: str
    column: str | None = None


@dataclass(frozen=True, repr=False)
class Diagnosis(Readable, Drawable):
    """How far the columns are from independent given the class. Frozen, and plain data.

    Attributes
    ----------
    things: "columns" or "words". names: those that were looked at.
    information: bits of each pair given the class (names, names), beyond chance; 0 where chance would do.
    pairs: those that are more than chance, the strongest first.
    n_pairs: how many were tested; the level of the test is 1 % over all of them.
    log_loss, reliability: of the rows, each left out.
    cures: what can be done, the model as it is first, then by log loss.
    n_rows: that were looked at.
    """

    things: str
    names: tuple[str, ...]
    information: Floats = field(compare=False)
    pairs: tuple[Dependence, ...]
    n_pairs: int
    log_loss: float
    reliability: Reliability
    cures: tuple[Cure, ...]
    n_rows: int

    @property
    def overconfidence(self) -> float:
        """The mean probability of what is chosen, less the share that is right."""
        return self.reliability.said_in_all - self.reliability.seen_in_all

    @property
    def best(self) -> Cure:
        """The cure with the least log loss; the model as it is where none helps."""
        return min(self.cures, key=lambda cure: cure.log_loss)

    @property
    def table(self) -> Table:
        """Pair by pair."""
        columns: dict[str, list[Any]] = {
            "first": [p.first for p in self.pairs],
            "second": [p.second for p in self.pairs],
            "bits": [p.bits for p in self.pairs],
            "p": [p.p_value for p in self.pairs],
            "costs (nats)": [p.cost for p in self.pairs],
            "overconfidence": [p.overconfidence for p in self.pairs],
            "better without": [p.drop for p in self.pairs],
        }
        return Table(columns, keys=2)

    @property
    def cure_table(self) -> Table:
        """What can be done, and what it gives."""
        columns: dict[str, list[Any]] = {
            "what": [c.what for c in self.cures],
            "log loss": [c.log_loss for c in self.cures],
            "calibration error": [c.calibration_error for c in self.cures],
            "how": [c.python for c in self.cures],
        }
        return Table(columns)

    @property
    def sentences(self) -> list[str]:
        """What was found, in short."""
        tested = f"{self.n_pairs:,} pairs of {self.things}"
        if not self.pairs:
            told = [f"No dependence beyond chance among {tested}: the naive assumption does no harm here."]
        else:
            top = self.pairs[0]
            most = f"the most, {top.first!r} and {top.second!r}, {top.bits:.3g} bits"
            told = [f"{len(self.pairs):,} of {tested} tell of each other beyond what the class tells; {most}."]
        sure = (
            f"it says {self.reliability.said_in_all:.1%} on average and is right in {self.reliability.seen_in_all:.1%}"
        )
        told.append(f"Log loss {self.log_loss:.4g} nats, calibration error {self.reliability.error:.3f}: {sure}.")
        if self.best.key != "as it is":
            told.append(f"Best: {self.best.what}, log loss {self.best.log_loss:.4g}.")
        elif self.pairs:
            told.append("Nothing that was tried is better: leave it as it is.")
        return told

    @property
    def sheet(self) -> Sheet:
        """Readable in 80 columns."""
        parts: list[Any] = ["", Items(self.sentences)]
        if self.pairs:
            table = self.table
            shown = {name: [_shown(v) for v in table[name][:SHOWN]] for name in table.column_names}
            parts += ["", Grid(shown, more=max(len(self.pairs) - SHOWN, 0))]
        cures = self.cure_table
        parts += ["", Grid({name: [_shown(v) for v in cures[name]] for name in cures.column_names})]
        return Sheet(f"Dependence of {len(self.names)} {self.things}, {self.n_rows:,} rows", tuple(parts))


def _shown(value: Any) -> Any:
    return Figure(f"{value:.3g}") if isinstance(value, float) else value
