"""Forgetting: names that only forgotten rows had are gone, and what stays fixed is listed."""

import inspect
import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import NotLearned
from bayeskit.models import from_bytes, to_bytes
from bayeskit.storage.container import unpack

from .conftest import ANY_LAWS, RECIPES

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("laws")
GONE = ("zqvalue", "zqclass", "zqword")
KEPT_WORDS = st.sampled_from(["sun", "sea", "rain", "été", "wind", "fog"])
GONE_WORDS = st.sampled_from(["sun", "zqword", "zqword zqword", "rain zqword"])
TEXT_RECIPES = [recipe for recipe in RECIPES if hasattr(bk.TextClassifier(recipe), "forget")]
SEQUENCES = {
    "chain": bk.MarkovChain,
    "states": bk.HiddenMarkovModel,
    "classifier": bk.SequenceClassifier,
    "tagger": bk.Tagger,
    "topics": bk.TopicModel,
    "network": bk.BayesianNetwork,
}
# Their parameters are numbers, and categories that the user declares.
NAMELESS = {bk.BetaBernoulli, bk.DirichletCategorical, bk.NormalInverseGamma}


def test_every_model_that_forgets_is_in_a_law():
    public = (getattr(bk, name) for name in bk.__all__)
    forgets = {one for one in public if inspect.isclass(one) and hasattr(one, "forget")}
    tabular = {law.model_class for law in ANY_LAWS if hasattr(law.model(), "forget")}
    assert forgets == tabular | {bk.TextClassifier} | {*SEQUENCES.values()} | NAMELESS


def table_text(model, name):
    """Return a column's table as text, or the error for a column that has lost its last value."""
    try:
        return str(model.table(name))
    except bk.BayesError as problem:
        assert not model.tally_.families[name].values
        return str(problem)


def mentioned(model):
    """The names of forgotten rows in the decoded file, the schema, the tables and the exports of a model."""
    said = [str(model.schema_.to_json()), *exports(model)]
    if hasattr(model, "describe_structure"):
        said.append(str(model.describe_structure()))
    if not isinstance(model, bk.TextClassifier):
        said += [table_text(model, name) for name in model.schema_.used if name in model.tally_.families]
    return [name for name in GONE if any(name in text for text in said)] + written(model)


def written(model):
    """The names of forgotten rows in the decoded file and the attributes of a model."""
    header, arrays = unpack(to_bytes(model))
    # Bytes of a list of words, and of cells of a row.
    raw = b"\0".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    said = json.dumps(header, ensure_ascii=False) + str(vars(model))
    return [name for name in GONE if name.encode() in raw or name in said]


def exports(model):
    """Return the exports of a model as text; some have none."""
    for export, of in (("to_json", ()), ("to_sql", ("rows",)), ("to_onnx", ())):
        with suppress(AttributeError, bk.BayesError):
            yield str(getattr(model, export)(*of))


def with_gone_names(law, data):
    """Rows of which each has a value or a class of its own; a declared domain has no other values."""
    marks = [{"label": "zqclass"}, {"sky": "zqvalue"}, {"sky": "zqvalue", "label": "zqclass"}]
    some = st.sampled_from(marks[:1] if "sky" in law.settings.get("domains", {}) else marks)
    return [{**row, **data.draw(some)} for row in law.rows(data)]


@lawful
@given(data=st.data())
def test_no_name_of_forgotten_rows_alone_stays_in_the_file(any_law, data):
    if not hasattr(any_law.model(), "forget"):
        pytest.skip("it cannot forget")
    kept, gone = any_law.rows(data, min_size=4), with_gone_names(any_law, data)
    model = any_law.forget(any_law.fit(kept + gone), gone)
    assert mentioned(model) == []
    assert mentioned(any_law.learn(model, kept)) == []


@pytest.mark.parametrize("recipe", TEXT_RECIPES)
@lawful
@given(data=st.data())
def test_no_word_of_forgotten_documents_alone_stays_in_the_file(recipe, data):
    words = st.lists(KEPT_WORDS, min_size=1, max_size=6).map(" ".join)
    kept = data.draw(st.lists(st.tuples(words, st.sampled_from("ab")), min_size=2, max_size=8))
    gone_words = st.lists(GONE_WORDS, min_size=1, max_size=4).map(" ".join)
    labels = st.sampled_from(["a", "zqclass"])
    gone = data.draw(st.lists(st.tuples(gone_words, labels), min_size=1, max_size=6))
    texts, tags = zip(*(kept + gone), strict=True)
    model = bk.TextClassifier(recipe).fit(list(texts), list(tags))
    model.forget(*map(list, zip(*gone, strict=True)))
    assert mentioned(model) == []
    assert model.tally_.n_rows == len(kept)


@lawful
@given(data=st.data())
def test_refit_gives_the_fit_on_the_remaining_rows_or_says_why_not(any_law, data):
    if not hasattr(any_law.model(), "forget"):
        pytest.skip("it cannot forget")
    kept, gone = any_law.rows(data, min_size=4), any_law.rows(data)
    model, (args, weight) = any_law.fit(kept + gone), any_law.told(gone)
    before = to_bytes(model)
    if model.fixed_ and not isinstance(model, bk.BayesClassifier):
        with pytest.raises(bk.BayesError, match=model.fixed_[0]):
            model.forget(*args, **weight, refit=True)
        assert to_bytes(model) == before
        return
    model.forget(*args, **weight, refit=True)
    X = any_law.frame(kept + gone)
    np.testing.assert_allclose(model.predict_proba(X), any_law.fit(kept).predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("recipe", TEXT_RECIPES)
@lawful
@given(data=st.data())
def test_refit_of_kept_documents_gives_the_fit_on_the_remaining_ones(recipe, data):
    words = st.lists(KEPT_WORDS, min_size=1, max_size=6).map(" ".join)
    labeled = st.tuples(words, st.sampled_from("ab"))
    kept = [("sun sea", "a"), ("rain fog", "b"), *data.draw(st.lists(labeled, min_size=2, max_size=8))]
    gone = data.draw(
        st.lists(st.tuples(st.lists(GONE_WORDS, min_size=1).map(" ".join), st.sampled_from("ab")), max_size=4)
    )
    texts, tags = map(list, zip(*kept, *gone, strict=True))
    model = bk.TextClassifier(recipe, keep_rows=True).fit(texts, tags)
    fixed = model.fixed_
    if data.draw(st.booleans()):
        model = from_bytes(to_bytes(model))
    only, labels = [text for text, _ in gone], [tag for _, tag in gone]
    if only:
        model.forget(only, labels, refit=True)
    assert mentioned(model) == []
    alone = bk.TextClassifier(recipe).fit(*map(list, zip(*kept, strict=True)))
    np.testing.assert_allclose(model.predict_proba(texts), alone.predict_proba(texts), rtol=1e-9, atol=1e-12)
    before = to_bytes(model)
    with pytest.raises(NotLearned):
        model.forget(["sun sea zqword"], ["a"])
    assert to_bytes(model) == before
    if fixed:
        with pytest.raises(bk.BayesError, match="does not keep its documents"):
            alone.forget(texts[:1], tags[:1], refit=True)


@pytest.mark.parametrize("kind", SEQUENCES)
@lawful
@given(data=st.data())
def test_no_name_of_forgotten_sequences_alone_stays_in_the_file(kind, data):
    pairs = st.tuples(KEPT_WORDS, st.sampled_from("st"))
    kept = data.draw(st.lists(st.lists(pairs, min_size=2, max_size=5), min_size=2, max_size=6))
    last = st.sampled_from([("zqword", "s"), ("zqvalue", "zqclass"), ("sun", "zqclass")])
    gone = data.draw(st.lists(st.tuples(st.lists(pairs, max_size=3), last), min_size=1, max_size=3))
    gone = [[*before, end] for before, end in gone]
    words, tags = ([[pair[i] for pair in one] for one in kept + gone] for i in range(2))
    n_kept = len(kept)
    if kind == "chain":
        model = bk.MarkovChain().fit(words).forget(words[n_kept:])
    elif kind == "states":
        model = bk.HiddenMarkovModel().fit(words, tags).forget(words[n_kept:], tags[n_kept:])
    elif kind == "classifier":
        y = ["ab"[i % 2] for i in range(n_kept)] + ["zqclass"] * len(gone)
        model = bk.SequenceClassifier(bk.MarkovChain()).fit(words, y).forget(words[n_kept:], y[n_kept:])
    elif kind == "tagger":
        model = bk.Tagger().fit(words, tags).forget(words[n_kept:], tags[n_kept:])
    elif kind == "topics":
        texts = [" ".join(one) for one in words]
        model = bk.TopicModel(2, n_sweeps=5, keep_assignments=True).fit(texts).forget(texts[n_kept:])
    else:
        tables = [
            {name: [pair[i] for one in part for pair in one] for i, name in enumerate(("word", "tag"))}
            for part in (kept + gone, gone)
        ]
        model = bk.BayesianNetwork.from_data([("tag", "word")], tables[0]).forget(tables[1])
    assert written(model) == []
