"""docs/api.md names all that a person may use, and an editor offers no other names.

``BAYESKIT_WRITE=1 pytest tests/test_api_page.py`` writes it anew.
"""

import inspect
import os
import re
import types
import warnings
from functools import cache, cached_property
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import bayeskit as bk
from bayeskit.models.base import Estimator

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
if not PAGE.parent.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)

HEAD = """# Every public name

What is not listed here may change without notice. The first table has what `bayeskit.` is followed by; below it stands
what each model has, which an editor offers after `model.`, and then the methods of networks, distributions, beliefs and
other objects. This page is made from the docstrings.

"""
TOOLS = ("get_metadata_routing", "get_params", "set_output", "set_params")  # and the requests of metadata
TABLE = {"sky": ["sun", "rain", "sun", "rain"] * 5, "heat": [1.0, 2.0, 3.0, 4.5] * 5}
LABELS = ["out", "in", "in", "out"] * 5
TEXTS = ["good fun", "bad film", "bad bad", "good good"] * 5
WALKS = [["sun", "rain"], ["rain", "rain", "sun"], ["sun"], ["rain"]] * 5


@cache
def models():
    """Every estimator that is not a drop-in, fitted, by name."""
    from bayeskit.compat.hmmlearn import BaseHMM

    fitted = {}
    for name in bk.__all__:
        kind = getattr(bk, name)
        if not isinstance(kind, type) or not issubclass(kind, Estimator) or issubclass(kind, BaseHMM):
            continue
        rows = {
            "TextClassifier": TEXTS,
            "TokenCounter": TEXTS,
            "GaussianBayes": {"heat": TABLE["heat"]},
            "Tagger": TEXTS,
            "MarkovChain": WALKS,
            "SequenceClassifier": WALKS,
            "TopicModel": TEXTS,
        }
        settings = {
            "BayesClassifier": {"n_members": 2, "fast": True},
            "TopicModel": {"n_topics": 2, "n_sweeps": 2, "keep_assignments": True},
        }
        labels = {"LinearRegression": [1.0, 2.0, 2.5, 3.0] * 5, "Tagger": ["A N"] * 20, "MarkovChain": None}.get(
            name, LABELS
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted[name] = kind(**settings.get(name, {})).fit(rows.get(name, TABLE), labels)
    return fitted


def offered(model):
    return [name for name in sorted(dir(model)) if not name.startswith("_")]


def first_line(thing):
    """The first paragraph of a docstring, as a cell of a table."""
    text = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.sub(r":\w+:`(.+?)`", r"`\1`", text).replace("|", "∣").replace("``", "`")


def other_classes():
    """Classes that are not estimators, errors or drop-ins: name, and their public methods and properties by name."""
    for name in sorted(bk.__all__):
        kind = getattr(bk, name)
        if not isinstance(kind, type) or issubclass(kind, (BaseEstimator, Estimator, Exception)):
            continue
        members = {n: inspect.getattr_static(kind, n) for n in dir(kind) if not n.startswith("_")}
        own = (types.FunctionType, classmethod, staticmethod, property, cached_property)
        yield name, {n: getattr(kind, n) for n, member in members.items() if isinstance(member, own)}


def is_for_tools(name):
    return name in TOOLS or (name.startswith("set_") and name.endswith("_request"))


def page():
    lines = [HEAD, "| name | what it is |\n|---|---|\n"]
    lines += [f"| `{name}` | {first_line(getattr(bk, name))} |\n" for name in sorted(bk.__all__) if name[0] != "_"]
    methods = {}
    lines += ["\n## Models\n"]
    for name, model in models().items():
        settings, names = model.get_params(deep=False), [n for n in offered(model) if not is_for_tools(n)]
        calls = [n for n in names if n not in settings and isinstance(getattr(model, n), types.MethodType)]
        for call in calls:
            methods.setdefault(call, getattr(model, call))
        parts = {
            "settings": [n for n in names if n in settings],
            "learned": [n for n in names if n not in settings and n not in calls and n.endswith("_")],
            "methods": calls,
        }
        lines += [f"\n### `{name}`\n\n"]
        lines += [f"- {what}: {', '.join(f'`{n}`' for n in part)}\n" for what, part in parts.items() if part]
    lines += ["\n## Methods\n\n| method | what it does |\n|---|---|\n"]
    lines += [f"| `{n}` | {first_line(methods[n])} |\n" for n in sorted(methods)]
    asked = ", ".join(f"`{n}`" for n in TOOLS)
    lines += [f"\nscikit-learn's tools also ask for {asked} and the `set_…_request` of methods that take metadata.\n"]
    lines += ["\n## Networks, distributions, beliefs and other objects\n"]
    for name, members in other_classes():
        lines += [f"\n### `{name}`\n\n| name | what it does |\n|---|---|\n"] if members else []
        lines += [f"| `{n}` | {first_line(member)} |\n" for n, member in sorted(members.items())]
    return "".join(lines)


def test_the_page_names_what_an_editor_offers():
    if os.environ.get("BAYESKIT_WRITE"):
        PAGE.write_text(page(), "utf-8")
    assert PAGE.read_text("utf-8") == page(), "write it anew: BAYESKIT_WRITE=1 pytest tests/test_api_page.py"


def test_every_method_on_the_page_says_what_it_does():
    assert [line for line in page().splitlines() if line.endswith("|  |")] == []


def test_networks_distributions_and_beliefs_have_their_methods_on_the_page():
    text = page()
    for name in ("BayesianNetwork", "JointDistribution", "Hypotheses", "BetaBernoulli", "NormalInverseGamma"):
        _, _, section = text.partition(f"### `{name}`\n")
        table = section.partition("\n### ")[0]
        assert all(
            f"| `{n}` | " in table
            for n in vars(getattr(bk, name))
            if not n.startswith("_") and n.islower() and isinstance(vars(getattr(bk, name))[n], types.FunctionType)
        )


def test_what_is_offered_is_there():
    for model in models().values():
        assert [name for name in offered(model) if not hasattr(model, name)] == []
