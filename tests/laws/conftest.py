"""What the laws run on: a list of models that later ones join, and tables for them to learn."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.models.text.classifier import RECIPES
from bayeskit.tally.moments import pair_columns

COLUMNS = ["sky", "flag", "size", "year"]
NUMBERS = ("size", "year")
SKIES = ["sun", "rain", "hail", "", "été"]


@dataclass(frozen=True)
class Law:
    """A model in one setting, and how rows reach it."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    model_class: type = bk.NaiveBayes
    columns: tuple[str, ...] = tuple(COLUMNS)
    weighted: bool = False
    missing: bool = True
    spikes: bool = False  # `year` is constant within a class: only the floor of variances gives it a spread
    held: bool = False  # a structure of these very columns was given: fewer of them are another model

    def model(self, columns=None, **changes):
        """The model; settings of columns that are not there are left out."""
        names = list(columns or self.columns)
        kept = {
            key: {n: v for n, v in value.items() if n in names} if isinstance(value, dict) and key != "tree" else value
            for key, value in self.settings.items()
        }
        kinds = {"numeric": "gaussian"} if self.model_class is bk.NaiveBayes else {}  # not chosen by the rows
        return self.model_class(**{**kinds, **kept, **changes})

    def rows(self, data, min_size=1, max_size=12, label=None):
        """Drawn rows: cells by column, the label, and a weight whose sums are exact."""
        gap = st.none() if self.missing else st.nothing()
        row = st.fixed_dictionaries(
            {
                "sky": st.sampled_from(SKIES) | gap,
                "flag": st.booleans() | gap,
                "size": st.integers(-9999, 9999).map(lambda k: k / 100) | gap,
                "year": st.integers(2000, 2004),
                "label": st.sampled_from(["a", "b", "c"]) if label is None else st.just(label),
                "weight": st.sampled_from([0.25, 0.5, 1.0, 3.0]),
            }
        )
        if self.spikes:
            row = row.map(lambda cells: cells | {"year": 2000 + "abc".find(cells["label"])})
        return data.draw(st.lists(row, min_size=min_size, max_size=max_size))

    def frame(self, rows, columns=None):
        """Rows as a table of these columns."""
        kinds = {"sky": pa.string(), "flag": pa.bool_(), "size": pa.float64(), "year": pa.int64()}
        return pa.table({n: pa.array([row[n] for row in rows], kinds[n]) for n in columns or self.columns})

    def told(self, rows, columns=None, weights=True):
        """(X, y) and the keyword arguments with which the rows are learned."""
        weight = {"sample_weight": [row["weight"] for row in rows]} if self.weighted and weights else {}
        return (self.frame(rows, columns), [row["label"] for row in rows]), weight

    def fit(self, rows, columns=None, **changes):
        """A model of the rows."""
        args, weight = self.told(rows, columns)
        return self.model(columns, **changes).fit(*args, **weight)

    def learn(self, model, rows):
        """The same model after more rows."""
        args, weight = self.told(rows)
        return model.partial_fit(*args, **weight)

    def forget(self, model, rows):
        """The same model without these rows."""
        args, weight = self.told(rows)
        return model.forget(*args, **weight)

    def __str__(self):
        return self.name


CATEGORICAL = {"roles": {"size": "ignore", "year": "categorical"}}
POISSON = {"roles": {"sky": "ignore", "flag": "ignore", "size": "ignore"}, "numeric": "poisson"}
NUMERIC = {"roles": {"sky": "ignore", "flag": "ignore"}}
CUT = {"roles": {"year": "categorical"}, "cuts": {"size": [-50, 0, 12.5]}}
STRUCTURE = {"parents": {"flag": ["sky"], "year": ["sky", "flag"], "size": ["year"]}}
ARCS = [("sky", "class"), ("sky", "flag"), ("class", "size"), ("flag", "size"), ("flag", "year")]
ROOTED = [*ARCS[1:], ("class", "year")]
LAWS = [
    Law("categorical", CATEGORICAL),
    Law("categorical without smoothing", CATEGORICAL | {"smoothing": 0}),
    Law("categorical with automatic smoothing", CATEGORICAL | {"smoothing": "auto"}),
    Law("categorical, missing and unseen as values", CATEGORICAL | {"missing": "value", "unseen": "smooth"}),
    Law("categorical with declared domains", {"domains": {"sky": [*SKIES, "fog"], "year": range(2000, 2010)}}),
    Law("gaussian", NUMERIC),
    Law("gaussian, maximum likelihood, one variance a feature", NUMERIC | {"variance": "feature", "ddof": 0}),
    Law("gaussian without gaps, one variance a class", NUMERIC | {"variance": "class"}, missing=False),
    Law("gaussian with spikes", NUMERIC, spikes=True),
    Law("histogram", NUMERIC | {"numeric": "histogram", "cuts": {"size": [-50, 0, 12.5], "year": [2001]}}),
    Law("kernel density", NUMERIC | {"numeric": "kernel"}),
    Law(
        "kernel density of few values, weighted",
        {"numeric": {"size": "kernel", "year": "gaussian"}, "max_values": 16},
        weighted=True,
    ),
    Law("student", NUMERIC | {"numeric": "student"}),
    Law("student beside a gaussian, weighted", {"numeric": {"size": "student", "year": "gaussian"}}, weighted=True),
    Law("student with spikes", NUMERIC | {"numeric": "student", "ddof": 0}, spikes=True),
    Law("poisson", POISSON),
    Law(
        "lognormal", NUMERIC | {"roles": {"sky": "ignore", "flag": "ignore", "size": "ignore"}, "numeric": "lognormal"}
    ),
    Law("lognormal beside a student, weighted", {"numeric": {"year": "lognormal", "size": "student"}}, weighted=True),
    Law("poisson beside a student, weighted", {"numeric": {"year": "poisson", "size": "student"}}, weighted=True),
    Law("mixed, columns of their own", {"prior": bk.Laplace(), "smoothing": {"sky": "auto", "flag": bk.MEstimate(2)}}),
    Law("mixed, weighted", {}, weighted=True),
    Law("mixed with a text", {"roles": {"sky": bk.Text(bk.Tokenizer("char_wb", (1, 2)))}}),
    Law("mixed with a text, weighted", {"roles": {"sky": "text"}}, weighted=True),
    Law("multivariate gaussian", NUMERIC, bk.GaussianBayes),
    Law("multivariate gaussian, tied, weighted", NUMERIC | {"covariance": "tied"}, bk.GaussianBayes, weighted=True),
    Law("multivariate gaussian, shrunk", NUMERIC | {"covariance": "shrunk", "ddof": 0}, bk.GaussianBayes),
    Law("multivariate gaussian with spikes, weighted", NUMERIC, bk.GaussianBayes, weighted=True, spikes=True),
    Law("tan", CUT, bk.TAN),
    Law("tan, Laplace, weighted", CUT | {"smoothing": 1.0}, bk.TAN, weighted=True),
    Law("tan without smoothing", CATEGORICAL | {"smoothing": 0}, bk.TAN),
    Law("aode", CUT, bk.AODE),
    Law("k-dependence on a given structure", CUT | STRUCTURE, bk.KDB, held=True),
    Law("network on given arcs", CUT | {"edges": ARCS}, bk.NetworkClassifier, held=True),
    Law(
        "network, Laplace, weighted",
        CUT | {"edges": ROOTED, "smoothing": 1.0},
        bk.NetworkClassifier,
        weighted=True,
        held=True,
    ),
    Law("full joint", CUT, bk.FullJointBayes),
    Law("full joint, Laplace, weighted", CATEGORICAL | {"smoothing": 1.0}, bk.FullJointBayes, weighted=True),
    Law("aode, thrice seen, Laplace, weighted", CUT | {"smoothing": 1.0, "min_count": 3}, bk.AODE, weighted=True),
]

SMALL = {"n_members": 2, "n_chains": 3, "n_trees": 3, "n_threads": 1}
ENSEMBLE_LAWS = [  # structure, cuts, m and exponents are held: laws of its own
    Law("ensemble, mixed", SMALL, bk.BayesClassifier),
    Law("ensemble, weighted", SMALL, bk.BayesClassifier, weighted=True),
    Law("ensemble without chains", SMALL | {"fast": True, "domains": {"sky": [*SKIES, "fog"]}}, bk.BayesClassifier),
]


@pytest.fixture(scope="session", params=ENSEMBLE_LAWS, ids=str)
def ensemble_law(request):
    """The counting ensemble in each setting."""
    return request.param


QUESTIONS = {
    "column": "sky",
    "default": 0,
    "branches": [["rain", 0], ["sun", {"column": "size", "default": 1, "branches": [[0, 1], [2, 2]]}], ["", 3]],
}
TREE_LAWS = [  # tree and cut points are held: laws of its own, on the counts of the leaves
    Law("nbtree on a given tree", CUT | {"tree": QUESTIONS}, bk.NBTree),
    Law("nbtree, Laplace, weighted", CUT | {"tree": QUESTIONS, "smoothing": 1.0}, bk.NBTree, weighted=True),
]


MIXTURE_LAWS = [  # classes of more than one part: EM, so no laws of learning in pieces
    Law("subclasses", {"max_subclasses": 2, "restarts": 1}, bk.SubclassBayes),
    Law("subclasses, categorical", CATEGORICAL | {"max_subclasses": 2, "restarts": 1}, bk.SubclassBayes),
]


@pytest.fixture(scope="session", params=TREE_LAWS, ids=str)
def tree_law(request):
    """Naive Bayes in the leaves of a given tree."""
    return request.param


@pytest.fixture(scope="session", params=LAWS, ids=str)
def law(request):
    """Each model in each setting."""
    return request.param


ANY_LAWS = [*LAWS, *ENSEMBLE_LAWS, *TREE_LAWS, *MIXTURE_LAWS]


@pytest.fixture(scope="session", params=ANY_LAWS, ids=str)
def any_law(request):
    """Every classifier of tables in each setting, also those that hold what they chose."""
    return request.param


WORDS = ["sun", "sea", "rain", "été", "wind", "fog", "ice", "a", "Straße", "x1"]


@pytest.fixture(scope="session", params=RECIPES)
def recipe(request):
    """Every recipe for text."""
    return request.param


def _same_counts(a, b):
    assert a.classes == b.classes
    assert np.array_equal(a.class_counts, b.class_counts)
    assert a.families.keys() == b.families.keys()
    for name, family in a.families.items():
        assert family.values == b.families[name].values, name
        assert np.array_equal(family.counts, b.families[name].counts), name
    assert a.words.keys() == b.words.keys()
    for name, counted in a.words.items():
        other = b.words[name]
        assert counted.words == other.words, name
        for part in ("indptr", "classes", "counts", "documents", "n_documents", "n_tokens"):
            assert np.array_equal(getattr(counted, part), getattr(other, part)), (name, part)
    for one, other in itertools.permutations(a.pairs.columns, 2):
        assert np.array_equal(a.pairs.table(one, other), b.pairs.table(one, other)), (one, other)
    assert a.joints.keys() == b.joints.keys()
    for names, joint in a.joints.items():
        assert np.array_equal(joint.cells, b.joints[names].cells), names
        assert np.array_equal(joint.counts, b.joints[names].counts), names
    assert set(a.moment_columns) == set(b.moment_columns)
    assert a.values == b.values or a.class_counts.dtype != b.class_counts.dtype
    for name, found in a.values.items():
        assert np.array_equal(found.values, b.values[name].values), name
        assert np.array_equal(found.counts, b.values[name].counts), name
    assert set(a.summed) == set(b.summed)
    for name in a.summed:
        assert np.array_equal(a.moments_of([name]).n, b.moments_of([name]).n), name
    order = [b.moment_columns.index(name) for name in a.moment_columns]
    assert np.array_equal(a.moments.n, b.moments.n[:, order])
    assert (a.products is None) == (b.products is None)
    if a.products is not None:
        assert np.array_equal(a.products.n, b.products.columns(pair_columns(len(order), order)).n)


@pytest.fixture(scope="session")
def same_counts():
    """Counts of two tallies, to the bit; what is summed in floats is compared through probabilities."""
    return _same_counts


@pytest.fixture(scope="session")
def same_model():
    """Counts to the bit, and log probabilities of some rows to 1e-9."""

    def check(a, b, X):
        _same_counts(a.tally_, b.tally_)
        assert a.classes_.tolist() == b.classes_.tolist()
        np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)

    return check
