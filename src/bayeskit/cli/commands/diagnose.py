"""``bayes diagnose``: find columns or words that violate the naive assumption, and the cost."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.options import AS_IT_IS, Data, Json, Model, Reading, Text, grouped, typed
from bayeskit.cli.outputs import Plot, check_plot
from bayeskit.cli.outputs import plot as draw

SHOWN = 10  # pairs in the table; --json has all


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
    from bayeskit.cli import texts
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import open_data
    from bayeskit.cli.saved_models import load_classifier, reading_model, target_of
    from bayeskit.errors import BayesError, with_article
    from bayeskit.inner_model import reader_of

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
    diagnosis = naive.diagnose(source, target)
    _show(page, diagnosis, source.name)
    if not of_texts:
        for cure in diagnosis.cures[1:]:
            words = command_of(cure, data, target, naive, reading)
            if words and cure.log_loss < diagnosis.log_loss:
                page.command(f"{cure.what}:", words)
    elif diagnosis.best.key != "as it is":
        page.line(f"In Python: {diagnosis.best.python}")
    draw(page, plot, diagnosis.chart)
    page.json(record(diagnosis, model, source.name))


def command_of(cure: Any, data: list[str], target: str, naive: Any, reading: Reading) -> list[str]:
    """Return the command that applies a fix; an empty list if there is none."""
    roles = naive.roles if isinstance(naive.roles, dict) else {}
    roles = {naive.schema_.find(key): role for key, role in roles.items() if isinstance(role, str)}
    if cure.key == "drop":
        roles = {**roles, cure.column: "ignore"}
    kind = {"tan": ["-m", "tan"], "exponents": ["-m", "exponents"], "drop": []}.get(cure.key)
    if kind is None or "-" in data:
        return []
    role_options = [word for name, role in roles.items() for word in ("--role", f"{name}={role}")]
    return ["bayes", "fit", *data, "-t", target, *kind, *role_options, *typed(reading), "-o", f"{cure.key}.bayes"]


def _show(page: Any, diagnosis: Any, name: str) -> None:
    from bayeskit.cli.console import short
    from bayeskit.tables.sheet import Figure

    page.line(f"{diagnosis.n_rows:,} rows of {name}, {len(diagnosis.names)} {diagnosis.things}", style="bold")
    page.line()
    for sentence in diagnosis.sentences:
        page.line(sentence)
    if diagnosis.pairs:
        pairs = diagnosis.pairs[:SHOWN]
        page.line()
        page.table(
            {
                f"{diagnosis.things} that depend": [f"{pair.first} × {pair.second}" for pair in pairs],
                "bits": [Figure(f"{pair.bits:.3f}") for pair in pairs],
                "p": [Figure(f"{pair.p_value:.0e}") for pair in pairs],
                "costs": [Figure("–" if pair.cost is None else f"{pair.cost:+.4f}") for pair in pairs],
                "too sure by": [
                    Figure("–" if pair.overconfidence is None else f"{pair.overconfidence:+.4f}") for pair in pairs
                ],
            },
        )
        if len(diagnosis.pairs) > SHOWN:
            page.line(f"… and {len(diagnosis.pairs) - SHOWN:,} more: --json has them all", style="dim")
    page.line()
    page.table(
        {
            "what helps": [cure.what for cure in diagnosis.cures],
            "log loss (nats)": [short(cure.log_loss) for cure in diagnosis.cures],
            "calibration error": [Figure(f"{cure.calibration_error:.3f}") for cure in diagnosis.cures],
        }
    )


def record(diagnosis: Any, model: str, name: str) -> dict[str, Any]:
    """Return the diagnosis as plain data."""
    from dataclasses import asdict

    return {
        "model": model,
        "data": name,
        "things": diagnosis.things,
        "names": list(diagnosis.names),
        "rows": diagnosis.n_rows,
        "pairs_tested": diagnosis.n_pairs,
        "pairs": [asdict(pair) for pair in diagnosis.pairs],
        "log_loss": diagnosis.log_loss,
        "calibration_error": diagnosis.reliability.error,
        "overconfidence": diagnosis.overconfidence,
        "cures": [asdict(cure) for cure in diagnosis.cures],
    }
