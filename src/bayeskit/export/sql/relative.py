"""A scoring form with every score taken relative to the first class: the same probabilities for one class less of work.

    P(c) ∝ exp(z_c) = exp(z_0) · exp(z_c − z_0)

A difference of normals is a polynomial of the number, written around a centre near the means. Where a mean lies too
many deviations from it, digits would cancel, and the difference is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bayeskit.export.scoring_form import (
    Context,
    ContextTerm,
    LinearTerm,
    QuadraticTerm,
    ScoringForm,
    TableTerm,
    WordsTerm,
)
from bayeskit.typing import Floats

APART = 100.0  # nats between a mean and the centre: of differences of such, thirteen decimals are left


@dataclass(frozen=True, eq=False)
class PolynomialTerm:
    """constant_c + linear_c (x − center) + square_c (x − center)², all (classes,); a missing number says nothing."""

    name: str
    center: float
    constant: Floats
    linear: Floats
    square: Floats


def relative_form(form: ScoringForm) -> ScoringForm:
    """The same form without the first class's own scores; as it is where a probability can be zero."""
    if len(form.classes) < 2:
        return form
    terms: tuple[Any, ...] = tuple(map(_relative, form.terms))
    return replace(form, base=form.base - form.base[0], terms=terms)


def _relative(term: Any) -> Any:
    if isinstance(term, TableTerm):
        return replace(term, table=term.table - term.table[:, :1])
    if isinstance(term, LinearTerm):
        return replace(term, slope=term.slope - term.slope[0], present=term.present - term.present[0])
    if isinstance(term, ContextTerm):
        levels = (Context(level.codes, level.tables - level.tables[:, :, :1]) for level in term.levels)
        return replace(term, levels=tuple(levels))
    if isinstance(term, WordsTerm):
        repeats, present = (None if part is None else part - part[..., :1] for part in (term.repeats, term.present))
        shares = term.shares and replace(term.shares, scores=term.shares.scores - term.shares.scores[:, :1])
        weights = term.weights - term.weights[:, :1]
        return replace(term, weights=weights, repeats=repeats, present=present, shares=shares)
    return _polynomial(term)


def _polynomial(term: QuadraticTerm) -> PolynomialTerm | QuadraticTerm:
    center, half = float(term.mean.mean()), 0.5 * term.precision
    apart = term.mean - center
    if (half * apart**2).max() > APART:
        return term
    constant = term.constant - half * apart**2
    linear, square = 2 * half * apart, -half
    return PolynomialTerm(
        term.name, center, constant - constant[0], linear - linear[0], square - square[0]
    )  # fmt: skip
