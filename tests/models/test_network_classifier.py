"""NetworkClassifier against its network, refits without a row, TAN and brute force."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit import kernels
from bayeskit.errors import BayesError, SchemaMismatch
from bayeskit.network.structure import structure_score

NAIVE = [("y", "a"), ("y", "b"), ("y", "c"), ("y", "d")]
MIDDLE = [("a", "y"), ("b", "y"), ("a", "b"), ("y", "c"), ("c", "d"), ("b", "d")]
LEAF = [("a", "b"), ("b", "y"), ("c", "y"), ("a", "c")]  # d bears on nothing
AUGMENTED = [*NAIVE, ("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
STRUCTURES = {"naive": NAIVE, "middle": MIDDLE, "leaf": LEAF, "augmented": AUGMENTED}
SMOOTHINGS = [1.0, bk.BackOff(2.0)]
VALUES = {"a": ["p", "q"], "b": ["p", "q", "r"], "c": ["u", "v"], "d": ["s", "t", "w"], "y": ["no", "yes", "so"]}


def rows_of(n=60, seed=0, missing=0.0, target="y"):
    """Rows in which columns bear on each other, with missing cells."""
    rng = np.random.default_rng(seed)
    codes = {"a": rng.integers(0, 2, n)}
    codes["b"] = (codes["a"] + rng.integers(0, 2, n)) % 3
    codes["y"] = (codes["a"] + codes["b"] * (rng.random(n) < 0.8)) % 3
    codes["c"] = (codes["y"] + (rng.random(n) < 0.3)) % 2
    codes["d"] = (codes["c"] + codes["b"] * rng.integers(0, 2, n)) % 3
    frame = pd.DataFrame({name: np.array(VALUES[name], dtype=object)[codes[name]] for name in "abcdy"})
    for name in "abcd":
        frame.loc[rng.random(n) < missing, name] = None
    return frame


def fitted(edges, smoothing=1.0, frame=None, **settings):
    frame = rows_of() if frame is None else frame
    return bk.NetworkClassifier(edges, smoothing=smoothing, **settings).fit(frame, "y")


def test_the_posterior_of_the_course_network_is_computed_by_hand():
    rows = {"cause": [0, 0, 1, 1, 1, 0], "ill": [0, 0, 1, 1, 0, 1], "sign": [0, 1, 1, 1, 0, 0]}
    model = bk.NetworkClassifier([("cause", "ill"), ("ill", "sign")], smoothing=0, roles="categorical").fit(rows, "ill")
    # P(ill | cause) = 2/3; P(sign | ill) = 2/3, P(sign | healthy) = 1/3
    assert model.predict_proba({"cause": 1, "sign": 1})[0, 1] == pytest.approx(2 / 3 * 2 / 3 / (4 / 9 + 1 / 9))
    # the cause is summed out: P(ill) = 1/2 · 2/3 + 1/2 · 1/3
    assert model.predict_proba({"sign": 1})[0, 1] == pytest.approx(1 / 2 * 2 / 3 / (1 / 3 + 1 / 6))


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=str)
@pytest.mark.parametrize("edges", STRUCTURES.values(), ids=STRUCTURES)
def test_scores_are_those_of_the_network_whatever_is_missing(edges, smoothing):
    model = fitted(edges, smoothing, rows_of(missing=0.2))
    network = model.to_network()
    assert sorted(network.edges) == sorted(edges)
    rows = [dict(zip("abcd", cells, strict=True)) for cells in itertools.product(*([None, *VALUES[n]] for n in "abcd"))]
    frame = pd.DataFrame(rows, dtype=object)
    scores = model.predict_joint_log_proba(frame)
    names, shape = network.nodes, [len(network.states[n]) for n in network.nodes]
    joint = np.ones(shape)
    for node in names:  # brute force: the product of all tables
        axes = [names.index(n) for n in (*network.parents[node], node)]
        table = np.asarray(network._tables[names.index(node)]).reshape([shape[i] for i in axes])
        order = np.argsort(axes)
        joint = joint * table.transpose(order).reshape([shape[i] if i in axes else 1 for i in range(len(shape))])
    for row, score in zip(rows, scores, strict=True):
        at = tuple(slice(None) if n == "y" or row[n] is None else network.states[n].index(row[n]) for n in names)
        keep = [n for n in names if n == "y" or row[n] is None]
        part = joint[at].sum(axis=tuple(i for i, n in enumerate(keep) if n != "y"))
        part = part[[network.states["y"].index(label) for label in model.classes_]]
        np.testing.assert_allclose(np.exp(score), part, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=str)
@pytest.mark.parametrize("edges", STRUCTURES.values(), ids=STRUCTURES)
def test_a_row_left_out_is_scored_as_by_a_fit_without_it(edges, smoothing, missing, weighted):
    frame = rows_of(30, 3, missing)
    frame.loc[0, ["d", "b"]] = ["only here", "nor elsewhere"]
    weights = np.where(np.arange(30) % 3, 1.0, 2.0) if weighted else np.ones(30)
    model = bk.NetworkClassifier(edges, smoothing=smoothing).fit(frame, "y", sample_weight=weights)
    block = next(iter(model._blocks_learned(frame, "y", weights)))
    scores = model._left_out().scores(block)
    for i in range(len(frame)):
        others = weights.copy()
        others[i] -= 1
        again = bk.NetworkClassifier(edges, smoothing=smoothing)
        keep = others > 0
        again.fit(frame[keep], "y", sample_weight=others[keep])
        expected = again.predict_joint_log_proba(frame.iloc[[i]].drop(columns="y"))[0]
        np.testing.assert_allclose(scores[i], expected, rtol=1e-9, err_msg=str(i))


@pytest.mark.parametrize("edges", [MIDDLE, LEAF])
def test_a_class_that_only_the_left_out_row_has_is_impossible_without_it(edges):
    frame = rows_of(20, 4)
    frame.loc[3, "y"] = "rare"
    model = fitted(edges, 1.0, frame)
    scores = model._left_out().scores(next(iter(model._blocks_learned(frame, "y"))))
    rest = frame.drop(index=3)
    expected = fitted(edges, 1.0, rest).predict_joint_log_proba(frame.iloc[[3]].drop(columns="y"))[0]
    at = model.classes_.tolist().index("rare")
    assert scores[3, at] == -np.inf
    np.testing.assert_allclose(np.delete(scores[3], at), expected, rtol=1e-9)


@pytest.mark.parametrize("edges", [*STRUCTURES.values(), None], ids=[*STRUCTURES, "learned"])
def test_counts_move_exactly_while_the_arcs_stay(edges, tmp_path):
    frame = rows_of(90, 5, 0.1)
    first, more = frame[:60], frame[60:]
    model = fitted(edges, bk.BackOff(2.0), first)
    arcs = model.edges_
    whole = fitted(arcs, bk.BackOff(2.0), frame)
    new = frame.drop(columns="y")
    other = fitted(arcs, bk.BackOff(2.0), more)
    if edges is not None:
        merged = model.merge(other)
        assert merged.tally_ == whole.tally_
        assert merged.edges_ == whole.edges_
        assert np.array_equal(merged.predict_proba(new), whole.predict_proba(new))
    before = model.predict_proba(new)
    model.partial_fit(more, "y")
    assert np.array_equal(model.predict_proba(new), whole.predict_proba(new))
    assert model.edges_ == arcs
    model.save(tmp_path / "net.bayes")
    loaded = bk.load(tmp_path / "net.bayes")
    assert loaded.edges_ == arcs
    assert np.array_equal(loaded.predict_proba(new), whole.predict_proba(new))
    loaded.forget(more, "y")
    np.testing.assert_allclose(loaded.predict_proba(new), before, rtol=1e-12)
    assert model.fixed_ == (("structure",) if edges is None else ())


@pytest.mark.parametrize("edges", STRUCTURES.values(), ids=STRUCTURES)
def test_an_explanation_sums_to_the_log_odds(edges):
    frame = rows_of(missing=0.2)
    model = fitted(edges, 1.0, frame)
    for explanation in model.explain(frame.drop(columns="y")[:10]):
        total = explanation.prior_log_odds + sum(part.log_odds for part in explanation.contributions)
        assert total == pytest.approx(explanation.log_odds)


@pytest.mark.parametrize("edges", STRUCTURES.values(), ids=STRUCTURES)
def test_drawn_rows_have_the_distribution_of_the_network(edges):
    model = fitted(edges)
    rows, labels = model.sample(20_000, random_state=1)
    shares = np.array([(labels == label).mean() for label in model.classes_])
    np.testing.assert_allclose(shares, np.exp(model.params_.log_prior), atol=0.02)
    drawn = np.asarray(rows["d"], dtype=object) == "s"
    both = np.mean(drawn & (labels == "yes"))
    expected = np.exp(model.predict_joint_log_proba({"d": "s"})[0, model.classes_.tolist().index("yes")])
    assert both == pytest.approx(expected, abs=0.02)


def test_a_tree_below_the_class_is_tan():
    frame = rows_of(missing=0.1)
    tan = bk.TAN().fit(frame, "y")
    edges = [*NAIVE, *((parents[0], name) for name, parents in tan.parents_.items() if parents)]
    new = frame.drop(columns="y")
    np.testing.assert_allclose(fitted(edges, "back-off", frame).predict_proba(new), tan.predict_proba(new), rtol=1e-9)


def test_numbers_are_cut_by_the_classes_as_in_tan():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 200)
    table = {"size": label * 3.0 + rng.normal(size=200), "kind": np.where(label ^ (rng.random(200) < 0.2), "x", "y")}
    model = bk.NetworkClassifier().fit(table, label)
    assert model.schema_.columns["size"].cuts == bk.TAN().fit(table, label).schema_.columns["size"].cuts
    assert ("class", "size") in model.edges_
    assert model.score(table, label) > 0.9


def test_parity_is_learned_as_arcs_between_columns():
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(0, 2, (3, 400))
    table = {"a": a, "b": b, "c": c}
    model = bk.NetworkClassifier(roles="categorical").fit(table, a ^ b)
    assert {("a", "b"), ("b", "a")} & {*model.edges_}
    assert model.score(table, a ^ b) == 1.0
    kept = bk.NetworkClassifier(roles="categorical", forbidden=[("a", "b"), ("b", "a")]).fit(table, a ^ b)
    assert not {("a", "b"), ("b", "a")} & {*kept.edges_}
    asked = bk.NetworkClassifier(roles="categorical", required=[("c", "a")]).fit(table, a ^ b)
    assert ("c", "a") in asked.edges_
    free = bk.NetworkClassifier(roles="categorical", class_arcs="search").fit(table, a ^ b)
    assert not any("c" in arc for arc in free.edges_)
    assert free.score(table, a ^ b) == 1.0


def test_reports_name_arcs_and_parameters():
    model = fitted(MIDDLE)
    assert sorted(model.edges_) == sorted(MIDDLE)
    parents = model.describe_structure().table
    assert dict(zip(parents["column"], parents["parents"], strict=True))["y"] == "a, b"
    assert model.n_parameters_ == sum(
        t.shape[0] * (t.shape[1] - 1) for t in map(np.asarray, model.to_network()._tables)
    )
    assert np.allclose(model.table("d")["P(d | yes, c, b)"], model.table("d")["P(d | no, c, b)"])  # not on y
    assert {node.name for node in model.describe_structure().graph.nodes} == {*"abcdy"}
    assert not hasattr(model, "work")
    assert not hasattr(model, "to_sql")
    assert not hasattr(model, "restrict")
    assert hasattr(fitted(AUGMENTED), "work")
    assert hasattr(fitted(AUGMENTED), "to_sql")


def test_the_marginal_likelihood_is_a_product_over_families():
    frame = rows_of()
    expected = structure_score(MIDDLE, frame, "k2").score
    assert fitted(MIDDLE, 1.0, frame).log_marginal_likelihood() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"edges": [("a", "nothing")]}, "not a column"),
        ({"edges": [("a", "b"), ("b", "y"), ("y", "a")]}, "circle"),
        ({"edges": ["a -> b"]}, "an arc is"),
        ({"class_arcs": "none"}, "class_arcs"),
        ({"search": "tan"}, "search"),
        ({"criterion": "gini"}, "gini"),
        ({"max_parents": 9}, "max_parents"),
        ({"max_parents": 0}, "max_parents"),
        ({"required": [("a", "y")]}, "class_arcs"),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "forbidden"),
        ({"edges": [("a", "y")], "prior": "uniform"}, "prior"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises((BayesError, SchemaMismatch), match=message):
        bk.NetworkClassifier(**settings).fit(rows_of(), "y")


def test_the_one_name_that_is_no_column_is_the_class_where_labels_have_no_name():
    frame = rows_of()
    model = bk.NetworkClassifier(MIDDLE, smoothing=1.0).fit(frame.drop(columns="y"), frame["y"].to_numpy())
    assert np.array_equal(model.predict_proba(frame), fitted(MIDDLE).predict_proba(frame))
    assert ("class", "c") in model.edges_
    with pytest.raises(SchemaMismatch, match="not a column"):
        bk.NetworkClassifier([("a", "y"), ("aa", "b")]).fit(frame.drop(columns="y"), frame["y"].to_numpy())


def test_a_failed_fit_leaves_the_model_as_it_was():
    model, new = fitted(MIDDLE), rows_of().drop(columns="y")
    before = model.predict_proba(new)
    with pytest.raises(BayesError):
        model.fit({"a": ["x", "y"]}, ["p", "q"])
    assert np.array_equal(model.predict_proba(new), before)


def test_an_interrupt_ends_the_fit(monkeypatch):
    search = kernels.learn_structure
    monkeypatch.setattr(kernels, "learn_structure", lambda *settings: (*search(*settings)[:3], False))
    with pytest.raises(KeyboardInterrupt):
        fitted(None)


def test_it_takes_part_in_comparisons_and_searches():
    frame = rows_of(120)
    X, y = frame.drop(columns="y"), frame["y"]
    assert bk.cross_validate(bk.NetworkClassifier(), X, y, folds=3).accuracy > 0.4
    models = {"network": bk.NetworkClassifier(MIDDLE), "naive": bk.NaiveBayes(), "tan": bk.TAN()}
    found = bk.compare(models, frame, "y", folds=3)
    by_hand = bk.cross_validate(bk.NetworkClassifier(MIDDLE), frame, "y", folds=3, random_state=0)
    assert str(round(by_hand.accuracy, 3)) in str(found)
    grid = GridSearchCV(bk.NetworkClassifier(), {"max_parents": [1, 2], "criterion": ["aic", "bdeu"]}, cv=3).fit(X, y)
    assert grid.best_params_.keys() == {"max_parents", "criterion"}
    assert clone(bk.NetworkClassifier(MIDDLE)).get_params()["edges"] == MIDDLE


@parametrize_with_checks([bk.NetworkClassifier(), bk.NetworkClassifier(class_arcs="search", search="order")])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
