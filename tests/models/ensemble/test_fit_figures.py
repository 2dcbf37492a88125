"""What a fit says of itself is measured when first asked for, on the rows of the fit, whatever became of the model."""

import pickle

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.ensemble.fitting import EnsembleImportance
from bayeskit.tables import Table

SMALL = {"n_members": 2, "n_chains": 3, "n_trees": 4, "n_threads": 1}


def rows(seed, n=60):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.choice(list("pqr"), n), "b": rng.normal(size=n), "c": rng.choice(["k", None], n)})
    return X, np.where((X["b"] > 0) ^ (X["a"] == "p"), "yes", "no")


def fitted(**settings):
    return bk.BayesClassifier(**{**SMALL, **settings}).fit(*rows(0))


def figures(model):
    return model.left_out_.arrow.to_pydict(), model.importance_.arrow.to_pydict()


@pytest.fixture
def measured(monkeypatch):
    """How often importance was measured."""
    calls, real = [], EnsembleImportance.of_columns

    def of_columns(self, rows):
        calls.append(1)
        return real(self, rows)

    monkeypatch.setattr(EnsembleImportance, "of_columns", of_columns)
    return calls


def test_nothing_is_measured_until_it_is_asked_for_and_then_once(measured):
    model = fitted()
    model.predict_proba(rows(1)[0])
    assert not measured
    first = figures(model)
    assert len(measured) == 1
    assert figures(model) == first
    assert len(measured) == 1


def test_without_its_rows_a_model_measures_in_the_fit(measured):
    model = fitted(keep_rows=False)
    assert len(measured) == 1
    assert sorted(figures(model)[1]["column"]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "later",
    [
        lambda model: model.partial_fit(*rows(2)),
        lambda model: model.forget(*(part[:20] for part in rows(0))),
        lambda model: model.merge(bk.BayesClassifier(**SMALL, structure=model.structure_).fit(*rows(3))),
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: from_bytes(to_bytes(model)),
    ],
)
def test_what_is_asked_for_later_is_what_the_fit_would_have_said(later):
    asked_at_once = figures(fitted())
    model = later(fitted())
    assert all(isinstance(figure, Table) for figure in vars(vars(model)["_figures"]).values())  # no rows are held
    assert figures(model) == asked_at_once


def test_a_held_structure_has_figures_of_its_own_rows():
    model = bk.BayesClassifier(**SMALL, structure=fitted().structure_).fit(*rows(4, 80))
    assert figures(model)[0]["model"] == ["BayesClassifier", "NaiveBayes", "majority"]
    assert figures(model) != figures(fitted())


def test_a_model_without_a_fit_has_none():
    assert not hasattr(bk.BayesClassifier(), "importance_")
    assert not hasattr(bk.BayesClassifier(), "left_out_")


def test_a_model_that_is_not_fitted_has_no_figures():
    for name in ("left_out_", "importance_"):
        with pytest.raises(AttributeError, match="not fitted"):
            getattr(bk.BayesClassifier(), name)
