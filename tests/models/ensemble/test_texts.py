"""Text and date columns of BayesClassifier: no worse than text or table alone, exact updates, safe files."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.data.text.documents import Documents
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.ensemble.texts import FOLDS, folds_of
from bayeskit.storage.container import pack, unpack

SMALL = {"n_members": 1, "n_chains": 2, "n_trees": 4, "n_threads": 1}
ROLES = {"review": "text", "when": "month,weekday"}
WORDS = {"spam": ["win", "cash", "free", "now"], "ham": ["hello", "dinner", "home", "see"]}


def mixed(n, seed=0):
    """Texts, numbers and dates that each tell something of the class; texts may be missing."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, "spam", "ham")
    X = pd.DataFrame({"review": [" ".join(rng.choice(WORDS[c if rng.random() < 0.7 else "ham"], 3)) for c in y]})
    X["size"] = (rng.normal(size=n) + (y == "spam")).round(2)
    X["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(7 * rng.integers(0, 50, n) + (y == "spam"), "D")
    X.loc[::40, "review"] = None
    return X, y


@pytest.fixture(scope="module")
def model():
    return bk.BayesClassifier(**SMALL, roles=ROLES).fit(*mixed(150))


def _loss(model, X, y):
    said = model.predict_log_proba(X)
    return -said[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_text_and_table_together_are_better_than_each_alone(seed):
    (X, y), new = mixed(500, seed), mixed(1_000, 9)
    both = bk.BayesClassifier(roles={"review": "text", "when": "ignore"}, n_threads=1).fit(X, y)
    text = bk.TextClassifier().fit(X["review"].fillna(""), y)
    table = bk.BayesClassifier(roles={"review": "ignore", "when": "ignore"}, n_threads=1).fit(X, y)
    alone = _loss(text, new[0]["review"].fillna(""), new[1]), _loss(table, *new)
    assert _loss(both, *new) < min(alone) - 0.03
    assert both.left_out_["log loss"][0] == pytest.approx(_loss(both, *new), abs=0.06)


def test_dates_are_read_as_their_parts(model):
    assert {"when.month", "when.weekday"} <= {*model.importance_["column"]}
    assert model.importance_.by_column["when.weekday"] > 0.05


def test_a_random_class_gains_nothing_from_texts():
    X, y = mixed(300)
    shuffled = np.random.default_rng(1).permutation(y)
    model = bk.BayesClassifier(**SMALL, roles=ROLES).fit(X, shuffled)
    assert model.left_out_["log loss"][0] > np.log(2) - 0.03


def test_each_model_has_not_learned_the_documents_of_its_fold():
    X, y = mixed(150)
    part = bk.BayesClassifier(**SMALL, roles=ROLES).fit(X, y).structure_.texts["review"]
    documents = Documents.of(X["review"].tolist())
    fold = folds_of(documents)
    assert [int(model.tally_.n_rows) for model in part.models] == [int((fold != k).sum()) for k in range(FOLDS)]
    (learned,), (new,) = part.of_learned(documents), part.of_new(documents)
    for k, model in enumerate(part.models):
        own = np.flatnonzero((fold == k) & ~documents.missing)
        one = bk.TextClassifier().fit(X["review"][fold != k].fillna(""), y[fold != k])
        np.testing.assert_allclose(one.predict_proba(X["review"][own]), model.predict_proba(X["review"][own]))
        np.testing.assert_array_equal(np.argsort(learned[own]), np.argsort(one.decision_function(X["review"][own])))
    assert np.isnan(learned[documents.missing]).all()
    assert np.isnan(new[documents.missing]).all()


def test_explanations_sum_to_the_log_odds_and_name_the_text(model):
    X, _ = mixed(6, 3)
    for record in model.explain(X):
        total = record.prior_log_odds + sum(part.log_odds for part in record.contributions)
        assert total == pytest.approx(record.log_odds, abs=1e-9)
        assert "review" in {part.column for part in record.contributions}
    assert model.describe_structure()
    assert "text models" in model.fixed_
    assert model.table("review")["column"] == ["log odds of spam by review"]


def test_a_sentence_on_a_long_text_has_the_words_that_matter():
    rng = np.random.default_rng(0)
    y = np.tile(["ham", "spam"], 60)
    words = np.where(y == "spam", "prize", "meeting")
    texts = [f"{word} {' '.join(rng.choice(list('abcdefgh'), 6))}" for word in words]
    model = bk.BayesClassifier(**SMALL, roles={"note": "text"}).fit({"note": texts, "size": rng.normal(size=120)}, y)
    long = " ".join(rng.choice(list("abcdefgh"), 3_000)) + " prize"
    (record,) = model.explain({"note": [long], "size": [0.0]})
    (note,) = (part for part in record.contributions if part.column == "note")
    assert note.words[0] == "prize"
    assert "prize" in note.sentence
    assert len(note.sentence) < 150


def test_rows_are_learned_merged_and_fitted_again():
    X, y = mixed(150)
    first = bk.BayesClassifier(**SMALL, roles=ROLES).fit(X[:120], y[:120])
    before, structure, schema = first.predict_proba(X), first.structure_, first.schema_
    other = bk.BayesClassifier(structure=structure, schema=schema, n_threads=1).fit(X[120:], y[120:])
    merged = first.merge(other).predict_proba(X)
    first.partial_fit(X[120:], y[120:])
    whole = bk.BayesClassifier(structure=structure, schema=schema, n_threads=1).fit(X, y)
    np.testing.assert_allclose(first.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(merged, whole.predict_proba(X), atol=1e-12)
    with pytest.raises(bk.BayesError, match=r"cannot forget them; nothing was changed.*refit=True"):
        first.forget(X[120:], y[120:])
    np.testing.assert_allclose(first.forget(X[120:], y[120:], refit=True).predict_proba(X), before, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "fit", "match"),
    [
        ({"keep_rows": False}, {}, "keep_rows=False, and column 'review' is a text"),
        ({"n_members": None, "n_chains": None}, {"groups": np.arange(40)}, "groups= and text column 'review'"),
    ],
)
def test_what_texts_do_not_support_is_refused(settings, fit, match):
    with pytest.raises(bk.BayesError, match=match):
        bk.BayesClassifier(**SMALL | settings, roles=ROLES).fit(*mixed(40), **fit)


def test_a_column_with_the_name_of_the_log_odds_is_refused():
    X, y = mixed(40)
    with pytest.raises(bk.BayesError, match="has the name of what text column 'review' becomes"):
        bk.BayesClassifier(**SMALL, roles=ROLES).fit(X.assign(**{"log odds of spam by review": 1.5}), y)


def test_a_file_gives_the_same_model(model):
    X, _ = mixed(40, 5)
    data = to_bytes(model)
    again = from_bytes(data)
    assert to_bytes(again) == data
    assert again.structure_ == model.structure_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.slow
def test_a_hostile_file_is_refused_or_is_a_model(model):
    X, _ = mixed(40, 5)
    data, refused = to_bytes(model), 0
    for seed in range(100):
        rng, (header, arrays) = np.random.default_rng(seed), unpack(data)
        at = int(rng.integers(len(arrays)))
        array = arrays[at].copy()
        match rng.integers(4):
            case 0 if array.size:
                with np.errstate(all="ignore"):
                    array.ravel()[rng.integers(array.size)] = np.array([np.nan, -1, 2**40, 3]).astype(array.dtype)[
                        seed % 4
                    ]
            case 1:
                array = array[: len(array) // 2]
            case 2:
                header["parts"] = header["parts"][: int(rng.integers(FOLDS))]
            case _:
                header["state"]["held"]["texts"] = [{}, None, {"size": ["ham", "spam"]}, {"review": [[1], 2]}][seed % 4]
        try:
            other = from_bytes(pack(header, [*arrays[:at], array, *arrays[at + 1 :]]))
        except bk.BayesError:
            refused += 1
        else:
            assert np.isfinite(other.predict_proba(X)).all()
    assert refused > 50
