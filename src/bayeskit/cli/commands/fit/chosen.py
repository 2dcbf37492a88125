"""What ``bayes fit --model auto`` says of the models that it tried."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bayeskit.cli.console import Page, short
from bayeskit.explain.overview import percent
from bayeskit.tables.sheet import Figure

if TYPE_CHECKING:
    from bayeskit.models.choice import Choice


def show_choice(page: Page, choice: Choice) -> None:
    """The table of what was tried, what was beaten and why, and what the winner cannot do."""
    tried = choice.candidates
    page.table(
        {
            f"{choice.held_out:,} rows held out": [one.name for one in tried],
            "log loss (nats)": [Figure("–") if one.log_loss is None else short(one.log_loss) for one in tried],
            "accuracy": [Figure("–") if one.accuracy is None else Figure(percent(one.accuracy)) for one in tried],
            "seconds": [Figure("–") if one.seconds is None else Figure(f"{one.seconds:.2f}") for one in tried],
            "": [one.why for one in tried],
        }
    )
    for note in choice.notes:
        page.line(note)


def choice_record(choice: Choice) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "winner": choice.winner,
        "held_out": choice.held_out,
        "limit": choice.limit,
        "seconds": choice.seconds,
        "candidates": [asdict(one) for one in choice.candidates],
        "notes": list(choice.notes),
    }
