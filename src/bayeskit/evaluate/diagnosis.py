"""Diagnosis of the naive assumption: dependent columns or words, their cost, and alternatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bayeskit.drawable import Drawable
from bayeskit.evaluate.reliability import Reliability
from bayeskit.tables import Figure, Grid, Items, Readable, Sheet, Table
from bayeskit.typing import Floats

SHOWN = 10  # pairs that are printed
MEASURED = 10  # pairs whose cost is measured


@dataclass(frozen=True)
class Dependence:
    """Two columns or words that depend on each other given the class.

    Attributes
    ----------
    bits : float
        Conditional mutual information beyond the amount expected by chance.
    p_value : float
        Of the test of conditional independence.
    cost : float or None
        Decrease of the log loss in nats when the two are modeled jointly (for words: when one is dropped).
    overconfidence : float
        Decrease of (mean probability of the predicted class − accuracy) under the same change.
    drop, without : str, float
        The column or word without which the log loss is lower, and that log loss.
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
    """An alternative to the model as it is, with its leave-one-out log loss and calibration error.

    ``key`` is "as it is", "drop", "exponents", "tan", …; ``python`` is the code; ``column`` is the dropped column.
    """

    key: str
    what: str
    log_loss: float
    calibration_error: float
    python: str
    column: str | None = None


@dataclass(frozen=True, repr=False)
class Diagnosis(Readable, Drawable):
    """Dependence between columns (or words) given the class, and its consequences.

    Attributes
    ----------
    things : {"columns", "words"}
    names : tuple of str
        Columns or words that were tested.
    information : ndarray of shape (n_names, n_names)
        Bits of conditional mutual information beyond chance; 0 for pairs that are not significant.
    pairs : tuple of Dependence
        Significant pairs, strongest first.
    n_pairs : int
        Number of tested pairs; the tests have a family-wise level of 1 %.
    log_loss : float
    reliability : Reliability
        Both from leave-one-out.
    cures : tuple of Cure
        The model as it is, then alternatives by log loss.
    n_rows : float

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> x = ["a", "b"] * 40
    >>> data = {"x": x, "copy": x}
    >>> labels = ["yes", "no", "yes", "no", "yes", "no", "no", "yes"] * 10
    >>> found = NaiveBayes().fit(data, labels).diagnose(data, labels)
    >>> [(pair.first, pair.second) for pair in found.pairs]
    [('x', 'copy')]
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
        """Return the mean probability of the predicted class minus the accuracy."""
        return self.reliability.said_in_all - self.reliability.seen_in_all

    @property
    def best(self) -> Cure:
        """Return the alternative with the smallest log loss; the model as it is if none is better."""
        return min(self.cures, key=lambda cure: cure.log_loss)

    @property
    def table(self) -> Table:
        """Return the significant pairs as a table."""
        headers = ("first", "second", "bits", "p", "costs (nats)", "overconfidence", "better without")
        fields = ("first", "second", "bits", "p_value", "cost", "overconfidence", "drop")
        return Table({h: [getattr(p, f) for p in self.pairs] for h, f in zip(headers, fields, strict=True)}, keys=2)

    @property
    def cure_table(self) -> Table:
        """Return the alternatives and their scores as a table."""
        names = {"what": "what", "log loss": "log_loss", "calibration error": "calibration_error", "how": "python"}
        return Table({header: [getattr(c, name) for c in self.cures] for header, name in names.items()})

    @property
    def sentences(self) -> list[str]:
        """Summarize the result in sentences."""
        tested = f"{self.n_pairs:,} pairs of {self.things}"
        if not self.n_pairs:
            lines = [f"There are no two {self.things} to test with these rows: the naive assumption was not tested."]
        elif not self.pairs:
            lines = [f"No dependence beyond chance among {tested}: the naive assumption does no harm here."]
        else:
            top = self.pairs[0]
            most = f"the most, {top.first!r} and {top.second!r}, {top.bits:.3g} bits"
            lines = [f"{len(self.pairs):,} of {tested} tell of each other beyond what the class tells; {most}."]
        sure = (
            f"it says {self.reliability.said_in_all:.1%} on average and is right in {self.reliability.seen_in_all:.1%}"
        )
        lines.append(f"Log loss {self.log_loss:.4g} nats, calibration error {self.reliability.error:.3f}: {sure}.")
        if self.best.key != "as it is":
            lines.append(f"Best: {self.best.what}, log loss {self.best.log_loss:.4g}.")
        elif self.pairs:
            lines.append("Nothing that was tried is better: leave it as it is.")
        return lines

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        parts: list[Any] = ["", Items(self.sentences)]
        if self.pairs:
            table = self.table
            shown = {name: [_format_cell(v) for v in table[name][:SHOWN]] for name in table.column_names}
            parts += ["", Grid(shown, more=max(len(self.pairs) - SHOWN, 0))]
        cures = self.cure_table
        parts += ["", Grid({name: [_format_cell(v) for v in cures[name]] for name in cures.column_names})]
        return Sheet(f"Dependence of {len(self.names)} {self.things}, {self.n_rows:,} rows", tuple(parts))


def _format_cell(value: Any) -> Any:
    return Figure(f"{value:.3g}") if isinstance(value, float) else value
