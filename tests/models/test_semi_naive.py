"""TAN, AODE, k-DB and the full joint against enumeration by hand and against each other."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit.datasets import load_penguins, load_worked_example
from bayeskit.errors import SchemaMismatch

from .conftest import CHAIN, NAMES, PARENTS, cell, rows_with_gaps, table, two_classes

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
whole_rows = st.lists(st.tuples(cell, cell, st.sampled_from("xy"), st.sampled_from("pq")), min_size=2, max_size=25)


# -- by hand: the definitions, row by row -------------------------------------------------------------------------


def share(rows, label, column, value, context, alpha, m):
    """P(value | label, context): smoothed where the class was seen in the context, else one parent less."""
    seen = [r for r in rows if r[-1] == label and r[column] is not None and all(r[j] == v for j, v in context)]
    n_values = len({r[column] for r in rows} - {None})
    count = sum(r[column] == value for r in seen)
    if m is not None:
        lower = share(rows, label, column, value, context[:-1], alpha, m) if context else 1 / n_values
        return (count + m * lower) / (len(seen) + m)
    if not seen and context:
        return share(rows, label, column, value, context[:-1], alpha, m)
    return (count + alpha) / (len(seen) + alpha * n_values)


def product(rows, record, label, parents, alpha, m):
    """P(label) · Π P(x | label, parents), the walk through the parents ending at a gap or an unseen context."""
    p = sum(r[-1] == label for r in rows) / len(rows)
    for i, name in enumerate(NAMES):
        if record[i] is None or all(r[i] != record[i] for r in rows):
            continue
        context = []
        for parent in parents.get(name, ()):
            j = NAMES.index(parent)
            longer = [*context, (j, record[j])]
            if record[j] is None or not any(r[i] is not None and all(r[k] == v for k, v in longer) for r in rows):
                break
            context = longer
        p *= share(rows, label, i, record[i], context, alpha, m)
    return p


def summed(rows, record, label, parents, alpha, m):
    """P(label, the known cells): the sum of the product over the values of every missing cell a known one needs."""
    known = [name for i, name in enumerate(NAMES) if record[i] is not None and any(r[i] == record[i] for r in rows)]
    needed = set(known)
    for name in reversed(NAMES):  # parents come before their children
        if name in needed:
            needed |= {*parents.get(name, ())}
    values = [
        sorted({r[i] for r in rows} - {None}) if name in needed - {*known} else [record[i]]
        for i, name in enumerate(NAMES)
    ]
    return sum(product(rows, whole, label, parents, alpha, m) for whole in itertools.product(*values))


def averaged(rows, record, label, alpha, m, min_count=1):
    """The mean over parents; naive Bayes where there is none."""
    terms = []
    for p in range(3):
        if record[p] is None or sum(r[p] == record[p] for r in rows) < min_count:
            continue
        parents = {name: [NAMES[p]] for name in NAMES if name != NAMES[p]}
        terms.append(product(rows, record, label, parents, alpha, m))
    return sum(terms) / len(terms) if terms else product(rows, record, label, {}, alpha, m)


def whole(rows, record, label, alpha):
    present = [i for i in range(3) if record[i] is not None and any(r[i] == record[i] for r in rows)]
    having = [r for r in rows if r[-1] == label and all(r[i] is not None for i in present)]
    sizes = [len({r[i] for r in rows} - {None}) for i in range(3)]
    rest = math.prod(sizes[i] for i in range(3) if i not in present)
    prior = sum(r[-1] == label for r in rows) / len(rows)
    if not present:
        return prior
    total = len(having) + alpha * math.prod(sizes)
    count = sum(all(r[i] == record[i] for i in present) for r in having)
    return prior * (count + alpha * rest) / total if total else 0.0


def same_joint(model, records, expected):
    X = {name: np.array([r[i] for r in records], dtype=object) for i, name in enumerate(NAMES)}
    found = np.exp(model.predict_joint_log_proba(X))
    wanted = [[expected(r, label) for label in model.classes_] for r in records]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-15)


SMOOTHINGS = [(0, 0.0, None), (1.0, 1.0, None), (bk.Lidstone(0.3), 0.3, None), (bk.BackOff(2), 0.0, 2.0)]
ALL = list(itertools.product(["u", "v", None], ["w", "u", None], ["x", "y", None, "never"]))


@pytest.mark.slow
@pytest.mark.parametrize(("smoothing", "alpha", "m"), SMOOTHINGS)
@lawful
@given(rows_with_gaps)
def test_products_of_tables_are_those_of_their_definition(smoothing, alpha, m, rows):
    two_classes(rows)
    assume(alpha or m or all({r[-1] for r in rows if r[i] is not None} == {"p", "q"} for i in range(3)))
    X, y = table(rows)
    for model in (bk.TAN(smoothing=smoothing, parents=PARENTS), bk.KDB(2, parents=CHAIN, smoothing=smoothing)):
        parents = model.parents
        same_joint(model.fit(X, y), ALL, lambda r, c, p=parents: summed(rows, r, c, p, alpha, m))


@pytest.mark.slow
@pytest.mark.parametrize(("smoothing", "alpha", "m"), SMOOTHINGS)
@pytest.mark.parametrize("min_count", [1, 3])
@lawful
@given(rows_with_gaps)
def test_aode_is_the_mean_over_its_parents(smoothing, alpha, m, min_count, rows):
    two_classes(rows)
    assume(alpha or m or all({r[-1] for r in rows if r[i] is not None} == {"p", "q"} for i in range(3)))
    model = bk.AODE(min_count, smoothing=smoothing).fit(*table(rows))
    same_joint(model, ALL, lambda r, c: averaged(rows, r, c, alpha, m, min_count))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0, 1.0])
@lawful
@given(rows_with_gaps)
def test_the_full_joint_judges_a_row_by_the_rows_that_equal_it(alpha, rows):
    two_classes(rows)
    model = bk.FullJointBayes(smoothing=alpha).fit(*table(rows))
    same_joint(model, ALL, lambda r, c: whole(rows, r, c, alpha))


# -- against each other --------------------------------------------------------------------------------------------


def same_scores(a, b, X):
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(
            np.exp(a.predict_joint_log_proba(X)), np.exp(b.predict_joint_log_proba(X)), rtol=1e-9, atol=1e-15
        )


def test_tan_is_naive_bayes_where_columns_are_independent():
    cells = [(a, b, d, c) for c in "pq" for a in "uuv" for b in "uvw" for d in ("xxxy" if c == "p" else "xyyy")]
    X, y = table(cells)
    tan = bk.TAN(smoothing=0).fit(X, y)
    assert len(tan.arcs()) == 0
    same_scores(tan, bk.NaiveBayes(smoothing=0).fit(X, y), X)
    same_scores(bk.TAN(smoothing=0, parents=PARENTS).fit(X, y), bk.NaiveBayes(smoothing=0).fit(X, y), X)


@lawful
@given(whole_rows)
def test_any_root_gives_the_same_joint_without_smoothing(rows):
    two_classes(rows)
    X, y = table(rows)
    models = [bk.TAN(smoothing=0, root=root).fit(X, y) for root in NAMES]
    arcs = [{frozenset((parent, name)) for name, own in m.parents_.items() for parent in own} for m in models]
    assert arcs[0] == arcs[1] == arcs[2]
    for other in models[1:]:
        same_scores(models[0], other, X)


@pytest.mark.slow
@lawful
@given(rows_with_gaps, st.sampled_from([0, 1.0, "auto", bk.MEstimate(2), "back-off"]))
def test_with_nothing_to_depend_on_all_are_naive_bayes(rows, smoothing):
    two_classes(rows)
    X, y = table(rows)
    naive = bk.NaiveBayes(smoothing=smoothing)
    same_scores(bk.KDB(0, smoothing=smoothing).fit(X, y), naive.fit(X, y), X)
    same_scores(bk.TAN(smoothing=smoothing, parents={}).fit(X, y), naive, X)
    alone = {"a": X["a"]}
    for model in (bk.AODE(smoothing=smoothing), bk.TAN(smoothing=smoothing), bk.KDB(3, smoothing=smoothing)):
        same_scores(model.fit(alone, y), naive.fit(alone, y), alone)


@lawful
@given(whole_rows)
def test_with_all_parents_kdb_is_the_full_joint(rows):
    two_classes(rows)
    X, y = table(rows)
    same_scores(bk.KDB(3, smoothing=0).fit(X, y), bk.FullJointBayes(smoothing=0).fit(X, y), X)


def test_the_tree_has_the_largest_information_of_all_trees():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    a = rng.integers(0, 3, 400)
    X = {"a": a, "b": (a + (rng.random(400) < 0.3)) % 3, "c": (a + y) % 3, "d": rng.integers(0, 2, 400)}
    X["e"] = (X["b"] + X["d"]) % 3
    model = bk.TAN(roles="categorical").fit(X, y)
    gains = {}
    for one, two in itertools.combinations("abcde", 2):
        frame = pd.DataFrame({"x": X[one], "z": X[two], "y": y})
        p = frame.value_counts() / len(frame)
        py, px, pz = (frame[keys].value_counts() / len(frame) for keys in (["y"], ["x", "y"], ["z", "y"]))
        gains[one, two] = sum(q * math.log(q * py[k[2:]] / (px[k[0], k[2]] * pz[k[1], k[2]])) for k, q in p.items())
    arcs = model.arcs()
    for parent, child, gain in zip(arcs["parent"], arcs["child"], arcs["I(parent; child | class)"], strict=True):
        assert gain == pytest.approx(gains[tuple(sorted((parent, child)))])
    forests = [
        f for size in range(5) for f in itertools.combinations(gains, size)
        if len({frozenset(p) for p in _components(f)}) == 5 - size
    ]  # fmt: skip
    kept = {pair for pair in gains if frozenset(pair) in {frozenset((p, c[0])) for c, p in _arcs(model)}}
    assert sum(gains[pair] for pair in kept) == pytest.approx(
        max(sum(gains[pair] for pair in f) for f in forests), abs=0.02
    )


def _arcs(model):
    return [((name,), parent) for name, own in model.parents_.items() for parent in own]


def _components(arcs):
    parts = [{name} for name in "abcde"]
    for one, two in arcs:
        joined = [part for part in parts if part & {one, two}]
        parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return parts


# -- what is drawn --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        bk.TAN(smoothing=0, parents=PARENTS),
        bk.TAN(smoothing=1.0, parents=PARENTS),
        bk.KDB(parents=CHAIN, smoothing=0),
        bk.FullJointBayes(),
        bk.FullJointBayes(smoothing=1.0),
    ],
    ids=str,
)
def test_samples_approach_the_joint(model):
    rng = np.random.default_rng(5)
    rows = [(*rng.choice(["u", "v"], 2), rng.choice(["x", "y"]), rng.choice(["p", "q"])) for _ in range(40)]
    model.fit(*table(rows))
    drawn, labels = model.sample(20_000, random_state=0)
    records = list(itertools.product("uv", "uv", "xy"))
    joint = np.exp(model.predict_joint_log_proba({n: [r[i] for r in records] for i, n in enumerate(NAMES)}))
    assert joint.sum() == pytest.approx(1)
    cells = list(zip(drawn["a"], drawn["b"], drawn["d"], labels, strict=True))
    for i, record in enumerate(records):
        for c, label in enumerate(model.classes_):
            assert cells.count((*record, label)) / 20_000 == pytest.approx(joint[i, c], abs=0.012)


@pytest.mark.parametrize("model", [bk.TAN(), bk.AODE(), bk.KDB(), bk.FullJointBayes(), bk.NBTree()], ids=str)
def test_numbers_are_drawn_from_their_intervals_and_as_missing_where_there_are_none(model):
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 200)
    frame = {"income": rng.normal(40, 13, 400), "age": np.where(y == "yes", 60, 30) + rng.normal(0, 5, 400)}
    drawn, labels = model.fit(frame, y).sample(2000, random_state=1)
    assert model.schema_.columns["income"].cuts == ()
    assert drawn["income"] == [None] * 2000
    assert drawn.arrow["income"].type == "double"
    age = np.array(drawn["age"], dtype=float)
    assert (age > 0).all()
    assert age[labels == "no"].mean() < model.schema_.columns["age"].cuts[0] < age[labels == "yes"].mean()
    read = model.predict(drawn)
    assert (read == labels).mean() > 0.95


# -- numbers, tables, structure -----------------------------------------------------------------------------------


def test_raw_mixed_tables_go_in_directly():
    birds = load_penguins()
    for model in (bk.TAN(), bk.AODE(), bk.KDB()):
        model.set_params(roles={"year": "categorical"}).fit(birds, "species")
        assert model.score(birds, "species") > 0.97
        assert model.schema_.columns["bill_length_mm"].cuts
        assert str(model.table("bill_length_mm"))
        assert model.table("island")["island"]
    frame = birds.to_pandas()
    scores = cross_val_score(bk.TAN(), frame.drop(columns=["species", "year"]), frame["species"], cv=3)
    assert scores.mean() > 0.95


def test_the_table_of_a_column_with_a_parent_has_a_row_for_each_context():
    model = bk.TAN(smoothing=0, parents={"wind": "outlook"}).fit(load_worked_example("tennis"), "play")
    shown = model.table("wind")
    assert shown.column_names == [
        "outlook", "wind", "count | no", "count | yes", "P(wind | no, outlook)", "P(wind | yes, outlook)",
    ]  # fmt: skip
    rows = list(zip(*(shown[name] for name in shown.column_names), strict=True))
    assert ("sunny", "strong", 1, 1, 1 / 3, 1 / 2) in [(*r[:4], pytest.approx(r[4]), pytest.approx(r[5])) for r in rows]


def test_what_was_learned_is_held_when_rows_come_and_go():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    model = bk.KDB(2).fit(X[:100], y[:100])
    parents = model.parents_
    held = bk.KDB(parents={k: list(v) for k, v in parents.items()}, schema=model.schema_)
    more = model.partial_fit(X[100:], y[100:])
    assert more.parents_ == parents
    assert more.tally_ == held.fit(X, y).tally_
    assert model.forget(X[100:], y[100:]).tally_ == held.fit(X[:100], y[:100]).tally_
    merged = model.merge(bk.KDB(parents=held.parents, schema=model.schema_).fit(X[100:], y[100:]))
    assert merged.tally_ == held.fit(X, y).tally_
    with pytest.raises(SchemaMismatch, match="structure"):
        model.merge(bk.KDB(parents={}, schema=model.schema_).fit(X[100:], y[100:]))
    with pytest.raises(SchemaMismatch, match=r"schema=a\.schema_"):
        model.merge(bk.KDB(2, cuts=3).fit(X[100:], y[100:]))


SETTINGS = [
    bk.TAN(),
    bk.TAN(smoothing=1.0, cuts=5),
    bk.AODE(cuts=("frequency", 4)),
    bk.AODE(30, smoothing="auto"),
    bk.KDB(1),
    bk.KDB(2, selective=True),
    bk.FullJointBayes(smoothing=0.01, cuts="frequency"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(SETTINGS)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


def test_the_full_tree_joins_all_columns_by_the_largest_sum():
    days = load_worked_example("tennis")
    short = {name: days[name].to_pylist()[:8] for name in ("outlook", "temperature", "humidity", "wind")}
    play = days["play"].to_pylist()[:8]
    model = bk.TAN(full_tree=True).fit(short, play)
    bits = model.dependence().bits
    names = list(short)

    def total(arcs):
        return sum(bits[i, j] for i, j in arcs)

    def joined(arcs):
        reached = {0}
        for _ in arcs:
            reached |= {a for arc in arcs if {*arc} & reached for a in arc}
        return len(reached) == len(names)

    best = max(total(arcs) for arcs in itertools.combinations(itertools.combinations(range(4), 2), 3) if joined(arcs))
    found = [(names.index(p), names.index(name)) for name, above in model.parents_.items() for p in above]
    assert len(found) == 3
    assert total(found) == pytest.approx(best)
    coins = {"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8}
    assert bk.TAN(roles="categorical").fit(coins, [0] * 16 + [1] * 16).parents_ == {"a": (), "b": ()}
    assert {*bk.TAN(roles="categorical", full_tree=True).fit(coins, [0] * 16 + [1] * 16).parents_.values()} == {
        (),
        ("a",),
    }
    assert model.partial_fit({n: v[:1] for n, v in short.items()}, play[:1]).full_tree


def test_dependence_has_the_numbers_of_all_pairs_and_marks_what_chance_explains():
    days = load_worked_example("tennis")
    found = bk.TAN().fit(days, "play").dependence()
    i, j = found.columns.index("temperature"), found.columns.index("wind")
    information = 0.0
    for label in ("no", "yes"):
        rows = [row for row in days.to_pylist() if row["play"] == label]
        for a, b in itertools.product(("hot", "mild", "cool"), ("weak", "strong")):
            both = sum((row["temperature"], row["wind"]) == (a, b) for row in rows)
            one, other = sum(row["temperature"] == a for row in rows), sum(row["wind"] == b for row in rows)
            information += both / 14 * np.log2(both * len(rows) / (one * other)) if both else 0.0
    assert found.bits[i, j] == pytest.approx(information)
    assert round(information, 3) == 0.169
    assert found.by_chance[i, j] == pytest.approx(4 / 2 / 14 / np.log(2))  # 2 degrees of freedom in each class
    assert not found.exceeds_chance[i, j]
    assert "temperature  wind         0.1689     0.2061  no" in str(found)
    assert {*found.pairs} == {(a, b, bits) for a, b, bits in found.pairs if bits > 0.2}
