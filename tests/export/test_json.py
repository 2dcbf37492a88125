"""The numbers as JSON: enough to score rows by, in a few lines that know nothing of bayeskit."""

import json
import math
from bisect import bisect_left
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from tests.export.test_scores import BEYOND_SQL, MODELS, NEAR, table_of, unanswered


def code(term, row):
    cell = row[term["column"]]
    if cell is None:
        return 0
    if "cuts" in term:
        return 1 + bisect_left(term["cuts"], cell)
    return 1 + term["values"].index(cell) if cell in term["values"] else -1


def said(term, row, c):
    """ln of what a term says for class c: the page's words, written down."""
    zero = lambda score: -math.inf if score is None else score  # noqa: E731
    if term["kind"] == "words":
        words = row[term["column"]].split()
        words = [*words, *(" ".join(pair) for pair in pairwise(words))]
        known = [w for w in set(words) if w in term["words"]]
        if not known:
            return 0.0
        total = 0.0
        for word in known:
            i, n = term["words"].index(word), 1 if term["once"] else words.count(word)
            once = zero(term["scores"][i][c])
            if term["repeats"] is None:
                total += n * once
            else:
                total += (1 + math.log(n)) * once + math.log(n) * term["repeats"][i][c]
        total = total / len(known) ** term["scale"] + (0.0 if term["present"] is None else term["present"][c])
        for runs in () if (shares := term["shares"]) is None else (False, True):
            places = {term["words"].index(word): 1 + math.log(words.count(word)) for word in known}
            places = {i: by for i, by in places.items() if shares["runs"][i] == runs}
            length = math.sqrt(sum((by * shares["lengths"][i]) ** 2 for i, by in places.items()))
            total += sum(by * shares["scores"][i][c] for i, by in places.items()) / length if length else 0.0
        return total
    if term["kind"] in ("normal", "linear", "lognormal"):
        x = row[term["column"]]
        if x is None or (term["kind"] == "lognormal" and x <= 0):
            return 0.0
        if term["kind"] == "lognormal":
            away = math.log(x) - term["mean"][c]
            return term["power"] * (term["constant"][c] - 0.5 * term["precision"][c] * away**2 - math.log(x))
        if term["kind"] == "normal":
            return term["constant"][c] - 0.5 * term["precision"][c] * (x - term["mean"][c]) ** 2
        return term["present"][c] + term["slope"][c] * (x - term["center"])
    if term["kind"] == "leaves":
        return leaves(term, row, c)
    if term["kind"] == "averaged":
        return averaged(term, row, c)
    at = code(term, row)
    if term["kind"] == "table":
        return zero((term["missing"] if at == 0 else term["unseen"] if at < 0 else term["scores"][at - 1])[c])
    if at <= 0:
        return 0.0
    parents = [code(parent, row) for parent in term["parents"]]
    for depth in range(len(parents), -1, -1):
        level = term["levels"][depth]
        if parents[:depth] in level["codes"]:
            return zero(level["scores"][level["codes"].index(parents[:depth])][at - 1][c])
    raise AssertionError("the context of no parent is always there")


def leaves(term, row, c):
    """ln of the sum over the leaves."""
    products = []
    for leaf, shares in enumerate(term["leaves"]):
        known = [(column["scores"], at) for column in term["columns"] if (at := code(column, row)) > 0]
        scores = [shares[c], *(scores[at - 1][leaf][c] for scores, at in known)]
        products.append(0.0 if None in scores else math.exp(sum(scores)))
    return math.log(sum(products))


def averaged(term, row, c):
    """ln of the mean over the parents, of naive Bayes if there is none."""
    zero = lambda score: 0.0 if score is None else math.exp(score)  # noqa: E731
    columns, known = term["columns"], {}
    starts = np.cumsum([0, *(len(column["scores"]) for column in columns)])
    for j, column in enumerate(columns):
        if 0 < (at := code(column, row)) <= len(column["scores"]):
            known[j] = at - 1
    alone = {j: zero(columns[j]["scores"][at][c]) for j, at in known.items()}
    products = []
    for p, at in known.items():
        parent = term["parents"][p]
        if parent["takes_part"][at]:
            given = [zero(parent["scores"][at][starts[j] + other][c]) for j, other in known.items() if j != p]
            products.append(alone[p] * math.prod(given))
    mean = sum(products) / len(products) if products else math.prod(alone.values())
    return math.log(mean) if mean > 0 else -math.inf


def calibrated(form, p):
    """The curves, as the page writes them."""
    given, n = form["calibration"], len(p)
    if given["curves"]:
        shares = []
        for c, curve in zip([1] if n == 2 else range(n), given["curves"], strict=True):
            rest = sum(x for i, x in enumerate(p) if i != c)
            odds = math.log(p[c] / rest) if p[c] > 0 and rest > 0 else math.copysign(1e6, p[c] - rest)
            if curve["kind"] == "isotonic":
                shares.append(float(np.interp(odds, curve["at"], curve["share"])))
            else:
                z = curve["of_log"] * -np.logaddexp(0, -odds) + curve["of_rest"] * np.logaddexp(0, odds)
                shares.append(1 / (1 + math.exp(-(z + curve["offset"]))))
        shares = [1 - shares[0], *shares] if n == 2 else shares
        p = [share / sum(shares) for share in shares] if sum(shares) > 0 else p
    else:
        powers = [x ** (1 / given["temperature"]) for x in p]
        p = [power / sum(powers) for power in powers]
    return [(given["rows"] * x + 1) / (given["rows"] + n) for x in p] if given["rows"] else p


def probabilities(form, row):
    p = before_curves(form, row)
    return calibrated(form, p) if "calibration" in form else p


def before_curves(form, row):
    z = [-math.inf if b is None else b for b in form["base"]]
    z = [z[c] + sum(said(term, row, c) for term in form["terms"]) for c in range(len(z))]
    best = max(z)
    if best == -math.inf:
        return form["undecidable"]
    powers = [math.exp((score - best) / form["temperature"]) for score in z]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("kind", MODELS)
def test_the_numbers_are_the_model(kind, tmp_path):
    rows, labels = table_of()
    model = MODELS[kind]().fit(rows, labels)
    model.to_json(tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    asked = rows.slice(0, 60)
    found = [probabilities(form, row) for row in asked.to_pylist()]
    answered = ~unanswered(model, asked)
    assert np.abs(np.array(found) - model.predict_proba(asked))[answered].max() < NEAR
    assert form["classes"] == ["it's", "no", "yes"]


@pytest.mark.filterwarnings("ignore::bayeskit.errors.UndecidableWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", BEYOND_SQL)
def test_the_numbers_of_parents_and_curves_are_the_model(kind, classes, tmp_path):
    rows, labels = table_of()
    labels = np.where(labels == "no", "yes", labels) if classes == 2 else labels
    model = BEYOND_SQL[kind]().fit(rows, labels)
    model.to_json(tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    asked = pa.concat_tables([rows.slice(0, 60), table_of(seed=1, n=60)[0]])
    found = [probabilities(form, row) for row in asked.to_pylist()]
    answered = ~unanswered(model, asked)
    assert np.abs(np.array(found) - model.predict_proba(asked))[answered].max() < 1e-9
    assert form["version"] == 3


@pytest.mark.parametrize("recipe", ["multinomial", "complement", "wcnb", "wnb", "set_of_words", "fast", "auto"])
def test_the_numbers_of_words_are_the_model(recipe):
    documents = ["good good film", "bad film and bad", "a good one", "dull and bad", "good"]
    model = bk.TextClassifier(recipe).fit(documents, ["+", "-", "+", "-", "+"])
    asked = ["good bad bad film", "unknown", "dull dull dull good"]
    found = [probabilities(model.to_json(), {"document": text, "text": text}) for text in asked]
    assert np.abs(np.array(found) - model.predict_proba(asked)).max() < NEAR


def test_the_form_is_what_it_was():
    """A reader of the form relies on these names."""
    model = bk.NaiveBayes(smoothing=0).fit(pa.table({"sky": ["sun", "rain"], "x": [1.0, 2.0]}), ["yes", "no"])
    form = model.to_json()
    assert [*form] == ["format", "version", "model", "target", "classes", "base", "temperature", "undecidable", "terms"]
    assert (form["format"], form["version"]) == ("bayeskit scoring form", 1)
    table = form["terms"][0]
    assert table["scores"] == [[0.0, None], [None, 0.0]]  # null is a probability of zero
    assert [*table] == ["kind", "column", "values", "refuses_unseen", "missing", "unseen", "scores"]


def test_both_halves_of_a_text_model_are_numbers():
    texts = ["good good film", "bad film and bad", "good one", "dull and bad", "good", "so so good"]
    model = bk.TextClassifier("best", ngrams=(1, 2), min_df=1).fit(texts, ["+", "-", "+", "-", "+", "0"])
    form = model.to_json()
    asked = ["good film bad bad", "dull dull dull good film and bad", "unknown", ""]
    found = [probabilities(form, {"text": text}) for text in asked]
    assert any(form["terms"][0]["shares"]["runs"])
    assert np.abs(np.array(found) - model.predict_proba(asked)).max() < NEAR


SHAPES = {  # of the numbers of a column, by the class
    "normal": lambda rng, y: rng.normal(y, 1.0),
    "spread": lambda rng, y: rng.normal(0.0, 1.0 + y),
    "log-normal": lambda rng, y: rng.lognormal(y / 2, 0.8),
    "far": lambda rng, y: rng.lognormal(y * 3.0, 0.01) * 1e6,
    "two tops": lambda rng, y: rng.choice([-3.0, 3.0], len(y)) * (1 + y) + rng.normal(size=len(y)),
    "counts": lambda rng, y: rng.poisson(1.0 + y).astype(float),
    "many zeros": lambda rng, y: np.where(rng.random(len(y)) < 0.4, 0.0, rng.lognormal(y, 1.0)),
    "noise": lambda rng, y: rng.random(len(y)),
    "constant": lambda rng, y: np.ones(len(y)),
}

CHOSEN = dict.fromkeys(["normal", "spread", "far", "noise"], "gaussian") | {"log-normal": "lognormal"}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_default_model_is_exported(shape):
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install '.[sql]'")
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 300)
    table = {"x": SHAPES[shape](rng, y), "sky": rng.choice(["sun", "rain"], len(y))}
    table["x"][rng.random(len(y)) < 0.1] = np.nan
    model = bk.NaiveBayes().fit(table, y)
    assert model.schema_.columns["x"].kind == CHOSEN.get(shape, "histogram")
    asked = {"x": np.append(table["x"][:20], [0.0, -2.0, np.nan]), "sky": ["sun"] * 22 + [None]}
    rows = [{"x": None if np.isnan(x) else x, "sky": sky} for x, sky in zip(*asked.values(), strict=True)]
    found = np.array([probabilities(model.to_json(), row) for row in rows])
    assert np.abs(found - model.predict_proba(asked)).max() < NEAR
    for dialect in ("duckdb", "sqlite", "postgres", "spark"):
        assert model.to_sql("t", dialect=dialect, keys="id").query
