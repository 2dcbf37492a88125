"""A row that is repeated k times is a row of weight k, and an ensemble is judged without the copies of a row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("laws")


@lawful
@given(data=st.data(), k=st.integers(2, 4))
def test_rows_repeated_k_times_are_rows_of_weight_k(law, data, k):
    rows = law.rows(data, min_size=2)
    weights = [row["weight"] if law.weighted else 1.0 for row in rows]
    X, y = law.frame(rows), [row["label"] for row in rows]
    repeated = law.model().fit(law.frame(rows * k), y * k, sample_weight=weights * k if law.weighted else None)
    weighted = law.model().fit(X, y, sample_weight=np.multiply(weights, k))
    np.testing.assert_allclose(repeated.predict_log_proba(X), weighted.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@lawful
@given(data=st.data(), k=st.sampled_from([2, 1024]))
def test_an_ensemble_of_all_rows_k_times_or_of_weight_k_is_that_of_the_rows(ensemble_law, data, k):
    drawn = ensemble_law.rows(data, min_size=4)
    # Rows that naive Bayes does not expect twice.
    rows = [drawn[i % len(drawn)] | {"size": i + 0.5, "year": 2000 + i, "label": "ab"[i % 2]} for i in range(60)]
    weights = np.array([row["weight"] if ensemble_law.weighted else 1.0 for row in rows])
    X, y = ensemble_law.frame(rows), [row["label"] for row in rows]
    once = ensemble_law.fit(rows)
    weighted = ensemble_law.model().fit(X, y, sample_weight=weights * k)
    assert np.array_equal(weighted.predict_log_proba(X), once.predict_log_proba(X))  # k is a power of two
    if not ensemble_law.weighted and k == 2:
        repeated = ensemble_law.model().fit(ensemble_law.frame(rows * k), y * k)
        assert np.array_equal(repeated.predict_log_proba(X), once.predict_log_proba(X))
        assert repeated.left_out_["log loss"][0] == once.left_out_["log loss"][0]
