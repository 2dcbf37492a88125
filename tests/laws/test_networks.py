"""A model that can become a network scores every row as the network does, whichever cells are missing."""

import inspect
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bayeskit as bk

from .conftest import ANY_LAWS

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")

FEW = [
    {"sky": "sun", "flag": i > 1, "size": 30.0 * i, "year": 2000 + i, "label": "abc"[i % 3], "weight": 1.0}
    for i in range(5)
]


def becomes_a_network(law):
    """Tell whether the model of a law can become a network. Each member of AODE is one, their mean is not."""
    if law.model_class is bk.AODE or not hasattr(law.model_class, "to_network"):
        return False
    try:
        law.fit(FEW).to_network()
    except bk.BayesError:
        return False
    return True


NETWORKS = [law for law in ANY_LAWS if becomes_a_network(law)]
NEVER_SEEN = {"sky": "snow", "flag": None, "size": None, "year": 1999}


def network_scores(model, rows):
    """ln P(cells, class) by the network; a value that it does not know is not evidence."""
    network, target = model.to_network(), model.schema_.target.name
    columns = {name: rows[name].to_pylist() for name in rows.column_names if name in network.nodes}
    for name in columns:
        if name not in network.cuts:
            columns[name] = [cell if cell in network.states[name] else None for cell in columns[name]]
    labels = [[label] * rows.num_rows for label in model.classes_.tolist()]
    return np.column_stack([network.log_evidence(pa.table({target: own, **columns})) for own in labels])


def check(model, rows):
    found = model.predict_joint_log_proba(rows)
    np.testing.assert_allclose(np.exp(found), np.exp(network_scores(model, rows)), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("law", NETWORKS, ids=str)
@settings.get_profile("few")
@given(st.data())
def test_a_model_is_its_network_on_every_pattern_of_missing_cells(law, data):
    rows = law.rows(data, min_size=1, max_size=20)
    model = law.fit(rows)
    names = [name for name in law.columns if name in model.schema_.coded]
    assume(any(row[name] is not None for row in rows for name in names))
    patterns = itertools.product([False, True], repeat=len(names))
    full = {**rows[0], **{n: v for n, v in rows[-1].items() if rows[0][n] is None}}
    # Measured columns and texts are not in the network.
    full |= {name: None for name in law.columns if name not in names}
    asked = [{**full, **{n: None for n, gone in zip(names, hidden, strict=True) if gone}} for hidden in patterns]
    open_domain = [name for name in names if name not in law.settings.get("domains", {})]
    asked += [{**one, n: NEVER_SEEN[n]} for one in asked for n in open_domain]
    check(model, law.frame(asked))


def test_every_model_that_becomes_a_network_is_one_of_the_law():
    public = (getattr(bk, name) for name in bk.__all__)
    able = {one for one in public if inspect.isclass(one) and hasattr(one, "to_network")}
    assert {law.model_class for law in NETWORKS} == able - {bk.AODE}


@pytest.mark.parametrize("smoothing", [0.0, 1.0, "back-off"])
@pytest.mark.parametrize("model_class", [bk.TAN, bk.KDB])
@settings.get_profile("few")
@given(st.integers(0, 2**32 - 1))
def test_random_structures_are_their_networks(model_class, smoothing, seed):
    rng = np.random.default_rng(seed)
    n_columns, n_classes = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    names = rng.permutation([f"x{j}" for j in range(n_columns)]).tolist()
    most = 1 if model_class is bk.TAN else 4
    parents = {name: names[: rng.integers(0, j + 1)][-most:] for j, name in enumerate(names)}
    cells = rng.integers(0, rng.integers(1, 5, n_columns), (30, n_columns))

    def table(gaps):
        return pa.table({name: pa.array(cells[:, j], mask=gaps[:, j]) for j, name in enumerate(sorted(names))})

    settings = {"parents": parents, "smoothing": smoothing, "roles": "categorical"}
    y = rng.integers(0, n_classes, 30)
    model = model_class(**settings).fit(table(rng.random(cells.shape) < 0.2 * rng.integers(0, 2)), y)
    check(model, table(rng.random(cells.shape) < rng.random()))


@pytest.mark.parametrize("law", [law for law in NETWORKS if law.model_class in (bk.TAN, bk.KDB)], ids=str)
@settings.get_profile("few")
@given(st.data())
def test_the_columns_sum_to_the_score_whichever_cells_are_missing(law, data):
    model, asked = law.fit(law.rows(data)), law.frame(law.rows(data))
    terms = model.predict_column_log_proba(asked)
    total = model.params_.log_prior + sum(terms.values())
    np.testing.assert_allclose(np.exp(total), np.exp(model.predict_joint_log_proba(asked)), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("setting", [{"missing": "value"}, {"unseen": "smooth"}])
def test_a_model_for_which_such_cells_are_evidence_is_no_network(setting):
    model = bk.NaiveBayes(**setting).fit({"sky": ["sun", "rain", None, "sun"]}, ["a", "b", "a", "b"])
    with pytest.raises(bk.BayesError, match="evidence for this model"):
        model.to_network()


def test_a_column_without_a_distribution_has_no_children():
    """Sky is missing in every row of class b, so without smoothing it has no table there."""
    X = {"sky": ["sun", "rain", None, None], "wind": ["weak", "weak", "strong", "weak"]}
    model = bk.TAN(smoothing=0, parents={"wind": "sky"}).fit(X, ["a", "a", "b", "b"])
    assert model.parents_["wind"] == ()
    check(model, pa.table({"sky": ["sun", None, "sun"], "wind": ["weak", "strong", None]}))


def test_tennis_without_the_outlook():
    """P(no) = Σ over outlooks of P(no, outlook) · P(hot, high, weak | no, outlook) / the same of both classes."""
    tennis = bk.datasets.load_worked_example("tennis")
    model = bk.TAN(smoothing=0).fit(tennis, "play")
    row = {"outlook": [None], "temperature": ["hot"], "humidity": ["high"], "wind": ["weak"]}
    asked = pa.table({name: pa.array(cells, pa.string()) for name, cells in row.items()})
    np.testing.assert_allclose(model.predict_proba(asked)[0, 0], 8 / 11, atol=1e-12)
    check(model, asked)


@pytest.mark.slow
def test_a_thousand_known_children_of_a_missing_parent_do_not_underflow():
    rng = np.random.default_rng(0)
    hub, y = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    X = {"hub": hub, **{f"c{i}": (hub + rng.integers(0, 2, 200)) % 3 for i in range(1200)}}
    model = bk.KDB(parents={f"c{i}": ["hub"] for i in range(1200)}, roles="categorical").fit(X, y)
    asked = pa.table({"hub": pa.array([None] * 5, pa.int64()), **{n: X[n][:5] for n in X if n != "hub"}})
    found = model.predict_joint_log_proba(asked)
    assert np.isfinite(found).all()
    assert found.max() < -745
    whole = [model.predict_joint_log_proba(asked.set_column(0, "hub", pa.array([h] * 5))) for h in range(3)]
    np.testing.assert_allclose(found, np.logaddexp.reduce(whole, axis=0), rtol=1e-12)
