"""Roles are given by name, by position or by type, and those that cannot be found are told with what helps."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV

import bayeskit as bk
from bayeskit.data.schema import Categorical, Ignored, Numeric
from bayeskit.errors import AdviceWarning, SchemaMismatch

N = 60
FRAME = pd.DataFrame(
    {
        "floor": [i * 7 % 4 for i in range(N)],
        "year": [2000 + i * 5 % 3 for i in range(N)],
        "size": [float(i * 13 % 17) for i in range(N)],
        "sky": ["sun", "rain", "hail"] * (N // 3),
        "open": [i % 4 > 1 for i in range(N)],
    }
)
Y = np.array(["a", "b", "b", "a", "a"] * (N // 5))


def roles_of(roles, data=FRAME, y=Y):
    return {name: type(role) for name, role in bk.NaiveBayes(roles=roles).fit(data, y).schema_.columns.items()}


def test_a_type_stands_for_the_columns_that_hold_it():
    taken = roles_of({int: "categorical", float: "ignore"})
    wanted = {"floor": Categorical, "year": Categorical, "size": Ignored, "sky": Categorical, "open": Categorical}
    assert taken == wanted
    assert roles_of({str: "ignore", bool: "ignore", int: "ignore"})["size"] is Numeric


def test_a_name_and_a_position_come_before_a_type():
    assert roles_of({int: "categorical", "year": "numeric"})["year"] is Numeric
    assert roles_of({1: "numeric", int: "categorical"})["year"] is Numeric


def test_a_type_that_no_column_holds_does_no_harm_and_an_unknown_one_is_named():
    assert roles_of({str: "ignore", int: "categorical"}, FRAME[["floor", "size"]])["floor"] is Categorical
    with pytest.raises(bk.BayesError, match=r"roles= names the type list: by type, .* int, float, str, bool"):
        roles_of({list: "ignore"})


def test_what_is_declared_by_type_is_not_advised():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AdviceWarning)
        bk.NaiveBayes(roles={int: "categorical"}).fit(FRAME, Y)
    with pytest.warns(AdviceWarning, match="a few whole numbers only"):
        bk.NaiveBayes().fit(FRAME, Y)


def test_roles_by_type_go_into_the_file_and_to_fewer_columns(tmp_path):
    model = bk.NaiveBayes(roles={int: "categorical", "sky": "ignore"}).fit(FRAME, Y)
    model.save(tmp_path / "model.bayes")
    again = bk.load(tmp_path / "model.bayes")
    assert again.roles == {int: "categorical", "sky": "ignore"}
    assert again.partial_fit(FRAME, Y).tally_.n_rows == 2 * N
    assert model.restrict(["floor", "size"]).roles == {int: "categorical"}
    assert bk.JointDistribution.from_data(FRAME[["floor", "open"]], roles={bool: "ignore"}).variables == ("floor",)


META = {
    "GridSearchCV": lambda model: GridSearchCV(model, {"smoothing": [1.0, 2.0]}, cv=2),
    "CalibratedClassifierCV": lambda model: CalibratedClassifierCV(model, cv=2),
    "VotingClassifier": lambda model: VotingClassifier([("one", model)], voting="soft"),
    "BaggingClassifier": lambda model: BaggingClassifier(model, n_estimators=2, random_state=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", META)
@pytest.mark.parametrize(
    "roles", [{0: "categorical", 1: "categorical"}, {int: "categorical"}], ids=["position", "type"]
)
def test_roles_by_position_and_by_type_survive_what_drops_names(tool, roles):
    with warnings.catch_warnings():
        warnings.simplefilter("error", AdviceWarning)
        fitted = META[tool](bk.NaiveBayes(roles=roles)).fit(FRAME, Y)
        assert fitted.predict(FRAME).shape == (N,)
    if tool == "BaggingClassifier":
        inner = fitted.estimators_[0].schema_
        assert not inner.named
        assert inner.coded == ["x0", "x1", "x3", "x4"]


@pytest.mark.skipif(sklearn.__version__ < "1.7", reason="the bagging of scikit-learn 1.6 reads numbers only")
def test_a_name_that_was_dropped_is_told_with_what_survives():
    with pytest.raises(SchemaMismatch, match=r"the columns have no names here.*position") as told:
        META["BaggingClassifier"](bk.NaiveBayes(roles={"year": "categorical"})).fit(FRAME, Y)
    assert "'year'" in str(told.value)
    assert told.value.hint.endswith('roles={0: "categorical"}')
    named = bk.NaiveBayes(roles={"year": "categorical"})
    with pytest.warns(AdviceWarning):
        schema = named.fit(FRAME, Y).schema_
    assert META["BaggingClassifier"](bk.NaiveBayes(schema=schema)).fit(FRAME, Y).predict(FRAME).shape == (N,)
