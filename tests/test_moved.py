"""Modules that moved are found by their old names for one version, and say where they are."""

import importlib
import pickle
import sys

import pytest

import bayeskit as bk
from bayeskit.moved import MOVED, SPLIT


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_gives_the_module_and_says_where_it_is(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved to {MOVED[old]}"):
        module = importlib.import_module(old)
    assert module is sys.modules[MOVED[old]]
    assert module.__spec__.name == MOVED[old]


@pytest.mark.parametrize(("old", "name"), [
    ("bayeskit.models.naive_bayes", "NaiveBayes"),
    ("bayeskit.models.nbtree", "NBTree"),
    ("bayeskit.models.logistic", "LogisticRegression"),
])  # fmt: skip
def test_a_module_that_became_a_package_still_has_its_names(old, name):
    package = importlib.import_module(old)
    with pytest.warns(DeprecationWarning, match=f"{name} has moved to {SPLIT[old]}"):
        assert getattr(package, name) is getattr(bk, name)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = package.Nothing


def test_public_names_come_without_a_warning(recwarn):
    for name in bk.__all__:
        getattr(bk, name)
    assert not [warning for warning in recwarn if issubclass(warning.category, DeprecationWarning)]


def test_what_is_pickled_names_no_module_by_an_old_name():
    model = bk.NaiveBayes().fit({"x": ["u", "v"]}, ["a", "b"])
    assert not any(old.encode() + b"\n" in pickle.dumps(model, protocol=0) for old in MOVED)


def test_what_was_never_there_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("bayeskit.models.nothing")
