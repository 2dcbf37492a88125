"""Naive Bayes over mixed columns: against scikit-learn, brute force and the meaning of each setting."""

import re
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import naive_bayes
from sklearn.datasets import load_breast_cancer, load_iris

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.errors import AdviceWarning, UnknownValue

few = settings(max_examples=25, deadline=None)


def proba(model, **record):
    return dict(zip(model.classes_.tolist(), model.predict_proba(record)[0], strict=True))


# -- equal to scikit-learn where the mathematics is the same -------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("prior", ["empirical", "uniform"])
def test_gaussians_equal_those_of_scikit_learn(load, prior):
    X, y = load(return_X_y=True)
    shares = None if prior == "empirical" else np.full(len(set(y)), 1 / len(set(y)))
    theirs = naive_bayes.GaussianNB(priors=shares, var_smoothing=0).fit(X, y)
    ours = bk.NaiveBayes(numeric="gaussian", ddof=0, prior=prior).fit(X, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-10)
    assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.0, 30])
def test_categories_equal_those_of_scikit_learn(alpha):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, size=(200, 5)), rng.integers(0, 3, 200)
    weights = rng.random(200)
    theirs = naive_bayes.CategoricalNB(alpha=alpha, min_categories=8).fit(X, y, sample_weight=weights)
    ours = bk.NaiveBayes(smoothing=alpha, domains=dict.fromkeys(range(5), range(8)))
    ours.fit(X, y, sample_weight=weights)
    asked = rng.integers(0, 8, size=(100, 5))
    np.testing.assert_allclose(ours.predict_joint_log_proba(asked), theirs.predict_joint_log_proba(asked), rtol=1e-10)


def test_mixed_columns_multiply_what_scikit_learn_says_of_each_kind():
    rng = np.random.default_rng(1)
    numbers, codes, y = rng.normal(size=(80, 2)), rng.integers(0, 3, (80, 2)), rng.integers(0, 2, 80)
    frame = pd.DataFrame({"p": numbers[:, 0], "u": codes[:, 0], "q": numbers[:, 1], "v": codes[:, 1]})
    ours = bk.NaiveBayes(ddof=0, roles={"u": "categorical", "v": "categorical"}).fit(frame, y)
    gaussian = naive_bayes.GaussianNB(var_smoothing=0).fit(numbers, y)
    categorical = naive_bayes.CategoricalNB().fit(codes, y)
    joint = (
        gaussian.predict_joint_log_proba(numbers)
        + categorical.predict_joint_log_proba(codes)
        - np.log(np.bincount(y) / len(y))
    )
    np.testing.assert_allclose(ours.predict_joint_log_proba(frame), joint, rtol=1e-10)


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_four_variance_rules_are_those_of_brute_force(ddof):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3)) * [1, 5, 0.1] + [0, 100, -3], np.arange(60) % 3
    squares = np.array([((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in range(3)])
    freedom = np.full((3, 3), 20 - ddof)
    axes = {"class_feature": (), "feature": 0, "class": 1, "all": (0, 1)}
    for rule, axis in axes.items():
        shared = squares.sum(axis=axis, keepdims=True) / freedom.sum(axis=axis, keepdims=True)
        variance = np.broadcast_to(shared, (3, 3))
        model = bk.NaiveBayes(numeric="gaussian", variance=rule, ddof=ddof).fit(X, y)
        for i in range(3):
            assert model.table(i)["variance"] == pytest.approx(variance[:, i], rel=1e-12)
        means = np.array([X[y == c].mean(axis=0) for c in range(3)])
        log_p = stats.norm.logpdf(X[:, None], means, np.sqrt(variance)).sum(axis=2) + np.log(1 / 3)
        np.testing.assert_allclose(model.predict_joint_log_proba(X), log_p, rtol=1e-10)


def test_the_penguins_are_told_apart():
    table = load_penguins()
    model = bk.NaiveBayes(roles={"year": "categorical"}).fit(table, "species")
    assert model.score(table, "species") > 0.95
    frame = table.to_pandas()
    mass = frame.groupby("species")["body_mass_g"]
    assert model.table("body_mass_g")["mean"] == pytest.approx(mass.mean().tolist(), rel=1e-13)
    assert model.table("body_mass_g")["variance"] == pytest.approx(mass.var().tolist(), rel=1e-12)
    islands = pd.crosstab(frame["species"], frame["island"])
    for species in islands.index:
        assert model.table("island")[f"count | {species}"] == islands.loc[species].tolist()
    assert model.table("sex").to_pandas()["count | Adelie"].sum() == frame[frame.species == "Adelie"]["sex"].count()


# -- smoothing -----------------------------------------------------------------------------------------


def leave_one_out(alpha, counts):
    n = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = counts * np.log((counts - 1 + alpha) / (n - 1 + alpha * counts.shape[1]))
    return terms[counts >= 1].sum()


@pytest.mark.slow
@few
@given(st.lists(st.lists(st.integers(0, 12), min_size=3, max_size=3), min_size=2, max_size=3))
def test_automatic_smoothing_maximizes_the_leave_one_out_likelihood(counts):
    counts = np.array(counts)
    counts[0] += 1
    table = {"x": {f"c{i}": dict(zip("uvw", row.tolist(), strict=True)) for i, row in enumerate(counts)}}
    tally = bk.Tally.from_counts(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = bk.NaiveBayes(smoothing="auto").fit_tally(tally)
    kept = counts[counts.sum(axis=1) > 0]
    told = dict(zip(model.table("x")["x"], model.table("x")["P(x | c0)"], strict=True))
    row = dict(zip("uvw", kept[0].tolist(), strict=True))
    extreme = max(row, key=row.get)
    n, p = sum(row.values()), told[extreme]
    if row[extreme] * 3 == n:
        return  # every α gives the same probabilities there
    alpha = (p * n - row[extreme]) / (1 - 3 * p)  # P = (n_v + α) / (n + 3α), solved for α
    best = max(leave_one_out(a, kept) for a in np.geomspace(1e-3, 1e3, 2001))
    assert leave_one_out(alpha, kept) >= best - 1e-6 * max(1, abs(best))


def test_columns_have_smoothings_of_their_own():
    frame = pd.DataFrame({"p": ["u", "u", "v"], "q": ["u", "u", "v"], "r": ["u", "u", "v"]})
    model = bk.NaiveBayes(smoothing={"p": 0, "q": bk.MEstimate(2, {"u": 0.75, "v": 0.25})}).fit(frame, [0, 0, 1])
    assert model.table("p")["P(p | 0)"] == [1, 0]
    assert model.table("q")["P(q | 0)"] == pytest.approx([3.5 / 4, 0.5 / 4])
    assert model.table("r")["P(r | 0)"] == pytest.approx([3 / 4, 1 / 4])  # the default
    by_position = bk.NaiveBayes(smoothing={0: 0, 1: 9.0}).fit(frame, [0, 0, 1])
    assert by_position.table("p")["P(p | 0)"] == [1, 0]
    assert by_position.table("q")["P(q | 0)"] == pytest.approx([11 / 20, 9 / 20])


def test_a_column_keeps_its_settings_when_others_leave():
    X = [["u", "u", 1.0], ["u", "v", 2.0], ["v", "v", 4.0]]
    model = bk.NaiveBayes(smoothing={0: 5.0}).fit(X, [0, 0, 1])
    rest = model.restrict(["x1"])
    assert rest.table("x1")["P(x1 | 0)"] == model.table("x1")["P(x1 | 0)"]
    kept = model.restrict(["x0"])
    assert kept.table("x0")["P(x0 | 0)"] == model.table("x0")["P(x0 | 0)"]
    last = bk.NaiveBayes(smoothing={1: 5.0}).fit(X, [0, 0, 1])
    assert last.restrict(["x1"]).table("x1")["P(x1 | 0)"] == last.table("x1")["P(x1 | 0)"]
    assert last.merge(last).restrict(["x0"]).table("x0")["count | 0"] == [4, 0]


def test_numbers_are_gaussian_or_counted_column_by_column():
    X = {"p": [1.0, 2.0, 3.0, 4.0], "q": [1.0, 2.0, 3.0, 4.0], "r": [0.0, 0.0, 8.0, 8.0]}
    model = bk.NaiveBayes(numeric={"q": "histogram", "r": "histogram"}, cuts={"q": [2.0]}).fit(X, [0, 0, 1, 1])
    assert model.schema_.measured == ["p"]
    assert model.table("q")["count | 0"] == [2, 0]  # a value on a cut belongs to the left
    assert model.table("q")["q"] == ["≤ 2", "> 2"]
    assert len(model.table("r")) == 10  # the default number of intervals
    np.testing.assert_allclose(model.schema_.columns["r"].cuts, np.linspace(0, 8, 11)[1:-1])
    assert np.isfinite(model.predict_proba({"p": [2.0], "q": [-99.0], "r": [99.0]})).all()


@pytest.mark.parametrize("unseen", ["ignore", "smooth", "error"])
def test_the_intervals_of_a_histogram_are_all_there_is(unseen):
    model = bk.NaiveBayes(numeric="histogram", cuts=[0.0, 1.0], unseen=unseen)
    model.fit([[-1.0], [0.5], [2.0], [0.5]], [0, 0, 1, 1])
    for label in (0, 1):
        assert sum(model.table(0)[f"P(x0 | {label})"]) == pytest.approx(1)


# -- missing, unseen, undecidable ----------------------------------------------------------------------

SKY = {"sky": ["sun", "sun", None, "rain", None, None]}
PLAY = ["yes", "yes", "yes", "no", "no", "no"]


def test_missing_cells_drop_out_of_counts_and_products():
    model = bk.NaiveBayes().fit(SKY, PLAY)
    assert model.table("sky")["P(sky | yes)"] == pytest.approx([1 / 4, 3 / 4])
    assert proba(model, sky=None) == {"no": 0.5, "yes": 0.5}


def test_missing_may_be_a_value():
    model = bk.NaiveBayes(missing="value").fit(SKY, PLAY)
    assert model.table("sky")["sky"] == [None, "rain", "sun"]
    assert model.table("sky")["P(sky | no)"] == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert proba(model, sky=None)["no"] == pytest.approx(3 / 5)
    full = bk.NaiveBayes(missing="value").fit({"sky": ["sun", "rain"]}, ["yes", "no"])  # no gap in training
    assert proba(full, sky=None) == {"no": 0.5, "yes": 0.5}


def test_an_unseen_value_is_ignored_smoothed_or_refused():
    X, y = {"sky": ["sun", "sun", "rain", "rain", "rain"]}, ["yes", "yes", "yes", "no", "no"]
    ignoring = bk.NaiveBayes().fit(X, y)
    assert proba(ignoring, sky="hail") == pytest.approx({"no": 2 / 5, "yes": 3 / 5})
    smoothing = bk.NaiveBayes(unseen="smooth").fit(X, y)
    joint = {"no": 2 / 5 * 1 / 5, "yes": 3 / 5 * 1 / 6}  # m has grown from 2 to 3
    assert np.exp(smoothing.predict_joint_log_proba({"sky": "hail"})[0]) == pytest.approx([*joint.values()])
    assert np.exp(smoothing.predict_joint_log_proba({"sky": "sun"})[0]) == pytest.approx([2 / 5 * 1 / 5, 3 / 5 * 3 / 6])
    refusing = bk.NaiveBayes(unseen="error").fit(X, y)
    with pytest.raises(UnknownValue, match=r"'sky' has 'hail' in row 2, not seen in training \(known: rain, sun\)"):
        refusing.predict({"sky": ["sun", None, "hail"]})
    assert refusing.predict({"sky": ["sun", None]}).tolist() == ["yes", "yes"]


def test_a_value_seen_in_one_class_alone_is_smoothed_in_the_others():
    model = bk.NaiveBayes().fit({"sky": ["sun", "rain", "hail"]}, ["a", "b", "b"])
    assert model.table("sky")["P(sky | a)"] == pytest.approx([1 / 4, 1 / 4, 2 / 4])


def test_an_impossible_row_gets_the_prior_nan_or_an_error():
    X = {"p": ["u", "v", "v"], "q": ["u", "v", "v"]}
    y = ["a", "b", "b"]
    row = {"p": ["u", "u", "v", "v"], "q": ["u", "v", "v", "u"]}
    model = bk.NaiveBayes(smoothing=0).fit(X, y)
    with pytest.warns(bk.UndecidableWarning, match=r"2 rows are impossible .*the first is row 1\)"):
        said = model.predict_proba(row)
    np.testing.assert_allclose(said, [[1, 0], [1 / 3, 2 / 3], [0, 1], [1 / 3, 2 / 3]])
    with pytest.warns(bk.UndecidableWarning):
        assert model.predict(row).tolist() == ["a", "b", "b", "b"]
    with pytest.warns(bk.UndecidableWarning):
        np.testing.assert_allclose(np.exp(model.predict_log_proba(row)), said)
    assert np.isneginf(model.score_samples(row)).tolist() == [False, True, False, True]
    nan = bk.NaiveBayes(smoothing=0, undecidable="nan").fit(X, y)
    with pytest.warns(bk.UndecidableWarning, match="NaN"):
        assert np.isnan(nan.predict_proba(row)).tolist() == [[False] * 2, [True] * 2, [False] * 2, [True] * 2]
    refusing = bk.NaiveBayes(smoothing=0, undecidable="error").fit(X, y)
    for ask in (refusing.predict, refusing.predict_proba, refusing.predict_log_proba):
        with pytest.raises(bk.BayesError, match="row 1 is impossible under every class"):
            ask(row)
    assert refusing.predict({"p": ["u"], "q": ["u"]}).tolist() == ["a"]


# -- priors --------------------------------------------------------------------------------------------


def test_priors_are_counted_even_given_or_smoothed():
    X, y = {"x": ["u", "u", "u", "u"]}, ["a", "a", "a", "b"]
    wanted = {
        "empirical": [3 / 4, 1 / 4],
        "uniform": [1 / 2, 1 / 2],
        bk.Laplace(): [4 / 6, 2 / 6],
        bk.Dirichlet({"a": 1, "b": 5}): [3 / 8, 5 / 8],
    }
    for prior, shares in wanted.items():
        model = bk.NaiveBayes(prior=prior).fit(X, y)
        assert model.table()["P(class)"] == pytest.approx(shares)
        assert model.predict_proba({"x": None})[0] == pytest.approx(shares)
    assert bk.NaiveBayes(prior={"b": 0.9, "a": 0.1}).fit(X, y).table()["P(class)"] == pytest.approx([0.1, 0.9])
    assert bk.NaiveBayes(prior=[0.1, 0.9]).fit(X, y).table()["P(class)"] == pytest.approx([0.1, 0.9])
    with pytest.warns(bk.BayesWarning, match=r"sum to 1\.0005"):
        rounded = bk.NaiveBayes(prior={"a": 0.5005, "b": 0.5}).fit(X, y)
    assert sum(rounded.table()["P(class)"]) == pytest.approx(1, rel=1e-15)


# -- ties ----------------------------------------------------------------------------------------------


def test_a_tie_goes_to_the_first_class_or_is_drawn_by_the_content_of_the_row():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"p": [f"v{i}" for i in rng.integers(0, 30, 200)], "q": rng.normal(size=200)})
    y = np.repeat(["a", "b"], 200)
    both = pd.concat([X, X])
    assert set(bk.NaiveBayes().fit(both, y).predict(X)) == {"a"}
    drawn = bk.NaiveBayes(ties="random", random_state=1).fit(both, y)
    first = drawn.predict(X)
    assert 60 < (first == "a").sum() < 140
    assert first.tolist() == drawn.predict(X).tolist()
    order = rng.permutation(200)
    assert drawn.predict(X.iloc[order]).tolist() == first[order].tolist()
    assert [drawn.predict(X[i : i + 1])[0] for i in range(20)] == first[:20].tolist()
    assert drawn.predict(X[["q", "p"]]).tolist() == first.tolist()
    assert drawn.predict(X.rename(columns={"p": "p"}).to_dict("list")).tolist() == first.tolist()
    other = bk.NaiveBayes(ties="random", random_state=2).fit(both, y).predict(X)
    assert first.tolist() != other.tolist()
    again = bk.NaiveBayes(ties="random", random_state=1).fit(both[::-1], y).predict(X)
    assert first.tolist() == again.tolist()


def test_a_clear_answer_is_never_drawn():
    X, y = load_iris(return_X_y=True)
    sure = bk.NaiveBayes().fit(X, y)
    assert sure.predict(X).tolist() == bk.NaiveBayes(ties="random").fit(X, y).predict(X).tolist()


# -- schema, tables, samples ---------------------------------------------------------------------------


def test_a_schema_can_be_given_to_another_fit():
    X = pd.DataFrame({"p": [1.0, 2.0, 5.0, 9.0], "q": ["u", "v", "u", "v"]})
    first = bk.NaiveBayes(numeric="histogram", cuts=3).fit(X, [0, 1, 0, 1])
    other = bk.NaiveBayes(schema=first.schema_, numeric="histogram").fit(X[::-1] * 1, [1, 0, 1, 0])
    assert other.schema_ == first.schema_
    assert first.merge(other).tally_.n_rows == 8


def test_advice_is_printed_with_the_role_that_would_follow_it():
    X = pd.DataFrame({"code": [1, 2] * 20, "id": [f"n{i}" for i in range(40)], "text": ["word " * 20, "an " * 30] * 20})
    with pytest.warns(AdviceWarning) as said:
        bk.NaiveBayes().fit(X, [0, 1] * 20)
    (message,) = [str(warning.message) for warning in said]
    assert all(f"column {name!r}" in message for name in X.columns)
    assert "roles={'code': \"categorical\", 'id': \"ignore\", 'text': \"text\"}" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        roles = {"code": "numeric", "id": "ignore", "text": "categorical"}
        bk.NaiveBayes(roles=roles).fit(X, [0, 1] * 20)
        by_position = {0: "numeric", 1: "ignore", 2: "categorical"}
        bk.NaiveBayes(roles=by_position).fit(X, [0, 1] * 20)


def test_tables_read_as_text_html_arrow_and_pandas():
    model = bk.NaiveBayes().fit({"sky": ["sun", "rain", "<b>"], "size": [1.0, 2.0, 4.0]}, ["a", "b", "b"])
    table = model.table("sky")
    assert re.split(r"  +", str(table).splitlines()[0]) == table.column_names
    assert "<b>" not in table._repr_html_().replace("<b>NaiveBayes</b>", "")
    assert table.to_pandas()["count | b"].tolist() == [1, 1, 0]
    html = model._repr_html_()
    assert "3 rows, 2 classes" in html
    assert "<script>" not in bk.NaiveBayes().fit({"<script>": ["u", "v"]}, ["a", "b"])._repr_html_()
    assert "&lt;b&gt;" in html


@pytest.mark.parametrize("name", ["count", "mean", "variance", "class"])
def test_tables_are_whole_whatever_the_columns_are_called(name):
    rows = {"sky": ["sun", "rain", "sun"], "size": [1.0, 2.0, 4.0], "kind": ["a", "b", "b"]}
    target = bk.NaiveBayes().fit({**rows, name: rows["kind"]} | {"kind": ["u"] * 3}, name)
    assert len(target.table()) == 2
    assert len(target.table("size").column_names) == 4
    column = bk.NaiveBayes().fit({name: rows["size"]}, rows["kind"])
    assert "variance" in column.table(name).column_names


def test_samples_of_numbers_and_categories_are_of_the_kind_that_was_learned():
    mixed = [[1.5], [2], [2], [1.5]]
    model = bk.NaiveBayes(roles="categorical").fit(mixed, [0, 1, 0, 1])
    drawn, _ = model.sample(50, random_state=0)
    assert set(drawn["x0"]) == {1.5, 2}
    assert model.predict(drawn).shape == (50,)
    flags = bk.NaiveBayes().fit([[True], [False]], [0, 1]).sample(50, random_state=0)[0]
    assert set(flags["x0"]) == {True, False}


def test_samples_accept_any_seed():
    model = bk.NaiveBayes().fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    for seed in (None, 3, np.random.default_rng(3), np.random.RandomState(3)):
        drawn, labels = model.sample(5, random_state=seed)
        assert len(drawn) == len(labels) == 5
    assert len(model.sample(0)[0]) == 0


def test_classes_and_values_may_come_later_one_row_at_a_time():
    model = bk.NaiveBayes()
    with pytest.warns(bk.BayesWarning, match="one class only"):
        model.partial_fit({"sky": "sun", "size": 1.0}, ["a"])
    model.partial_fit({"sky": "hail", "size": 2.0}, ["b"])
    model.partial_fit({"sky": "hail", "size": 2.5}, ["c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.table("sky")["sky"] == ["hail", "sun"]


@few
@given(
    st.lists(st.tuples(st.sampled_from("uvw"), st.sampled_from("xy"), st.sampled_from("ab")), min_size=1, max_size=20)
)
def test_counting_by_hand_gives_the_same_posterior(rows):
    classes = Counter(row[2] for row in rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BayesWarning)
        model = bk.NaiveBayes().fit({"p": [r[0] for r in rows], "q": [r[1] for r in rows]}, [r[2] for r in rows])
    for p, q, _ in rows:
        joint = {}
        for label, n in classes.items():
            joint[label] = n / len(rows)
            for i, value in ((0, p), (1, q)):
                m = len({row[i] for row in rows})
                joint[label] *= (sum(r[i] == value and r[2] == label for r in rows) + 1) / (n + m)
        assert proba(model, p=p, q=q) == pytest.approx({c: v / sum(joint.values()) for c, v in joint.items()})


@pytest.mark.parametrize("value", [2.05e6 / 3, 0.17e6 / 3, 1e6 / 7])
def test_a_class_without_spread_is_one_also_after_an_outlier_was_forgotten(value):
    """What rounding leaves of a variance that was zero must not be taken for a variance."""
    X, y = [[value], [value], [0.0]], ["a", "a", "b"]
    model = bk.NaiveBayes(numeric="gaussian").fit([*X, [1e12]], [*y, "a"]).forget([[1e12]], ["a"])
    np.testing.assert_allclose(
        model.predict_joint_log_proba(X),
        bk.NaiveBayes(numeric="gaussian").fit(X, y).predict_joint_log_proba(X),
        rtol=1e-9,
    )


@pytest.mark.parametrize("numeric", ["gaussian", "kernel"])
def test_learning_a_class_without_a_number_says_that_the_column_is_lost(numeric):
    model = bk.NaiveBayes(numeric=numeric).fit({"x": [1.0, 2.0, 3.0, 11.0, 12.0, 13.0]}, list("aaabbb"))
    with pytest.warns(bk.BayesWarning, match=r"column 'x' is left out from now on.* class"):
        model.partial_fit({"x": [None, None]}, ["z", "z"])
    assert model.predict_proba({"x": 2.0}).tolist() == model.predict_proba({"x": 12.0}).tolist()
