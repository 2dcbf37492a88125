"""Settings of any type: a model fits, or refuses them with a BayesError, in bounded time and memory."""

import signal
import threading
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.models.base.estimator import Estimator

pytestmark = pytest.mark.filterwarnings("ignore")


class Incomparable:
    """An object whose comparison raises an error, and which has no hash."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("compared")

    def __repr__(self):
        return "Incomparable()"


VALUES = [
    *(None, True, False, 0, 1, -1, 2, 10**9, 10**400, 0.0, 0.5, -0.5, 1e308, 1e-320, float("nan"), float("inf")),
    *("", "auto", "x", "\ud800", b"ab", 1j, ..., object(), int, bk.Laplace, bk.NaiveBayes, bk.Laplace()),
    *(Decimal("1.5"), Fraction(1, 2), np.int64(1), np.float32(0.5), np.bool_(True), np.datetime64("2020")),
    *([], [[]], [0.5, 0.5], [[0.5], [0.5]], [[0.5, 0.5], [0.1]], [None], ["x"], [1, "x"], (1, 2), (2, 1), (1e400, 2)),
    *({}, {"x": 1}, {"x": None}, {"x": "y"}, {"x": {"a": 1}}, {("a",): [1]}, {"x"}, range(3), range(10**9), slice(1)),
    *(np.array(1.5), np.array([]), np.array([1.0, 2.0]), np.array([[1.0]]), np.array(["x"]), np.array([None, {}])),
    Incomparable(),
]  # fmt: skip
ROWS = {"x": [*"ababac"] * 4, "z": [1.5, 2.0, 3.0, 1.0, 2.0, 2.5] * 4, "w": [*"pqqppq"] * 4}
NUMBERS = {"x": [*range(24)], "z": [1.5, 2.0, 3.0, 1.0, 2.0, 2.5] * 4}
LABELS = ["u", "v"] * 12
DOCUMENTS = ["good day", "bad night", "good good", "bad day"] * 4
SEQUENCES = [["a", "b", "a"], ["b", "b", "a"], ["a", "a"], ["b", "a"]]
DATA = {
    "TextClassifier": (DOCUMENTS, ["p", "n"] * 8),
    "TopicModel": (DOCUMENTS,),
    "MarkovChain": (SEQUENCES,),
    "HiddenMarkovModel": (SEQUENCES,),
    "SequenceClassifier": (SEQUENCES, ["p", "n", "p", "n"]),
    "Tagger": ([["a", "b"], ["b"]], [["N", "V"], ["V"]]),
    "LinearRegression": (NUMBERS, [*range(24)]),
    "GaussianBayes": (NUMBERS, LABELS),
    "Discretizer": ({"z": ROWS["z"]}, LABELS),
}
QUICK = {
    "BayesClassifier": {"fast": True},
    "HiddenMarkovModel": {"max_rounds": 3, "n_states": 2},
    "TopicModel": {"n_sweeps": 3, "n_topics": 2},
    "CostSensitive": {"costs": [[0, 1], [1, 0]]},
}
REPLACED = (
    "BernoulliNB",
    "CategoricalHMM",
    "CategoricalNB",
    "ComplementNB",
    "GaussianHMM",
    "GaussianNB",
    "MultinomialNB",
)
COUNTER = ("TokenCounter",)  # it hands its settings to CountVectorizer of scikit-learn
COMBINED = ("BayesOptimalClassifier", "GibbsClassifier")  # of models that are given to fit
CALLED = {
    "pattern": (int, bk.Laplace, bk.NaiveBayes),
    "progress": (int, bk.Laplace, bk.NaiveBayes),
}  # functions of the user
NAMES = [
    name
    for name in bk.__all__
    if isinstance(kind := getattr(bk, name), type)
    and issubclass(kind, Estimator)
    and name not in (*REPLACED, *COMBINED, *COUNTER)
]
SETTINGS = [(name, setting) for name in NAMES for setting in signature(getattr(bk, name)).parameters]


@contextmanager
def at_most(seconds):
    """Raise TimeoutError in the main thread after some seconds."""
    assert threading.current_thread() is threading.main_thread()

    def end(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fits_or_refuses(name, given_settings):
    """Fit a model of these settings: every exception but a BayesError is a fault."""
    data = DATA.get(name, (ROWS, LABELS))
    try:
        with at_most(20):
            model = getattr(bk, name)(**{**QUICK.get(name, {}), **given_settings}).fit(*data)
            if hasattr(model, "predict"):
                model.predict(data[0])
    except BayesError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_the_data_of_these_tests_fits(name):
    assert fits_or_refuses(name, {})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_a_setting_of_any_type_is_used_or_refused(name, setting):
    values = [value for value in VALUES if not any(value is one for one in CALLED.get(setting, ()))]
    for value in values:
        assert fits_or_refuses(name, {setting: value}) in (True, False)


VALUE_OBJECTS = [bk.BackOff, bk.Categorical, bk.Costs, bk.Date, bk.Dirichlet, bk.Hypotheses, bk.Lidstone]
VALUE_OBJECTS += [bk.MEstimate, bk.Numeric, bk.Schema, bk.Text, bk.Tokenizer, bk.BetaBernoulli, bk.DirichletCategorical]


@pytest.mark.parametrize("kind", VALUE_OBJECTS, ids=lambda kind: kind.__name__)
def test_an_argument_of_any_type_is_used_or_refused(kind):
    """Of roles, smoothing rules and other objects that settings take."""
    parameters = signature(kind).parameters.values()
    needed = {p.name: 1 for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
    for parameter in parameters:
        for value in VALUES:
            with at_most(20), suppress(BayesError):
                if parameter.kind is parameter.VAR_POSITIONAL:
                    kind(value)
                else:
                    kind(**{**needed, parameter.name: value})


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_settings_of_any_types_together_are_used_or_refused(name, data):
    names = [setting for setting in signature(getattr(bk, name)).parameters if setting not in CALLED]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=True))
    assert fits_or_refuses(name, {setting: data.draw(st.sampled_from(VALUES)) for setting in chosen}) in (True, False)
