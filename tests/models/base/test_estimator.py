"""Estimators bring scikit-learn's interface themselves: settings, copies, tags and requests as its base has them."""

import inspect
import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.base import clone as sklearn_clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

import bayeskit as bk
from bayeskit.compat.hmmlearn import BaseHMM
from bayeskit.models.base import Estimator, clone
from bayeskit.models.base.estimator import METADATA

ESTIMATORS = {
    name: public
    for name in bk.__all__
    if inspect.isclass(public := getattr(bk, name))
    and issubclass(public, Estimator)
    and not issubclass(public, BaseHMM)  # whose contract is hmmlearn's
}
OF_SEQUENCES = {"HiddenMarkovModel", "MarkovChain", "Tagger"}  # none of the kinds that scikit-learn knows
CHANGED = [
    bk.NaiveBayes(),
    bk.NaiveBayes(smoothing=0),
    bk.NaiveBayes(prior={"a": 0.25, "b": 0.75}, smoothing={"sky": 2.0}, random_state=3),
    bk.NaiveBayes(numeric="histogram", cuts=[1.0, 2.0], roles={"sky": "categorical"}, missing="value", unseen="error"),
    bk.CostSensitive(bk.NaiveBayes(ddof=0), reject_cost=0.1),
    bk.Discretizer("frequency", output="codes"),
    bk.TokenCounter(ngram_range=(1, 2), lowercase=False),
    bk.LinearRegression(penalty=float("nan")),
]
X, y = {"x": [1.0, 2.0, 3.0, 4.0, 6.0, 7.0], "sky": list("aabbab")}, list("nnnyyy")


def peer(ours):
    """The same settings under scikit-learn's base."""
    made = type(type(ours).__name__, (BaseEstimator,), {"__init__": type(ours).__init__})
    return made(**ours.get_params(deep=False))


def test_all_estimators_of_the_package_stand_on_the_one_base():
    kinds = {"NaiveBayes", "BayesClassifier", "TextClassifier", "LogisticRegression", "LinearRegression", "Discretizer"}
    kinds |= {"TokenCounter", "GibbsClassifier", "SemiSupervised", "CostSensitive", "SubclassBayes"}
    assert kinds <= set(ESTIMATORS)


@pytest.mark.parametrize("kind", ESTIMATORS.values(), ids=ESTIMATORS)
def test_settings_are_listed_once_as_fields(kind):
    assert "__dataclass_fields__" in vars(kind), "a model is a dataclass"
    settings = [field.name for field in fields(kind) if field.init]
    assert sorted(settings) == sorted(inspect.signature(kind).parameters)
    assert set(settings) == set(vars(kind())), "nothing is there before a fit but the settings"
    for name, base in {"__repr__": Estimator, "__hash__": object, "__eq__": object}.items():
        assert getattr(kind, name) is getattr(base, name), f"{name} is not that of every model"


@pytest.mark.parametrize("ours", CHANGED, ids=repr)
def test_settings_and_their_display_are_those_of_scikit_learns_base(ours):
    theirs = peer(ours)
    assert ours.get_params() == theirs.get_params() or "nan" in repr(ours)
    assert ours.get_params(deep=False).keys() == theirs.get_params(deep=False).keys()
    assert list(ours.get_params(deep=False)) == ours._get_param_names() == theirs._get_param_names()
    assert repr(ours) == repr(theirs)


def test_a_long_setting_is_shown_by_its_ends():
    model = bk.NaiveBayes(domains={f"column {i}": ["yes", "no"] for i in range(1000)})
    assert len(repr(model)) < 400
    assert "..." in repr(model)


def test_nested_settings_are_read_and_set_by_their_path():
    model = bk.CostSensitive(bk.NaiveBayes())
    assert model.set_params(classifier__smoothing=3, reject_cost=0.2).get_params()["classifier__smoothing"] == 3
    assert model.set_params(classifier=bk.TAN(), classifier__prior="uniform").classifier.prior == "uniform"
    assert model.set_params() is model


@pytest.mark.parametrize("wrong", ["smothing", "smothing__x"])
def test_a_setting_that_is_not_there_is_refused_in_scikit_learns_words(wrong):
    with pytest.raises(ValueError, match=r"Invalid parameter 'smothing' for estimator NaiveBayes\(\)") as ours:
        bk.NaiveBayes().set_params(**{wrong: 1})
    with pytest.raises(ValueError) as theirs:
        peer(bk.NaiveBayes()).set_params(**{wrong: 1})
    assert str(ours.value) == str(theirs.value).removesuffix(".") + "; did you mean smoothing?"
    assert isinstance(ours.value, bk.BayesError)


@pytest.mark.parametrize("copy", [clone, sklearn_clone])
def test_copies_take_settings_requests_and_outputs_and_nothing_learned(copy):
    inner = bk.NaiveBayes(prior={"n": 0.5, "y": 0.5}).fit(X, y)
    model = bk.CostSensitive(inner)
    copied = copy(model)
    assert type(copied) is bk.CostSensitive
    assert copied.classifier is not inner
    assert not hasattr(copied.classifier, "tally_")
    assert copied.classifier.prior == inner.prior
    assert copied.classifier.prior is not inner.prior
    cutter = copy(bk.Discretizer("width").set_output(transform="pandas"))
    assert isinstance(cutter.fit_transform(pd.DataFrame({"x": [1.0, 2.0, 3.0]})), pd.DataFrame)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = copy(bk.NaiveBayes().set_fit_request(sample_weight=True))
        assert asking.get_metadata_routing().fit.requests == {"sample_weight": True, "class_weight": None}


def test_copies_of_models_of_others_are_made_by_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    members = [("ours", bk.NaiveBayes(smoothing=2)), ("theirs", LogisticRegression(C=3).fit([[0], [1]], [0, 1]))]
    copied = clone(bk.BayesOptimalClassifier(members))
    assert repr(copied.members) == repr(members)
    assert not hasattr(copied.members[1][1], "coef_")
    assert clone(LogisticRegression(C=3)).C == 3


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_has_tags_and_pickles_unfitted(name):
    model = ESTIMATORS[name]()
    tags = model.__sklearn_tags__()
    kinds = [tags.classifier_tags, tags.regressor_tags, tags.transformer_tags]
    assert sum(kind is not None for kind in kinds) == (name not in OF_SEQUENCES)
    assert is_classifier(model) == (tags.classifier_tags is not None)
    assert is_regressor(model) == (name == "LinearRegression")
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)
    assert not model.__sklearn_is_fitted__()
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert name in model._repr_html_()
    assert name in estimator_html_repr(make_pipeline(model))


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_model_that_has_learned_nothing_raises_scikit_learns_own_error(name):
    model = ESTIMATORS[name]()
    ask = next(getattr(model, ask) for ask in ("predict", "transform", "log_likelihood") if hasattr(model, ask))
    with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet. Call 'fit'"):
        ask(["a text"] if name in ("TokenCounter", "TextClassifier") else [[1.0]])


def test_a_property_of_a_model_that_has_learned_nothing_says_so():
    with pytest.raises(NotFittedError, match="not fitted"):
        _ = bk.NaiveBayes().n_parameters_
    with pytest.raises(NotFittedError, match="not fitted"):
        _ = bk.NaiveBayes().params_


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_requests_of_metadata_are_those_of_scikit_learns_base(name):
    ours = ESTIMATORS[name]()
    methods = {m: getattr(type(ours), m) for m in METADATA if inspect.isfunction(getattr(type(ours), m, None))}
    theirs = type(name, (BaseEstimator,), methods)()
    for method in METADATA:
        setter = f"set_{method}_request"
        assert hasattr(ours, setter) == hasattr(theirs, setter) == (setter in dir(ours)), setter
    with sklearn.config_context(enable_metadata_routing=True):
        assert repr(ours.get_metadata_routing()) == repr(theirs.get_metadata_routing())


def test_weights_are_routed_to_a_model_that_asks_for_them():
    rows, labels = np.array([[0.0], [1.0], [2.0], [3.0]] * 6), np.array([0, 0, 1, 1] * 6)
    weights = np.arange(24.0) + 1
    with pytest.raises(RuntimeError, match="only available when metadata routing is enabled"):
        bk.NaiveBayes().set_fit_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        model = bk.NaiveBayes().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        assert type(model) is bk.NaiveBayes
        told = cross_validate(model, rows, labels, params={"sample_weight": weights}, return_estimator=True, cv=3)
        assert all(fitted.tally_.weighted for fitted in told["estimator"])
        search = GridSearchCV(model, {"ddof": [0, 1]}, cv=3).fit(rows, labels, sample_weight=weights)
        assert search.best_estimator_.tally_.weighted
        with pytest.raises(TypeError, match="Unexpected args"):
            bk.NaiveBayes().set_fit_request(waight=True)


def test_transformers_give_the_frame_that_was_asked_for():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 9.0], "k": [0.0, 1.0, 0.0, 1.0]})
    cutter = bk.Discretizer("width", output="codes")
    assert isinstance(cutter.fit_transform(frame), np.ndarray)
    cutter.set_output(transform="pandas")
    assert cutter.fit_transform(frame).columns.tolist() == ["x", "k"]
    assert isinstance(cutter.set_output(transform="default").transform(frame), np.ndarray)
    with sklearn.config_context(transform_output="polars"):
        assert type(bk.Discretizer("width", output="codes").fit(frame).transform(frame)).__module__.startswith("polars")
    both = make_column_transformer((bk.Discretizer("width", output="codes"), ["x"]), remainder="passthrough")
    assert both.set_output(transform="pandas").fit_transform(frame).shape == (4, 2)
    with pytest.raises(ValueError, match="sparse"):
        bk.TokenCounter().set_output(transform="pandas").fit_transform(["a sparse matrix"])


def test_names_of_columns_that_do_not_fit_are_refused():
    cutter = bk.Discretizer("width").fit(pd.DataFrame({"x": [1.0, 2.0], "k": [0.0, 1.0]}))
    assert cutter.get_feature_names_out().tolist() == ["x", "k"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        cutter.get_feature_names_out(["k", "x"])
    plain = bk.Discretizer("width").fit(np.eye(2))
    assert plain.get_feature_names_out().tolist() == ["x0", "x1"]
    with pytest.raises(ValueError, match="should have length equal to number of features"):
        plain.get_feature_names_out(["a"])
