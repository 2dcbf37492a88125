"""``bayes diagnose``: which columns or words break the naive assumption, what it costs, and what to do."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.options import AS_IT_IS, Data, Json, Model, Reading, Text, grouped, typed
from bayeskit.cli.plots import Plot, check_plot
from bayeskit.cli.plots import plot as draw

SHOWN = 10  # pairs in the table; --json has them all


@grouped
def command(
    model: Model,
    data: Data,
    text: Text = None,
    reading: Reading = AS_IT_IS,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Name columns or words that speak together, and the cost.

    Naive Bayes takes every column as if nothing but the class tied it to the
    others. Where two tell of each other all the same, evidence counts twice and
    probabilities run to 0 and 1. Pairs are named with their information given
    the class, in bits beyond chance; what they cost is measured on rows left
    out, and so is what helps.

    \b
    Examples:
      bayes diagnose birds.bayes birds.csv --plot pairs.svg
    """
    from bayeskit.capabilities import reader_of
    from bayeskit.cli import texts
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import open_data
    from bayeskit.cli.saved_models import load_classifier, reading_model, target_of
    from bayeskit.errors import BayesError, with_article

    page = Page(json)
    check_plot(plot, (model, *data))
    fitted = load_classifier(model)
    target = target_of(fitted)
    of_texts = texts.is_text(fitted)
    naive = reader_of(fitted) if of_texts else reading_model(fitted)
    if not hasattr(naive, "diagnose"):
        raise BayesError(
            f"{with_article(type(naive).__name__)} is not naive: it looks at columns together. Diagnose a model of "
            "bayes fit --model naive."
        )
    if of_texts:
        source: Any = texts.open_labelled(data, text or texts.column_of(fitted), target, reading)
    else:
        texts.refuse_text(fitted, text)
        source = open_data(data, target, reading)
    found = naive.diagnose(source, target)
    _show(page, found, source.name)
    if not of_texts:
        for cure in found.cures[1:]:
            words = command_of(cure, data, target, naive, reading)
            if words and cure.log_loss < found.log_loss:
                page.command(f"{cure.what}:", words)
    elif found.best.key != "as it is":
        page.line(f"In Python: {found.best.python}")
    draw(page, plot, found.chart)
    page.json(record(found, model, source.name))


def command_of(cure: Any, data: list[str], target: str, naive: Any, reading: Reading) -> list[str]:
    """The command that does what helps; nothing where no command does."""
    roles = naive.roles if isinstance(naive.roles, dict) else {}
    roles = {naive.schema_.find(key): role for key, role in roles.items() if isinstance(role, str)}
    if cure.key == "drop":
        roles = {**roles, cure.column: "ignore"}
    kind = {"tan": ["-m", "tan"], "exponents": ["-m", "exponents"], "drop": []}.get(cure.key)
    if kind is None or "-" in data:
        return []
    said = [word for name, role in roles.items() for word in ("--role", f"{name}={role}")]
    return ["bayes", "fit", *data, "-t", target, *kind, *said, *typed(reading), "-o", f"{cure.key}.bayes"]


def _show(page: Any, found: Any, name: str) -> None:
    from bayeskit.cli.console import short
    from bayeskit.data.sheet import Figure

    page.line(f"{found.n_rows:,} rows of {name}, {len(found.names)} {found.things}", style="bold")
    page.line()
    for sentence in found.sentences:
        page.line(sentence)
    if found.pairs:
        shown = found.pairs[:SHOWN]
        page.line()
        page.table(
            {
                f"{found.things} that depend": [f"{pair.first} × {pair.second}" for pair in shown],
                "bits": [Figure(f"{pair.bits:.3f}") for pair in shown],
                "p": [Figure(f"{pair.p_value:.0e}") for pair in shown],
                "costs": [Figure("–" if pair.cost is None else f"{pair.cost:+.4f}") for pair in shown],
                "too sure by": [
                    Figure("–" if pair.overconfidence is None else f"{pair.overconfidence:+.4f}") for pair in shown
                ],
            },
        )
        if len(found.pairs) > SHOWN:
            page.line(f"… and {len(found.pairs) - SHOWN:,} more: --json has them all", style="dim")
    page.line()
    page.table(
        {
            "what helps": [cure.what for cure in found.cures],
            "log loss (nats)": [short(cure.log_loss) for cure in found.cures],
            "calibration error": [Figure(f"{cure.calibration_error:.3f}") for cure in found.cures],
        }
    )


def record(found: Any, model: str, name: str) -> dict[str, Any]:
    """The diagnosis as plain data."""
    from dataclasses import asdict

    return {
        "model": model,
        "data": name,
        "things": found.things,
        "names": list(found.names),
        "rows": found.n_rows,
        "pairs_tested": found.n_pairs,
        "pairs": [asdict(pair) for pair in found.pairs],
        "log_loss": found.log_loss,
        "calibration_error": found.reliability.error,
        "overconfidence": found.overconfidence,
        "cures": [asdict(cure) for cure in found.cures],
    }
