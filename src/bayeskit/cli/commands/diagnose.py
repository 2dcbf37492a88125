"""``bayes diagnose``: find columns or words that violate the naive assumption, and the cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bayeskit.cli.options import DATA, JSON, MODEL, TEXT, Reading, grouped
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.errors import BayesError, with_article
from bayeskit.inner_model import reader_of

SHOWN = 10  # pairs in the table; --json has all


@grouped
def command(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    text: str | None = TEXT,
    reading: Reading,
    plot: str | None = PLOT,
    json: bool = JSON,
) -> None:
    """Find columns or words that violate the naive assumption.

    Naive Bayes assumes that columns are independent given the class. Where two are
    not, evidence counts twice and probabilities become too extreme. Prints the
    dependent pairs with their conditional mutual information in bits, their cost
    in leave-one-out log loss, and the models that improve it.

    \b
    Examples:
      bayes diagnose birds.bayes birds.csv --plot pairs.svg
    """
    from bayeskit.cli import texts
    from bayeskit.cli.console import Page
    from bayeskit.cli.saved_models import fit_command, load_classifier, open_labeled, reading_model, target_of

    page = Page(json)
    check_plot(plot, (model, *data))
    fitted = load_classifier(model)
    target = target_of(fitted)
    of_texts = texts.is_text(fitted)
    naive = reader_of(fitted) if of_texts else reading_model(fitted)
    if not hasattr(naive, "diagnose"):
        who = with_article(type(naive).__name__)
        raise BayesError(
            f"{who} is not naive: it looks at columns together. Diagnose a model of bayes fit --model naive."
        )
    source = open_labeled(fitted, data, target, text, reading)
    diagnosis = naive.diagnose(source, target)
    _show(page, diagnosis, source.name)
    if not of_texts:
        for cure in diagnosis.cures[1:]:
            if cure.key in ("tan", "exponents", "drop") and "-" not in data and cure.log_loss < diagnosis.log_loss:
                options = [] if cure.key == "drop" else ["-m", cure.key]
                output = f"{cure.key}.bayes"
                again = fit_command(data, target, naive, options, reading, output, ignored=cure.column)
                page.command(f"{cure.what}:", again)
    elif diagnosis.best.key != "as it is":
        page.line(f"In Python: {diagnosis.best.python}")
    draw(page, plot, diagnosis.chart)
    page.json(record(diagnosis, model, source.name))


def _show(page: Any, diagnosis: Any, name: str) -> None:
    from bayeskit.cli.console import short
    from bayeskit.tables import Figure, Grid

    page.heading(f"{diagnosis.n_rows:,} rows of {name}, {len(diagnosis.names)} {diagnosis.things}")
    page.sentences(diagnosis.sentences)
    if pairs := diagnosis.pairs:
        page.line()
        columns: dict[str, Any] = {
            f"{diagnosis.things} that depend": [f"{pair.first} × {pair.second}" for pair in pairs],
            "bits": [Figure(f"{pair.bits:.3f}") for pair in pairs],
            "p": [Figure(f"{pair.p_value:.0e}") for pair in pairs],
            "costs": [_signed(pair.cost) for pair in pairs],
            "too sure by": [_signed(pair.overconfidence) for pair in pairs],
        }
        page.grid(Grid(columns), SHOWN)
    page.line()
    page.table(
        {
            "what helps": [cure.what for cure in diagnosis.cures],
            "log loss (nats)": [short(cure.log_loss) for cure in diagnosis.cures],
            "calibration error": [Figure(f"{cure.calibration_error:.3f}") for cure in diagnosis.cures],
        }
    )


def _signed(number: float | None) -> Any:
    from bayeskit.tables import Figure

    return Figure("–" if number is None else f"{number:+.4f}")


def record(diagnosis: Any, model: str, name: str) -> dict[str, Any]:
    """Return the diagnosis as plain data."""
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
