"""Every public function and method, on every kind of model, ends in an answer or a ``BayesError``."""

import inspect
import warnings

import numpy as np
import pytest

import bayeskit as bk
from tests.reference.make_models import BIRDS, FOLDER, LABELS, TEXTS

# Estimators that are not saved: made when they are asked for.
UNSAVED = {
    "optimal": lambda: bk.BayesOptimalClassifier([bk.NaiveBayes(), bk.TAN()], cv=2),
    "gibbs": lambda: bk.GibbsClassifier([bk.NaiveBayes(), bk.TAN()], cv=2),
    "encoded": lambda: bk.Encoded(),
    "discretizer": lambda: bk.Discretizer(roles={"island": "ignore", "sex": "ignore"}),
    "gaussian-nb": lambda: bk.GaussianNB(),
    "multinomial-nb": lambda: bk.MultinomialNB(),
    "bernoulli-nb": lambda: bk.BernoulliNB(),
    "complement-nb": lambda: bk.ComplementNB(),
    "categorical-nb": lambda: bk.CategoricalNB(),
    "gaussian-hmm": lambda: bk.GaussianHMM(2, random_state=0),
    "categorical-hmm": lambda: bk.CategoricalHMM(2, random_state=0),
    "token-counter": lambda: bk.TokenCounter(),
}
KINDS = sorted([*(path.stem for path in FOLDER.glob("*.bayes")), *UNSAVED])
WORDS = ["sole", "luna", "mare", "wind", "rain", "then"]
LETTERS = [list(word) for word in WORDS]
SENTENCES = [["The", "dog", "barks", "."], ["A", "cat", "can", "sleep"]]
DAYS = [[{"wet": "no", "wind": 1.0}, {"wet": "yes", "wind": 6.5}], [{"wet": "yes", "wind": 7.5}]]
NUMBERS = [[[1.0, 2.0], [8.0, 1.0]], [[8.5, 1.5], [7.5, 1.0], [2.0, 2.0]]]
HEAVY = BIRDS.filter(BIRDS["body_mass_g"].is_valid()).drop(["year", "species"])
ROWS = [[0.0, 1.0, 4.0], [2.0, 0.0, 0.5], [1.0, 1.0, 0.0], [0.0, 3.0, 1.0]]
# The data of models that read no table of birds: rows and labels.
SPECIAL_DATA = {
    "naive-text": ({"note": TEXTS}, LABELS),
    "topics": (TEXTS, LABELS),
    "sequence-classifier": (LETTERS, ["italian"] * 3 + ["english"] * 3),
    "chain": (LETTERS, None),
    "hidden-markov": (DAYS, [["sun", "rain"], ["rain"]]),
    "hidden-markov-full": (NUMBERS, [["a", "b"], ["b", "b", "a"]]),
    "tagger": (SENTENCES, [["D", "N", "V", "."], ["D", "N", "X", "V"]]),
    "logistic-sparse": (ROWS, ["c2", "c0", "c0", "c1"]),
    "linear": (HEAVY.drop(["body_mass_g"]), HEAVY["body_mass_g"]),
}
COUNTS = np.array([[0, 1, 4], [2, 0, 1]] * 3)
SPECIAL_DATA |= {kind: (COUNTS, [0, 1] * 3) for kind in UNSAVED if kind.endswith("-nb")}
SPECIAL_DATA |= {
    "gaussian-hmm": (COUNTS + 0.5, None), "categorical-hmm": (COUNTS[:, :1], None), "token-counter": (TEXTS, LABELS),
}  # fmt: skip
QUERY = "P(island = Dream | species = Gentoo)"
FUNCTIONS = {
    "compare": lambda m, X, y: bk.compare({"one": m, "two": bk.NaiveBayes()}, X, y, folds=2),
    "compare its copies": lambda m, X, y: bk.compare({"one": m, "two": m}, X, y, folds=2),
    "cross_validate": lambda m, X, y: bk.cross_validate(m, X, y, folds=2),
    "learning_curve": lambda m, X, y: bk.learning_curve(m, X, y, sizes=[20, 30]),
    "mistake_probability": lambda m, X, y: bk.mistake_probability(
        m.restrict(["bill_length_mm"]) if hasattr(m, "restrict") else m
    ),
    "ask": lambda m, X, y: bk.ask(m, QUERY),
    "fit_tables": lambda m, X, y: bk.fit_tables(getattr(m, "edges", m), X),
    "structural_distance": lambda m, X, y: bk.structural_distance(m, m),
    "structure_score": lambda m, X, y: bk.structure_score(m, X),
    "write_bif": lambda m, X, y: bk.write_bif(m, "network.bif"),
    "write_network": lambda m, X, y: bk.write_network(m, "network.net"),
    "Calibrated": lambda m, X, y: bk.Calibrated(m, folds=2).fit(X, y).predict_proba(X),
    "CostSensitive": lambda m, X, y: bk.CostSensitive(m).fit(X, y).predict(X),
    "BayesOptimalClassifier": lambda m, X, y: bk.BayesOptimalClassifier([m, m], cv=2).fit(X, y).predict(X),
    "GibbsClassifier": lambda m, X, y: bk.GibbsClassifier([m, m], cv=2).fit(X, y).predict(X),
    "SemiSupervised": lambda m, X, y: bk.SemiSupervised(m, folds=0).fit(X, y),
    "DiscriminativeWeights": lambda m, X, y: bk.DiscriminativeWeights(m).fit(X, y),
    "Encoded": lambda m, X, y: bk.Encoded(m).fit(X, y),
    "drift": lambda m, X, y: bk.drift(m, X, y),
    "decision_regions": lambda m, X, y: bk.decision_regions(m, "bill_length_mm", "body_mass_g", X, y),
    "write_report": lambda m, X, y: bk.write_report(m, X, y, "report.html"),
    "SequenceClassifier": lambda m, X, y: bk.SequenceClassifier(m).fit(X, ["a", "b"] * 3 if y is None else y),
}
# Functions of data, names or numbers, which are given no model.
WITHOUT_MODEL = {
    "arc_strengths", "brier_parts", "calibration_error", "f_measure", "generative_vs_discriminative", "learn_network",
    "lift_curve", "load", "model_named", "model_names", "open_source", "pc", "precision_recall_curve", "read_bif",
    "read_costs", "read_history", "read_network", "reliability", "roc_curve", "updating",
}  # fmt: skip
TABLES = [kind for kind in KINDS if kind not in SPECIAL_DATA]


def data_of(kind):
    """Return rows and labels that suit a kind of model."""
    if kind in SPECIAL_DATA:
        return SPECIAL_DATA[kind]
    if kind.startswith("text-") or kind.endswith("documents"):
        return TEXTS, LABELS
    if kind in ("network", "network-counted", "joint"):
        return BIRDS.select(["species", "island", "bill_length_mm"]), "species"
    return BIRDS, "species"


def model_of(kind):
    """Return a fitted model of a kind."""
    if kind not in UNSAVED:
        return bk.load(FOLDER / f"{kind}.bayes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = data_of(kind)
        return UNSAVED[kind]().fit(X, y)


def first_of(X):
    """Return one row, document or sequence."""
    if isinstance(X, dict):
        return {name: cells[0] for name, cells in X.items()}
    return X.slice(0, 1).to_pylist()[0] if hasattr(X, "slice") else X[0]


def arguments(model, method, X, y):
    """Return a value for each required argument of a method, by its name."""
    row = first_of(X)
    column = next(iter(row)) if isinstance(row, dict) else 0
    values = {
        "X": X, "y": y, "data": X, "row": row, "record": row, "rows": X, "sequences": X, "n": 3, "length": 4,
        "column": column, "columns": [column], "name": column, "a": column, "b": column, "path": "model.out",
        "other": model, "tally": getattr(model, "tally_", None), "table": "birds", "source": "birds.csv",
        "query": QUERY, "prior": "uniform", "raw_documents": X, "sentences": X, "tags": y, "step": 0, "steps": 2,
        "n_steps": 2, "deep": True, "node": "island", "target": "island", "cause": "species", "effect": "island",
        "sentence": "The dog barks.",
    }  # fmt: skip
    needed = [
        p for p in inspect.signature(method).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]  # fmt: skip
    return {p.name: values.get(p.name, row) for p in needed}


def check_answers(call):
    """Call a function: it answers, or raises a ``BayesError`` with a message."""
    try:
        answer = call()
    except bk.BayesError as refusal:
        text = str(refusal)
        assert text
        assert "object at 0x" not in text
        return
    assert "object at 0x" not in str(answer)[:2000]


@pytest.fixture
def _quiet_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.slow
def test_every_public_function_and_kind_of_model_is_in_the_law():
    names = {n for n in bk.__all__ if callable(getattr(bk, n)) and not isinstance(getattr(bk, n), type)}
    assert names == WITHOUT_MODEL | (names & set(FUNCTIONS))
    kinds = {type(model_of(kind)).__name__ for kind in KINDS}
    estimators = {n for n in bk.__all__ if isinstance(getattr(bk, n), type) and hasattr(getattr(bk, n), "fit")}
    assert estimators <= kinds


@pytest.mark.slow
@pytest.mark.usefixtures("_quiet_folder")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_answers_some_kind_of_model(function):
    kinds = ("naive", "tan", "linear", "network-counted", "network", "chain", "gaussian-nb")
    problems = []
    for kind in kinds:
        try:
            FUNCTIONS[function](model_of(kind), *data_of(kind))
            return
        except bk.BayesError as problem:
            problems.append(f"{kind}: {problem}")
    raise AssertionError(f"{function}: {problems}")


@pytest.mark.slow
@pytest.mark.usefixtures("_quiet_folder")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_answers_or_refuses_every_kind_of_model(function, kind):
    model, (X, y) = model_of(kind), data_of(kind)
    for rows, labels in ((X, y), (BIRDS, "species"))[: 1 + (kind in SPECIAL_DATA)]:
        check_answers(lambda rows=rows, labels=labels: FUNCTIONS[function](model, rows, labels))


@pytest.mark.slow
@pytest.mark.usefixtures("_quiet_folder")
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_answers_or_refuses(kind):
    X, y = data_of(kind)
    names = [name for name in dir(model_of(kind)) if not name.startswith("_")]
    for name in names:
        model = model_of(kind)
        if name.startswith("set_") and name.endswith("_request"):
            continue
        method = getattr(model, name)
        if not callable(method) or isinstance(getattr(method, "__self__", None), type):  # makes another model
            continue
        try:
            check_answers(lambda model=model, method=method: method(**arguments(model, method, X, y)))
        except Exception as problem:
            raise AssertionError(f"{kind}: {name}: {type(problem).__name__}: {problem}") from problem
