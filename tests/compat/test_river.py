"""One row at a time: the counts of one fit, and exact removal."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.compat.river import StreamClassifier
from bayeskit.datasets import load_penguins

BIRDS = load_penguins().select(["island", "sex", "body_mass_g", "species"])
BIRDS = BIRDS.take(np.random.default_rng(0).permutation(BIRDS.num_rows)[:100])
ROWS = [(dict(row), row.pop("species"))[::-1] for row in BIRDS.to_pylist()]
ROWS = [({name: cell for name, cell in x.items() if name != "species" and cell is not None}, y) for y, x in ROWS]


def test_a_stream_equals_one_fit():
    stream = StreamClassifier()
    assert stream.predict_one(ROWS[0][0]) is None
    for x, y in ROWS:
        stream.learn_one(x, y)
    whole = bk.NaiveBayes(numeric="gaussian").fit(BIRDS, "species")
    wanted = whole.predict_proba(BIRDS.drop_columns(["species"]))
    got = [list(stream.predict_proba_one(x).values()) for x, _ in ROWS]
    np.testing.assert_allclose(got, wanted, atol=1e-9)
    assert [stream.predict_one(x) for x, _ in ROWS] == whole.predict(BIRDS.drop_columns(["species"])).tolist()


def test_unlearned_rows_are_gone():
    stream = StreamClassifier(bk.NaiveBayes(numeric="gaussian").fit(BIRDS, "species"))
    for x, y in ROWS[50:]:
        stream.unlearn_one(x, y)
    half = bk.NaiveBayes(numeric="gaussian").fit(BIRDS.slice(0, 50), "species")
    assert stream.predict_proba_one(ROWS[0][0]) == pytest.approx(
        dict(zip(half.classes_.tolist(), half.predict_proba(ROWS[0][0])[0], strict=True)), abs=1e-9
    )


def test_a_model_that_cannot_learn_more_is_refused():
    with pytest.raises(bk.BayesError, match="has no partial_fit"):
        StreamClassifier(bk.Calibrated())
