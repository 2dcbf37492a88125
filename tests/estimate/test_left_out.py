"""Leave-one-out in closed form equals refitting without the row: the estimates row by row."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
    blocks = model.encoder().blocks(model._labelled(rows, y, weights))
    return np.concatenate([model.left_out().scores(block) for block in blocks])


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


@pytest.mark.parametrize("how", SETTINGS, ids=str)
@settings.get_profile("laws")
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 24))
def test_left_out_scores_equal_refitting(how, seed, n):
    rows, y = some_rows(np.random.default_rng(seed), n)
    model = bk.NaiveBayes(**how, n_threads=1).fit(rows, y)
    if how.get("numeric") == "histogram":
        model = bk.NaiveBayes(**how, schema=model.schema_).fit(rows, y)
    np.testing.assert_allclose(left_out(model, rows, y), refitted(model, rows, y), rtol=1e-9, atol=1e-9)


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
    model = bk.NaiveBayes(ddof=ddof).fit(X, y)
    assert any(form is not None for _, _, form in model.left_out()._gaussians)
    found = left_out(model, X, y)
    for i in [0, 1, 2, 5, *rng.integers(3, n, 20).tolist()]:
        rest = np.arange(n) != i
        other = bk.NaiveBayes(ddof=ddof).fit(X[rest], y[rest])
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
def test_a_row_that_cannot_have_been_learnt_is_refused_by_its_number_and_column(row, label, culprit):
    rows = [{"sky": "sun", "size": float(i)} for i in range(6)] + [{"sky": "hail", "size": 3.0 * i} for i in range(6)]
    y = ["a"] * 6 + ["b"] * 6
    model = bk.NaiveBayes().fit(rows, y)
    with pytest.raises(bk.errors.NotLearnt, match=rf"row 11 .*'{culprit}'"):
        model.leave_one_out([*rows[:11], row], [*y[:11], label]) if label == "b" else model.leave_one_out(
            [*rows[1:6], *rows[6:], row], [*y[1:], label]
        )
