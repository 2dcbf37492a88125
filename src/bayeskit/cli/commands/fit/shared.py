"""Options of ``bayes fit`` that tables and documents share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bayeskit.cli.options import DropUnlabelled, among
from bayeskit.cli.outputs import Plot

DEFAULT = "model.bayes"


@dataclass(frozen=True)
class Shared:
    """Options for the target, the output file, the prior and the smoothing."""

    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column that holds the class.")
    ] = None
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes; - for stdout.")
    ] = DEFAULT
    smoothing: Annotated[
        str | None,
        typer.Option(
            "--smoothing",
            metavar="NUMBER|auto",
            help="Added to every count; 1 is Laplace, 0 is none; else as the model does.",
        ),
    ] = None
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            metavar="empirical|uniform|laplace",
            help="What classes are worth beforehand; laplace counts one row more of each.",
            autocompletion=among("empirical", "uniform", "laplace"),
        ),
    ] = None
    drop_unlabelled: DropUnlabelled = False
    scores: Annotated[
        bool, typer.Option("--scores/--no-scores", help="Leave-one-out scores take a second read of the data.")
    ] = True

    plot: Plot = None

    @property
    def unlabelled(self) -> str | None:
        """Return the setting for rows without a class, if given."""
        return "drop" if self.drop_unlabelled else None

    @property
    def class_prior(self) -> Any:
        """Return the prior as a Python value."""
        from bayeskit.estimate.smoothing import Laplace

        if self.prior not in (None, "empirical", "uniform", "laplace"):
            raise typer.BadParameter(f"{self.prior!r} is not empirical, uniform or laplace", param_hint="--prior")
        return Laplace() if self.prior == "laplace" else self.prior

    @property
    def amount(self) -> Any:
        """Return the smoothing as a number, or "auto"."""
        if self.smoothing is None or self.smoothing == "auto":
            return self.smoothing
        try:
            return float(self.smoothing)
        except ValueError:
            refusal = f"{self.smoothing!r} is neither a number nor auto"
            raise typer.BadParameter(refusal, param_hint="--smoothing") from None
