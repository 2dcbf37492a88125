"""Load models and open data for them; the differences between the families of models stand here."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayeskit.cli import texts
from bayeskit.cli.inputs import columns_to_keep, load_model, open_data, open_rows
from bayeskit.cli.options import typed
from bayeskit.errors import BayesError, with_article
from bayeskit.inner_model import reader_of

if TYPE_CHECKING:
    from bayeskit.cli.options import Reading, RowOptions

FAMILIES = {  # by name, so that no module is imported without need
    "HiddenMarkovModel": "bayeskit.cli.sequences",
    "SequenceClassifier": "bayeskit.cli.sequences",
    "BayesianNetwork": "bayeskit.cli.commands.ask",
    "JointDistribution": "bayeskit.cli.commands.ask",
    "TopicModel": "bayeskit.cli.commands.topics",
}
"""Module that answers for models which do not classify rows or documents.

It defines those of ``inspect_model``, ``predict_data``, ``evaluate_model``, ``explain_data``, ``change_model`` and
``n_counted`` that the family supports.
"""


def family_function(model: Any, name: str) -> Callable[..., Any] | None:
    """Return the function of the model's family; None if the model is treated like any classifier."""
    module = FAMILIES.get(type(model).__name__)
    return None if module is None else getattr(import_module(module), name, None)


def unit_of(model: Any) -> str:
    """Return the noun for the units that a model classifies: row, document or sequence."""
    if type(model).__name__ == "SequenceClassifier":
        return "sequence"
    return "document" if texts.is_text(model) else "row"


def n_counted(model: Any) -> int | float:
    """Return the number of rows or sequences that a model has counted."""
    own = family_function(model, "n_counted")
    n: int | float = model.tally_.n_rows if own is None else own(model)
    return int(n) if n == int(n) else n


def load_classifier(path: str) -> Any:
    """Load a classifier from a file; for other models, raise an error that names the right command."""
    model = load_model(path)
    refuse_no_classes(model, path)
    return model


def refuse_no_classes(model: Any, path: str) -> None:
    """Raise an error for a model without classes where a classifier is needed."""
    if hasattr(model, "classes_"):
        return
    instead = "bayes ask answers from it"
    if hasattr(model, "predict_interval"):
        instead = "bayes predict gives its numbers"
    elif type(model).__name__ == "TopicModel":
        instead = "bayes inspect shows its topics"
    raise BayesError(f"{path} holds {with_article(type(model).__name__)}, which has no classes: {instead}")


def refuse_sequences(model: Any, path: str) -> None:
    """Raise an error for a model of sequences or sentences where rows are classified one by one."""
    instead = {"Tagger": "bayes tag tags them", "HiddenMarkovModel": "bayes predict gives its states"}
    instead["SequenceClassifier"] = "bayes predict gives their classes"
    if (kind := type(model).__name__) in instead:
        what = "sentences" if kind == "Tagger" else "sequences"
        raise BayesError(f"{path} holds {with_article(kind)}, a model of {what}: {instead[kind]}")


def probability_model(model: Any) -> Any:
    """Return the inner model that computes the probabilities; cost-sensitive and EM wrappers do not change them."""
    while type(model).__name__ in ("CostSensitive", "SemiSupervised"):
        model = model._reads_by()
    return model


def reading_model(model: Any) -> Any:
    """Return the model that has the columns; raise an error if rows were a matrix without names."""
    reads = reader_of(model)
    if reads is None:
        raise BayesError(
            f"{with_article(type(model).__name__)} that was fitted on a sparse matrix takes no table: its columns have "
            "no names. Predict in Python, or fit it on a table."
        )
    return reads


def target_of(model: Any) -> str:
    """Return the name of the predicted column."""
    while not hasattr(model, "target_") and hasattr(model, "_reads_by"):
        model = model._reads_by()
    named = getattr(model, "target_", None) or (model.schema_.target.name if hasattr(model, "schema_") else None)
    return named or "class"


SHARED_SETTINGS = ("domains", "prior", "unlabeled")
NAIVE_SETTINGS = ("smoothing", "numeric", "cuts", "variance", "ddof", "unseen")
PLAIN = (str, int, float, list, tuple, dict)


def fit_command(
    data: Sequence[str],
    target: str,
    model: Any,
    options: Sequence[str],
    reading: Reading,
    output: str,
    ignored: str | None = None,
) -> list[str]:
    """Return the words of a ``bayes fit`` on the same data with the settings of a model.

    Another kind of model (``-m`` among the options) keeps those settings that every model has.
    """
    from bayeskit.cli.hints import option

    settings = [*SHARED_SETTINGS, *(() if "-m" in options and "exponents" not in options else NAIVE_SETTINGS)]
    usual, passed = type(model)().get_params(deep=False), list[str]()
    for name in settings:
        value: Any = getattr(model, name, None)
        if name not in usual or repr(value) == repr(usual[name]):
            continue
        if isinstance(value, Mapping):
            value = {key: one for key, one in value.items() if model.schema_.find(key) != ignored}
        if hasattr(value, "alpha"):  # a rule of smoothing
            value = type(value).__name__.lower() if name == "prior" else value.alpha
        if isinstance(value, PLAIN):
            passed += shlex.split(option(name, repr(value)))
    given = getattr(model, "roles", None)
    roles = {model.schema_.find(k): v for k, v in given.items() if isinstance(v, str)} if type(given) is dict else {}
    roles |= {} if ignored is None else {ignored: "ignore"}
    words = [
        word
        for name, role in roles.items()
        for word in (("--ignore", name) if role == "ignore" else ("--role", f"{name}={role}"))
    ]
    return ["bayes", "fit", *data, "-t", target, *options, *words, *passed, *typed(reading), "-o", output]


def open_labeled(
    model: Any, data: Sequence[str], target: str, text: str | None, reading: Reading, weight: str | None = None
) -> Any:
    """Open labeled rows or documents for a model."""
    if texts.is_text(model):
        source: Any = texts.open_labeled(data, text or texts.column_of(model), target, reading)
    else:
        texts.refuse_text(model, text)
        reading_model(model)
        source = open_data(data, target, reading)
    return source if weight is None else source.with_weight(weight)


def open_unlabeled(model: Any, data: Sequence[str], text: str | None, whole_file: bool, reading: Reading) -> Any:
    """Open rows or documents without labels for a model, with the columns that it uses."""
    if texts.is_text(model):
        return texts.open_unlabeled(data, text or texts.column_of(model), text is not None, reading, whole_file)
    texts.refuse_text(model, text, whole_file)
    return select_columns(open_rows(data, reading), model, [])


def open_to_predict(
    model: Any, data: list[str], rows: RowOptions, reading: Reading, unreadable: Any, *, as_they_come: bool = False
) -> tuple[Any, Any]:
    """Return a source of the used and kept columns, and a function from its batches to (rows, kept columns)."""
    from bayeskit.data.source import OneBatch

    cells = unreadable if rows.unreadable == "missing" else None
    if texts.is_text(model):
        source, beside = texts.open_with_columns(model, data, rows, reading)
        return source, lambda batch: (batch.columns["text"], beside(batch))
    texts.refuse_text(model, rows.text, rows.whole_file)
    source = open_rows(data, reading, cells, as_they_come=as_they_come)
    keep = list(source.head) if rows.keep_all else rows.keep or []
    if getattr(source, "has_header", True):
        keep = columns_to_keep(source.name, keep, source.head)
    source = select_columns(source, model, keep, numbers=cells is not None)
    return source, lambda batch: (
        OneBatch(source.kinds, batch, source.here),
        {name: batch.cells_of(name) for name in keep},
    )


def select_columns(source: Any, model: Any, keep: list[str], *, numbers: bool = False) -> Any:
    """Restrict a source to the columns that the model uses and the kept ones.

    ``numbers``: numeric codes are read as numbers, regardless of the first rows of the file.
    """
    from bayeskit.data.source import for_schema, naming_the_file

    reads = reading_model(model)
    if not getattr(source, "has_header", True):
        source = source.expecting(reads.schema_.needed)
    values = {name: vocabulary.values for name, vocabulary in reads._encoder().vocabularies.items()}
    source = reads._with_all_columns(source) if hasattr(reads, "_with_all_columns") else source
    with naming_the_file(source):
        used: Any = for_schema(source, reads.schema_, values, ())
    asked = dict(used.columns_to_read)
    for name, theirs in reads.schema_.locate(list(source.kinds), source.named).items() if numbers else ():
        if asked[theirs] is None and values.get(name) and all(type(value) in (int, float) for value in values[name]):
            asked[theirs] = "float"
    if keeping := getattr(source, "keeping", None):
        return keeping(keep).reading(asked)
    return source.reading({**dict.fromkeys(keep), **asked})
