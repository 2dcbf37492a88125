"""One table, one answer: every public function that takes a table takes it in all its forms, or says what it wants.

A new public function or method with a table among its parameters must be listed here.
"""

import importlib
import inspect
import pkgutil
import warnings
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv

import bayeskit as bk
from bayeskit.evaluate.cross_validation import cross_validate, evaluate_test_set
from bayeskit.evaluate.learning_curve import generative_vs_discriminative, learning_curve, vocabulary_curve
from bayeskit.evaluate.metrics import averages
from bayeskit.tables import Table

pytestmark = pytest.mark.slow

TABLES = ("X", "X_test", "data", "source", "documents", "raw_documents", "evidence")
N = 40


def _columns():
    rng = np.random.default_rng(5)
    kind = ["a" if i % 2 else "b" for i in range(N)]
    size = [float(round(x + (k == "a"), 2)) for x, k in zip(rng.normal(size=N), kind, strict=True)]
    width = [float(round(x, 2)) for x in rng.normal(size=N)]
    return {"size": size, "width": width}, kind


COLUMNS, LABELS = _columns()
SKY = ["sun" if i % 3 else "rain" for i in range(N)]
MIXED = {**COLUMNS, "sky": SKY}


def forms(columns, labels, folder):
    """Name of the form → (the table, its labels)."""
    whole = {**columns, "kind": labels}
    path = folder / f"table{len(columns)}.csv"
    csv.write_csv(pa.table(whole), path)
    parquet = folder / f"table{len(columns)}.parquet"
    pl.DataFrame(whole).write_parquet(parquet)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    found = {
        "dict of columns": (columns, labels),
        "records": (records, labels),
        "pandas": (pd.DataFrame(columns), pd.Series(labels, name="kind")),
        "polars": (pl.DataFrame(columns), pl.Series("kind", labels)),
        "arrow": (pa.table(columns), pa.array(labels)),
        "dict, target by name": (whole, "kind"),
        "pandas, target by name": (pd.DataFrame(whole), "kind"),
        "polars, target by name": (pl.DataFrame(whole), "kind"),
        "arrow, target by name": (pa.table(whole), "kind"),
        "path of CSV": (str(path), "kind"),
        "path of Parquet": (parquet, "kind"),
        "source": (bk.open_source(path), "kind"),
    }
    if all(isinstance(column[0], float) for column in columns.values()):
        found["numpy"] = (np.column_stack(list(columns.values())), np.array(labels))
    return found


def answer(value):
    """What was said, in plain values that can be compared."""
    if isinstance(value, Table):
        return {name: value[name] for name in value.column_names}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: answer(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [answer(part) for part in value]
    if isinstance(value, dict):
        return {key: answer(part) for key, part in value.items()}
    if isinstance(value, pa.Table):
        return value.to_pydict()
    if isinstance(value, pd.DataFrame):
        return value.to_dict("list")
    if isinstance(value, pl.DataFrame):
        return value.to_dict(as_series=False)
    if hasattr(value, "toarray"):
        return value.toarray().tolist()
    if hasattr(value, "posterior"):
        return answer(value.posterior)
    return value.tolist() if hasattr(value, "tolist") else value


def same(one, other, names_differ):
    if isinstance(one, dict):
        keys = (list(one.values()), list(other.values())) if names_differ else (one.items(), other.items())
        return len(one) == len(other) and all(same(a, b, names_differ) for a, b in zip(*keys, strict=True))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b, names_differ) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, (int, float)):
        return one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)
    return one == other or (names_differ and isinstance(one, str))


def agree(check, columns, labels, folder, some=None):
    """``check(X, y)`` says the same of every form; of one that it cannot take, it says so."""
    told, refused = {}, {}
    for form, (X, y) in forms(columns, labels, folder).items():
        if some is not None and form not in some:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bk.BayesWarning)
            try:
                told[form] = answer(check(X, y))
            except bk.BayesError as problem:
                refused[form] = str(problem)
    first = told["dict of columns"]
    for form, value in told.items():
        assert same(first, value, form == "numpy"), (form, first, value)
    return refused


MODELS = {
    "NaiveBayes": (bk.NaiveBayes(), MIXED),
    "GaussianBayes": (bk.GaussianBayes(), COLUMNS),
    "TAN": (bk.TAN(), MIXED),
    "AODE": (bk.AODE(), MIXED),
    "KDB": (bk.KDB(), MIXED),
    "NBTree": (bk.NBTree(), MIXED),
    "NetworkClassifier": (bk.NetworkClassifier(), MIXED),
    "FullJointBayes": (bk.FullJointBayes(), MIXED),
    "SubclassBayes": (bk.SubclassBayes(n_subclasses=2, restarts=1, folds=2, max_rounds=5), MIXED),
    "BayesClassifier": (bk.BayesClassifier(n_members=1, n_trees=2, fast=True), MIXED),
    "LogisticRegression": (bk.LogisticRegression(), MIXED),
    "DiscriminativeWeights": (bk.DiscriminativeWeights(), MIXED),
    "CostSensitive": (bk.CostSensitive(bk.NaiveBayes(), {"a": {"a": 0, "b": 5}, "b": {"a": 1, "b": 0}}), MIXED),
    "Calibrated": (bk.Calibrated(), MIXED),
    "Encoded": (bk.Encoded(), MIXED),
    "BayesOptimalClassifier": (bk.BayesOptimalClassifier([bk.NaiveBayes()], weights="cross-validation"), MIXED),
    "GibbsClassifier": (bk.GibbsClassifier([bk.NaiveBayes()], weights="leave-one-out", random_state=0), MIXED),
    "SemiSupervised": (bk.SemiSupervised(bk.NaiveBayes()), MIXED),
    "Discretizer": (bk.Discretizer(), MIXED),
}
SAYING = (
    "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "score_samples", "explain", "decide",
    "decision_function", "expected_error", "subclass_proba", "contributions", "transform", "matrix",
)  # fmt: skip
SCORING = ("score", "label_codes", "log_likelihood", "leave_one_out", "evaluate", "select", "diagnose")
LEARNING = ("partial_fit", "forget", "tune")
SOURCES = (
    "fit_source",
    "learn_source",
    "forget_source",
    "complete_schema",
    "inferred_schema",
    "with_cuts",
    "learn_plan",
    "with_labels",
    "with_all_columns",
    "blocks_learned",  # what leave_one_out reads
)  # a source is one form
"""Methods of models by what they take: rows; rows and classes; the same, and change the model."""

ELSEWHERE = {
    **dict.fromkeys(("BetaBernoulli", "DirichletCategorical", "NormalInverseGamma"), "the values of one column"),
    "TextClassifier": "documents, below",
    "TokenCounter": "documents, below",
    "LinearRegression": "numbers as the target, below",
    "Sequences": "sequences in every form: tests/data/test_sequences.py",
    **dict.fromkeys(("HiddenMarkovModel", "MarkovChain", "SequenceClassifier"), "test_sequences_in_every_form.py"),
    **dict.fromkeys(("CategoricalHMM", "GaussianHMM"), "sequences as hmmlearn takes them: tests/sequence"),
    "TopicModel": "test_sequences_in_every_form.py",
    "Selection": "what it makes of a table keeps its form: tests/evaluate",
    "JointDistribution": "below",
    "BayesianNetwork": "below",
    **dict.fromkeys(("GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"),
                    "scikit-learn's own rules, which take arrays and frames alone: tests/reference"),
}  # fmt: skip
FUNCTIONS = {
    "cross_validate", "learning_curve", "compare",
    "vocabulary_curve", "generative_vs_discriminative", "evaluate_test_set", "predict_held_out",
    "evaluate_rows", "evaluate_predictions", "open_source",
    "learn_network", "structure_score", "arc_strengths", "fit_tables", "pc",  # rows of values: tests/network
    "from_bytes", "write_whole",  # bytes, no table
    "updating",  # the name of a source, no table
    "labeled_table", "posterior_over",  # what cross_validate is made of
    "decision_regions", "drift", "write_report",  # frames, of any classifier; parts of a report in tests/report
}  # fmt: skip
INSIDE = (
    "cli",
    "data",
    "tally",
    "engines",
    "estimate",
    "kernels",
    "models",
    "network",
    "explain",
    "charts",
    "export",
    "report",
    "storage",
    "tables",
    "beliefs",
    "decisions",
    "compat",
    "sequence",
    "serve",
    "topics",
)
"""Packages whose functions are not a public way in; their public names are in ``bayeskit.__all__``."""


def takes_a_table(function):
    try:
        return bool({*inspect.signature(function).parameters} & {*TABLES})
    except (TypeError, ValueError):
        return False


def table_methods(kind):
    found = set()
    for name in dir(kind):
        static = inspect.getattr_static(kind, name)
        function = getattr(static, "fn", getattr(static, "__func__", static))
        if not name.startswith("_") and name not in ("from_json", "from_bytes") and takes_a_table(function):
            found.add(name)
    return found


def test_every_public_way_in_for_a_table_is_listed():
    for name in bk.__all__:
        public = getattr(bk, name)
        if inspect.isclass(public):
            methods = table_methods(public)
            if methods and name not in ELSEWHERE:
                assert name in MODELS, f"{name} takes tables by {methods}: list it here"
                known = {"fit", "fit_transform", "fit_over", "to_sql", *SAYING, *SCORING, *LEARNING, *SOURCES}
                assert methods <= known, f"{name}: list {methods - known} here"
        elif callable(public) and takes_a_table(public):
            assert name in FUNCTIONS, f"{name} takes a table: list it here"
    for module in pkgutil.iter_modules(bk.__path__, "bayeskit."):
        inner = module.name.split(".")[1]
        if inner.startswith("_") or inner in INSIDE:
            continue
        names = [module.name]
        if module.ispkg:
            path = importlib.import_module(module.name).__path__
            names += [part.name for part in pkgutil.iter_modules(path, f"{module.name}.")]
        for where in map(importlib.import_module, names):
            for name, function in vars(where).items():
                own = inspect.isfunction(function) and function.__module__ == where.__name__
                if own and not name.startswith("_") and takes_a_table(function):
                    assert name in FUNCTIONS, f"{where.__name__}.{name} takes a table: list it here"


@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_the_same_of_a_table_in_every_form(name, tmp_path):
    from sklearn.base import clone

    model, columns = MODELS[name]
    fitted = clone(model).fit(columns, LABELS)

    def learned(X, y):
        other = clone(model).fit(X, y)
        say = other.transform if name == "Discretizer" else other.predict_proba
        return say(_unnamed(columns) if isinstance(X, np.ndarray) else columns)

    refused = agree(learned, columns, LABELS, tmp_path)
    for saying in SAYING:
        if hasattr(fitted, saying):
            told = agree(lambda X, y, saying=saying: getattr(_for(clone(model), fitted, X, columns), saying)(X),
                         columns, LABELS, tmp_path)  # fmt: skip
            assert told.keys() <= refused.keys(), (saying, told)
    for scoring in SCORING:
        # Without leave-one-out, evaluate refuses the training rows in every form.
        if hasattr(fitted, scoring) and (scoring != "evaluate" or hasattr(fitted, "leave_one_out")):
            told = agree(lambda X, y, scoring=scoring: getattr(_for(clone(model), fitted, X, columns), scoring)(X, y),
                         columns, LABELS, tmp_path)  # fmt: skip
            assert told.keys() <= refused.keys(), (scoring, told)
    for learning in LEARNING:
        if hasattr(fitted, learning):
            some = ("dict of columns", "polars", "path of CSV", "numpy") if learning == "tune" else None  # it is slow
            told = agree(lambda X, y, way=learning: _changed(clone(model), way, X, y, columns),
                         columns, LABELS, tmp_path, some)  # fmt: skip
            assert told.keys() <= refused.keys(), (learning, told)
    assert not refused


def _unnamed(columns):
    return np.column_stack(list(columns.values()))


def _for(fresh, fitted, X, columns):
    """The fitted model, or for a table without names one that was fitted without."""
    return fresh.fit(_unnamed(columns), np.array(LABELS)) if isinstance(X, np.ndarray) else fitted


def _changed(model, learning, X, y, columns):
    twice = {name: column * 2 for name, column in columns.items()}
    rows = _unnamed(twice) if isinstance(X, np.ndarray) else twice
    model.fit(rows, LABELS * 2)
    getattr(model, learning)(X, y)
    return model.predict_proba(_unnamed(columns) if isinstance(X, np.ndarray) else columns)


def test_a_weight_goes_with_rows_in_memory_in_every_form(tmp_path):
    weights = [1.0 + i % 3 for i in range(N)]
    kinds = [weights, np.array(weights), pd.Series(weights), pl.Series(weights), pa.array(weights)]
    for kind in kinds:
        refused = agree(
            lambda X, y, kind=kind: bk.NaiveBayes().fit(X, y, sample_weight=kind).predict_proba(
                _unnamed(COLUMNS) if isinstance(X, np.ndarray) else COLUMNS),
            COLUMNS, LABELS, tmp_path,
        )  # fmt: skip
        assert {*refused} == {"path of CSV", "path of Parquet", "source"}
        assert all("weights as values go with data in memory" in told for told in refused.values())


@pytest.mark.parametrize("columns", [COLUMNS, MIXED], ids=["numbers", "mixed"])
def test_an_evaluation_is_the_same_in_every_form(columns, tmp_path):
    found = cross_validate(bk.NaiveBayes(), columns, LABELS, folds=4)
    ways = {
        "cross_validate": lambda X, y: cross_validate(bk.NaiveBayes(), X, y, folds=4).counts,
        "learning_curve": lambda X, y: learning_curve(bk.NaiveBayes(), X, y, X, y, sizes=[8, 40], repeats=2),
        "compare": lambda X, y: bk.compare({"naive": bk.NaiveBayes()}, X, y, folds=4).log_loss,
        "comparison": lambda X, y: generative_vs_discriminative(X, y, sizes=[8, 16], repeats=2),
    }
    for check in ways.values():
        assert agree(check, columns, LABELS, tmp_path) == {}
    assert averages(found.confusion) == averages(found) == averages(found.counts)
    with pytest.raises(bk.BayesError, match="square"):
        averages(found.by_class)


def test_held_out_rows_are_scored_the_same_in_every_form(tmp_path):
    model = bk.NaiveBayes().fit({**MIXED, "kind": LABELS}, "kind")
    assert agree(lambda X, y: evaluate_test_set(model, bk.open_source(X, y)).counts, MIXED, LABELS, tmp_path) == {}


def test_numbers_are_predicted_the_same_in_every_form(tmp_path):
    model = bk.LinearRegression().fit({"width": COLUMNS["width"]}, COLUMNS["size"])
    columns = {"width": COLUMNS["width"]}
    for way in ("predict", "predict_interval", "predict_scale"):
        agree(lambda X, y, way=way: getattr(_line(model, X, columns), way)(X), columns, LABELS, tmp_path)

    def learned(X, y):
        return bk.LinearRegression().fit(X, y).predict(_unnamed(columns) if isinstance(X, np.ndarray) else columns)

    assert agree(learned, columns, COLUMNS["size"], tmp_path) == {}
    agree(lambda X, y: _line(model, X, columns).score(X, y), columns, COLUMNS["size"], tmp_path)


def _line(model, X, columns):
    return bk.LinearRegression().fit(_unnamed(columns), COLUMNS["size"]) if isinstance(X, np.ndarray) else model


def test_distributions_and_networks_are_the_same_in_every_form(tmp_path):
    columns = {"sky": SKY, "wind": ["high" if i % 5 else "low" for i in range(N)]}
    network = bk.BayesianNetwork.from_data([("sky", "wind")], {**columns, "kind": LABELS})
    ways = [
        lambda X, y: bk.JointDistribution.from_data(X).marginal("sky", "wind").table(),
        lambda X, y: bk.JointDistribution.from_data(X).conditional("sky", ["wind"]),
        lambda X, y: bk.BayesianNetwork.from_data([("sky", "wind")], X).table("wind"),
        lambda X, y: network.predict(X, "sky"),
        lambda X, y: network.predict_proba(X, "sky"),
    ]
    for check in ways:
        assert agree(check, columns, LABELS, tmp_path) == {}
    whole = {**columns, "kind": LABELS}
    joint = bk.JointDistribution.from_data(whole)
    assert answer(joint.conditional("sky", ["wind", "kind"])) == answer(joint.conditional("sky", "wind", "kind"))
    assert joint.marginal(["sky", "wind"]).variables == joint.marginal("sky", "wind").variables
    assert joint.entropy(["sky", "wind"]) == joint.entropy("sky", "wind")
    for wrong in (3, ["wind", 3], [["wind"]], "wint"):
        with pytest.raises(bk.BayesError):
            joint.conditional("sky", wrong)
    with pytest.raises(bk.BayesError, match="no variable"):
        joint.conditional(["sky", "wind"], "kind")


DOCUMENTS = [f"{'cheap pills' if i % 2 else 'lunch at noon'} w{i % 7}" for i in range(N)]


def test_documents_are_the_same_in_every_form():
    kinds = ["spam" if i % 2 else "ham" for i in range(N)]
    shapes = [
        DOCUMENTS, tuple(DOCUMENTS), np.array(DOCUMENTS), np.array(DOCUMENTS, dtype=object), pd.Series(DOCUMENTS),
        pl.Series(DOCUMENTS), pa.array(DOCUMENTS), pa.chunked_array([DOCUMENTS]), pd.DataFrame({"text": DOCUMENTS}),
        pl.DataFrame({"text": DOCUMENTS}), pa.table({"text": DOCUMENTS}), {"text": DOCUMENTS},
        [{"text": text} for text in DOCUMENTS],
    ]  # fmt: skip
    model = bk.TextClassifier("multinomial").fit(DOCUMENTS, kinds)
    counter = bk.TokenCounter().fit(DOCUMENTS)
    ways = [
        lambda X: bk.TextClassifier("multinomial").fit(X, kinds).predict_proba(DOCUMENTS),
        lambda X: bk.TextClassifier("multinomial").partial_fit(X, kinds).predict_proba(DOCUMENTS),
        model.predict, model.predict_proba, model.predict_log_proba, model.predict_joint_log_proba,
        lambda X: model.explain(X)[1], lambda X: model.score(X, kinds), lambda X: model.leave_one_out(X, kinds).counts,
        lambda X: model.log_likelihood(X, kinds), lambda X: cross_validate(model, X, kinds, folds=4).counts,
        lambda X: learning_curve(model, X, kinds, X, kinds, sizes=[8, 40]),
        lambda X: vocabulary_curve({"m": model}, X, kinds, sizes=[2, 5]),
        lambda X: model.merge(model).forget(X, kinds).predict_proba(DOCUMENTS),
    ]  # fmt: skip
    for check in ways:
        first = answer(check(DOCUMENTS))
        for X in shapes:
            assert same(first, answer(check(X)), False), type(X)
    for X in shapes[:8]:
        assert same(answer(counter.transform(DOCUMENTS)), answer(counter.transform(X)), False), type(X)
