"""TAN, AODE, k-DB and the full joint: kept in files, explained, scored honestly, and at the command line."""

import numpy as np
import pytest

import bayeskit as bk
import bayeskit.data.source
from bayeskit.datasets import load_penguins
from bayeskit.errors import BadFile, NotLearned
from bayeskit.models import from_bytes, to_bytes
from bayeskit.network.ask import network_of
from bayeskit.storage.container import pack, unpack

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
BIRDS = load_penguins()
FEW = dict.fromkeys(("year", "body_mass_g", "flipper_length_mm"), "ignore")
MODELS = [
    bk.TAN(),
    bk.TAN(smoothing=bk.BackOff(3), root="sex", temperature=1.5),
    bk.AODE(),
    bk.AODE(weights="log-linear"),
    bk.KDB(2),
    bk.KDB(3, selective=True, smoothing=1.0),
    bk.FullJointBayes(smoothing=0.1, roles=FEW),
    bk.NaiveBayes(numeric="histogram", cuts="mdl", temperature=2.0),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.mark.slow
@each_model
def test_a_loaded_model_is_the_saved_one_and_goes_on_learning_and_forgetting(model, tmp_path):
    first, rest = BIRDS.slice(0, 250), BIRDS.slice(250)
    model.fit(first, "species").save(tmp_path / "birds.bayes")
    again = bk.load(tmp_path / "birds.bayes")
    assert again.tally_ == model.tally_
    assert np.array_equal(again.predict_proba(BIRDS), model.predict_proba(BIRDS))
    assert again.partial_fit(rest, "species").tally_ == model.partial_fit(rest, "species").tally_
    np.testing.assert_allclose(again.predict_proba(BIRDS), model.predict_proba(BIRDS), rtol=1e-12)
    assert again.forget(rest, "species").tally_ == model.forget(rest, "species").tally_


@pytest.mark.slow
@each_model
def test_an_explanation_sums_to_what_the_model_says(model):
    model.fit(BIRDS, "species")
    rows = BIRDS.slice(0, 344)
    proba = model.predict_log_proba(rows)
    classes = model.classes_.tolist()
    for i, record in enumerate(model.explain(rows)):
        total = record.prior_log_odds + sum(part.log_odds for part in record.contributions)
        assert total == pytest.approx(record.log_odds, abs=1e-9)
        told = proba[i, classes.index(record.predicted)] - proba[i, classes.index(record.against)]
        assert record.log_odds == pytest.approx(told, abs=1e-9)
    assert [part.column for part in record.contributions] == model.schema_.used


def test_what_cannot_be_is_explained_without_a_sum_that_lies():
    X = {"a": ["u", "u", "v", "v"], "b": ["x", "y", "x", "y"]}
    model = bk.FullJointBayes(domains={"a": ["u", "v", "w"]}).fit(X, ["p", "p", "q", "q"])
    (record,) = model.explain({"a": "u", "b": "x"})
    assert record.log_odds == np.inf
    assert [part.log_odds for part in record.contributions] == [np.inf, np.log(0.5)]  # P(b | p, a), q being out
    (lost,) = model.explain({"a": "w", "b": "x"})
    assert lost.undecidable


@each_model
def test_the_record_of_leaving_rows_out_has_the_scores_of_each_row(model):
    found = model.fit(BIRDS, "species").leave_one_out(BIRDS, "species")
    assert found.n_rows == 344
    assert found.accuracy > 0.93
    assert found.log_loss < 0.3
    block = next(iter(model._encoder().blocks(bk.open_source(BIRDS, "species"))))
    scores = model._tempered(model._left_out().scores(block))
    own = scores[np.arange(344), block.labels]
    assert found.log_loss == pytest.approx(-(own - np.logaddexp.reduce(scores, axis=1)).mean(), rel=1e-12)


@pytest.mark.parametrize("model", [m for m in MODELS if not isinstance(m, bk.NaiveBayes)], ids=str)
def test_rows_that_were_never_learned_are_not_left_out(model):
    model.fit(BIRDS.slice(0, 200), "species")
    with pytest.raises(NotLearned, match=r"never learned|more rows"):
        model.leave_one_out(BIRDS, "species")


def test_a_temperature_changes_probabilities_and_no_decision():
    plain, warm = (bk.TAN(temperature=t).fit(BIRDS, "species") for t in (1.0, 3.0))
    assert plain.predict(BIRDS).tolist() == warm.predict(BIRDS).tolist()
    a, b = plain.predict_log_proba(BIRDS), warm.predict_log_proba(BIRDS)
    np.testing.assert_allclose(a[:, :1] - a, 3 * (b[:, :1] - b), rtol=1e-9, atol=1e-9)
    naive = bk.NaiveBayes(variance="feature", temperature=2.0).fit(BIRDS, "species")
    np.testing.assert_allclose(naive.to_logistic().predict_proba(BIRDS), naive.predict_proba(BIRDS), rtol=1e-9)
    row = {**BIRDS.slice(0, 1).to_pylist()[0]}
    assert row.pop("species") == "Adelie"
    np.testing.assert_allclose(naive.predict_proba(row), naive.predict_proba(BIRDS.slice(0, 1)), rtol=1e-12)
    odds = naive.nomogram("Adelie", "Gentoo")
    assert odds.offset == pytest.approx(bk.NaiveBayes(variance="feature").fit(BIRDS, "species").nomogram(
        "Adelie", "Gentoo").offset / 2)  # fmt: skip


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(2), bk.FullJointBayes(smoothing=0.1, roles=FEW)], ids=str)
def test_counts_that_do_not_fit_each_other_are_no_model(model):
    header, arrays = unpack(to_bytes(model.fit(BIRDS, "species")))
    assert from_bytes(pack(header, arrays)).tally_ == model.tally_
    for i, array in enumerate(arrays):
        for change in (1, -1, 1000):
            other = [part.copy() for part in arrays]
            if not array.size:
                continue
            other[i].flat[0] += array.dtype.type(change % 2**32 if array.dtype.kind == "u" else change)
            with pytest.raises(BadFile):
                from_bytes(pack(header, other))
    with pytest.raises(BadFile):
        from_bytes(pack(header, arrays[:-1]))
    with pytest.raises(BadFile):
        from_bytes(pack(header, [*arrays, arrays[-1]]))
    families, together = header["tally"]["statistics"]
    for columns in ([["sex", "sex"]], ["sex"], [], ["sex", "nowhere"]):
        twisted = [families, [[together[0][0], columns, {}], *together[1:]]]
        with pytest.raises(BadFile):
            from_bytes(pack({**header, "tally": {**header["tally"], "statistics": twisted}}, arrays))


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(3), bk.TAN(smoothing=1.0)], ids=str)
def test_a_product_of_tables_is_a_network_and_answers_as_one(model):
    few = BIRDS.select(["species", "island", "sex", "bill_length_mm"])
    network = network_of(model.fit(few, "species"))
    whole = few.drop_null()
    np.testing.assert_allclose(network.predict_proba(whole, "species"), model.predict_proba(whole), atol=1e-9)


@pytest.mark.parametrize("model", [bk.NBTree(), bk.AODE(weights="log-linear")], ids=str)
def test_a_loaded_model_learns_its_structure_anew_when_it_is_fitted_anew(model):
    again = from_bytes(to_bytes(model.fit(BIRDS, "species")))
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.predict_proba(BIRDS), model.predict_proba(BIRDS))
    header, arrays = unpack(to_bytes(model))
    for held in ({}, {"tree": 3}, {"tree": {"column": "sex"}}, {"exponents": {"sex": -1.0}}):
        with pytest.raises(bk.BayesError):
            from_bytes(pack({**header, "state": {**header["state"], "held": held}}, arrays))
