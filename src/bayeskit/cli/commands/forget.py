"""``bayes forget``: remove rows from a model."""

from __future__ import annotations

from bayeskit.cli.commands.change import ChangeOptions, change
from bayeskit.cli.options import DATA, JSON, MODEL, Reading, grouped, option


@grouped
def command(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    options: ChangeOptions,
    refit: bool = option("--refit", None, "Fit again on the remaining rows; for models that keep their rows.", False),
    verify: bool = option("--verify", None, "Read the file again and say what it still holds of the rows.", False),
    reading: Reading,
    json: bool = JSON,
) -> None:
    """Remove the rows of a file from a model.

    The counts become those of one fit without these rows, and values, words and
    classes that no remaining row has leave the file. What else the fit learned (cut
    points, structure, weights, idf, vocabulary) stays fixed and is listed in the
    output; --refit fits it again, for models that keep their rows (-m best, and
    documents fitted with --keep-rows). Rows that cannot have been learned are refused.
    (Counts do not identify rows: a row that was never learned, or was forgotten before,
    is removed as well if the model has learned all its values. With --batch NAME the
    same batch is refused twice.)
    The model file is locked while it changes and replaced as a whole; an error
    leaves it unchanged.

    \b
    Example:
      bayes forget birds.bayes customer_17.csv
    """
    change("forget", model, data, options, reading, json, refit=refit, verify=verify)
