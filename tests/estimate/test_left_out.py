"""Leave-one-out in closed form equals refitting without the row: the estimates row by row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import bayeskit as bk

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
SETTINGS = [
    {},
    {"smoothing": 0},
    {"smoothing": 0.3, "missing": "value"},
    {"unseen": "smooth"},
    {"smoothing": bk.MEstimate(3, "marginal"), "unseen": "smooth", "missing": "value"},
    {"smoothing": bk.Dirichlet(1.5), "prior": bk.Laplace()},
    {"variance": "feature", "prior": "uniform"},
    {"variance": "class", "ddof": 0},
    {"variance": "all"},
    {"ddof": 0},
    {"numeric": "histogram", "cuts": [-1.0, 0.5]},
    {"domains": {"sky": ["sun", "rain", "hail", "fog", "snow"]}},
]


def refitted(model, rows, y, weights=None):
    """ln P(x, class) of each row by a model fitted without it; −∞ for a class that is then gone."""
    classes = model.classes_.tolist()
    found = np.full((len(rows), len(classes)), -np.inf)
    for i, row in enumerate(rows):
        w = np.ones(len(rows)) if weights is None else np.array(weights, dtype=float)
        w[i] = max(w[i] - 1, 0)
        if not w.any():
            continue
        keep = [j for j in range(len(rows)) if w[j] > 0]
        other = type(model)(**{**model.get_params(), "schema": model.schema_})
        told = {} if weights is None else {"sample_weight": w[keep]}
        other.fit([rows[j] for j in keep], [y[j] for j in keep], **told)
        found[i, [classes.index(c) for c in other.classes_.tolist()]] = other.predict_joint_log_proba([row])[0]
    return found


def left_out(model, rows, y, weights=None):
    blocks = model._encoder().blocks(model._labeled(rows, y, weights))
    return np.concatenate([model._left_out().scores(block) for block in blocks])


def some_rows(rng, n, gaps=0.15, n_classes=3):
    y = rng.choice(["a", "b", "c", "d", "e"][:n_classes], n)
    skies = np.array(["sun", "rain", "hail", "fog", "snow"])
    return [
        {
            "sky": None if rng.random() < gaps else str(rng.choice(skies, p=[0.5, 0.3, 0.1, 0.05, 0.05])),
            "size": None if rng.random() < gaps else float(rng.normal() + (label == "a")),
            "far": float(1e6 + rng.integers(0, 5)),
            "odd": None if rng.random() < gaps else float(np.exp(4 * rng.normal())),
        }
        for label in y
    ], y.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("how", SETTINGS, ids=str)
@settings.get_profile("laws")
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 24))
@example(seed=92, n=2)  # a column of strings in which every cell is missing
@example(seed=6326, n=2)  # a number is left whose neighbor was ten million times as large
def test_left_out_scores_equal_refitting(how, seed, n):
    rows, y = some_rows(np.random.default_rng(seed), n)
    model = bk.NaiveBayes(**how, n_threads=1).fit(rows, y)
    if how.get("numeric") == "histogram":
        model = bk.NaiveBayes(**how, schema=model.schema_).fit(rows, y)
    np.testing.assert_allclose(left_out(model, rows, y), refitted(model, rows, y), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("how", SETTINGS, ids=str)
@settings.get_profile("laws")
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 14))
@example(seed=13184, n=3)
def test_a_row_of_weight_w_leaves_by_one_unit_or_by_all_of_a_smaller_weight(how, seed, n):
    rng = np.random.default_rng(seed)
    rows, y = some_rows(rng, n)
    weights = rng.choice([0.25, 0.5, 1.0, 3.0], n)
    model = bk.NaiveBayes(**how).fit(rows, y, sample_weight=weights)
    expected = refitted(model, rows, y, weights)
    np.testing.assert_allclose(left_out(model, rows, y, weights), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_closed_form_of_gaussians_equals_refitting_on_many_rows(ddof):
    rng = np.random.default_rng(3)
    n = 300
    y = np.array(["rare"] * 3 + rng.choice(["a", "b"], n - 3).tolist())
    X = rng.normal(size=(n, 70)) * 10.0 ** rng.integers(-3, 4, 70) + 50.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[5, 3] = 1e7  # nearly all of the spread of its class
    X[:3] = rng.normal(size=(3, 70))
    model = bk.NaiveBayes(numeric="gaussian", ddof=ddof).fit(X, y)
    assert any(part.closed_form is not None for kind in model._left_out().kinds for part in kind.parts)
    found = left_out(model, X, y)
    terms = [
        model._left_out().terms(block).sum(axis=2) for block in model._encoder().blocks(model._labeled(X, y, None))
    ]
    np.testing.assert_allclose(np.concatenate(terms), found, rtol=1e-9, atol=1e-9)
    for i in [0, 1, 2, 5, *rng.integers(3, n, 20).tolist()]:
        rest = np.arange(n) != i
        other = bk.NaiveBayes(numeric="gaussian", ddof=ddof).fit(X[rest], y[rest])
        np.testing.assert_allclose(found[i], other.predict_joint_log_proba(X[[i]])[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("row", "label", "culprit"),
    [
        ({"sky": "hail", "size": 1.0}, "a", "sky"),
        ({"sky": "never", "size": 1.0}, "a", "sky"),
        ({"sky": None, "size": 1.0}, "b", "sky"),
        ({"sky": "sun", "size": 900.0}, "a", "size"),
    ],
)
def test_a_row_that_cannot_have_been_learned_is_refused_by_its_number_and_column(row, label, culprit):
    rows = [{"sky": "sun", "size": float(i)} for i in range(6)] + [{"sky": "hail", "size": 3.0 * i} for i in range(6)]
    y = ["a"] * 6 + ["b"] * 6
    model = bk.NaiveBayes(numeric="gaussian").fit(rows, y)
    with pytest.raises(bk.errors.NotLearned, match=rf"row 11 .*'{culprit}'"):
        model.leave_one_out([*rows[:11], row], [*y[:11], label]) if label == "b" else model.leave_one_out(
            [*rows[1:6], *rows[6:], row], [*y[1:], label]
        )


# -- columns that are constant within a class: the floor of variances is at work ----------------------------------


FLOORS = [0.01, 0.3, 1.0, bk.VarianceFloor(0.02, of="total"), bk.VarianceFloor(1e-9, of="total")]
GAUSSIANS = [
    *(
        bk.NaiveBayes(numeric="gaussian", variance=rule, ddof=ddof)
        for rule in ("class_feature", "feature", "class", "all")
        for ddof in (0, 1)
    ),
    *(bk.GaussianBayes(rule, ddof=ddof) for rule in ("full", "tied", "diagonal") for ddof in (0, 1)),
    bk.GaussianBayes("shrunk", shrinkage=0.4),
]


def spiky_rows(rng, n, gaps):
    """Columns constant within every class, within one, nearly so, and ones with spread; class sizes from one up."""
    y = rng.choice(["a", "b", "c"], n, p=rng.dirichlet([2, 2, 2]))
    level = {"a": 0.0, "b": 1.0, "c": 5.0}

    def cell(value):
        return None if rng.random() < gaps else float(value)

    return [
        {
            "each": cell(level[label]),
            "one": cell(3.0 if label == "a" else rng.normal()),
            "nearly": cell(level[label] + 0.04 * rng.normal() if label == "b" else level[label] + rng.normal()),
            "flag": cell(label == "a" or rng.random() < 0.2),
            "far": cell(1e6 + rng.integers(0, 5)),
        }
        for label in y
    ], y.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("model", GAUSSIANS, ids=repr)
@settings(max_examples=5)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 24),
    gaps=st.sampled_from([0.0, 0.2]),
    floor=st.sampled_from(FLOORS),
    weighted=st.booleans(),
)
def test_leaving_out_equals_refitting_where_the_floor_holds_a_variance_up(model, seed, n, gaps, floor, weighted):
    rng = np.random.default_rng(seed)
    rows, y = spiky_rows(rng, n, gaps)
    weights = rng.choice([0.25, 0.5, 1.0, 3.0], n) if weighted else None
    model = clone(model).set_params(variance_floor=floor, n_threads=1)
    model.fit(rows, y, **({"sample_weight": weights} if weighted else {}))
    np.testing.assert_allclose(
        left_out(model, rows, y, weights), refitted(model, rows, y, weights), rtol=1e-7, atol=1e-7
    )


def test_a_row_that_leaves_moves_the_floor_of_the_other_classes():
    rows = [{"x": v} for v in (1.0, 1.0, 1.0, 4.0, 7.0, 19.0)]
    y = ["a"] * 3 + ["b"] * 3
    model = bk.NaiveBayes(numeric="gaussian").fit(rows, y)
    assert model.table("x")["variance"][0] == pytest.approx(0.01 * 126 / 4)  # (0 + 36 + 9 + 81) / (2 + 2)
    scores = left_out(model, rows, y)
    np.testing.assert_allclose(scores, refitted(model, rows, y), rtol=1e-12)
    narrower = 0.01 * 4.5 / 3  # without 19 there are 4 and 7, about 5.5
    assert scores[5, 0] == pytest.approx(np.log(3 / 5) - 0.5 * (18**2 / narrower + np.log(2 * np.pi * narrower)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [bk.NaiveBayes(numeric="gaussian"), bk.GaussianBayes(), bk.GaussianBayes("tied")], ids=repr
)
@pytest.mark.parametrize("narrow", [0.03, 0.11, 0.16, 0.3])
def test_the_short_ways_give_what_refitting_gives_near_the_floor(model, narrow):
    rng = np.random.default_rng(8)
    y = rng.choice(["a", "b", "c"], 240)
    X = rng.normal(size=(240, 3)) * np.where(y == "a", narrow, 1.0)[:, None] + (y == "b")[:, None]
    X[y.tolist().index("a")] = 8 * narrow  # a large part of the spread of its class
    model = clone(model).fit(X, y)
    short = model._left_out()
    naive = isinstance(model, bk.NaiveBayes)
    forms = [part.closed_form for kind in short.kinds for part in kind.parts] if naive else [short._short]
    if narrow == 0.3:
        assert all(form is not None for form in forms)
    scores = left_out(model, X, y)
    for i in [y.tolist().index("a"), *rng.integers(0, 240, 25)]:
        rest = np.arange(240) != i
        other = clone(model).fit(X[rest], y[rest])
        np.testing.assert_allclose(scores[i], other.predict_joint_log_proba(X[[i]])[0], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["full", "tied"])
@pytest.mark.parametrize("ddof", [0, 1])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_multivariate_gaussians_of_light_classes_leave_out_as_refitting_does(rule, ddof, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 16))
    X, y = rng.normal(size=(n, 1)), rng.choice(["a", "b"], n)
    weights = rng.choice([0.25, 0.5, 1.0], n)
    rows = [{"x0": float(x[0])} for x in X]
    model = bk.GaussianBayes(rule, ddof=ddof).fit(rows, y.tolist(), weights)
    expected = refitted(model, rows, y.tolist(), weights)
    np.testing.assert_allclose(left_out(model, rows, y.tolist(), weights), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("numeric", ["gaussian", "student", "poisson"])
def test_a_declared_class_without_rows_is_left_out_as_refitting_does(numeric):
    x, y = [1.0, 2.0, 6.0, 7.0, 9.0], ["a", "a", "b", "b", "b"]
    schema = bk.NaiveBayes().fit({"x": x}, y).schema_
    schema = replace(schema, target=replace(schema.target, domain=("a", "b", "c")))
    model = bk.NaiveBayes(numeric=numeric, schema=schema, prior="uniform")
    scores = left_out(clone(model).fit({"x": x}, y), {"x": x}, y)
    for i in range(5):
        rest = {"x": x[:i] + x[i + 1 :]}, y[:i] + y[i + 1 :]
        np.testing.assert_allclose(scores[i], clone(model).fit(*rest).predict_joint_log_proba({"x": [x[i]]})[0])
