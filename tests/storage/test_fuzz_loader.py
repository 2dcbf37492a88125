"""Whatever a model file holds, it is refused as BadFile or makes a sound model: 10,000 files altered on purpose.

``make fuzz TARGET=loader`` goes on from there for hours. Everything ever found stands below as a case of its own.
"""

import copy
import tracemalloc
from random import Random

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import BadFile, BayesError, TooLarge
from bayeskit.memory import Need, check_memory
from bayeskit.models import from_bytes, to_bytes
from bayeskit.storage.container import pack, unpack
from fuzz.model_files import Parts, altered, check, parts_of, seeds

PORTIONS, EACH = 40, 250


@pytest.mark.slow
@pytest.mark.parametrize("portion", range(PORTIONS))
def test_files_altered_on_purpose_are_refused_or_sound(portion):
    names = sorted(seeds())
    opened = 0
    for i in range(portion * EACH, (portion + 1) * EACH):
        name = names[i % len(names)]
        random = Random(f"{name} {i}")
        data = altered(name, random)
        _, rows, labels = seeds()[name]
        try:
            opened += check(data, rows, labels, thoroughly=random.random() < 0.5)
        except Exception as problem:
            raise AssertionError(f"altered({name!r}, Random('{name} {i}')): {problem!r}") from problem
    assert opened >= EACH // 20, "hardly any of the altered files opens: the fuzzer says nothing of models"


@pytest.mark.slow
def test_the_files_themselves_are_sound():
    for name, (data, rows, labels) in seeds().items():
        assert parts_of(name).bytes() == data, name
        assert check(data, rows, labels, thoroughly=True), name


# -- everything that was ever found ------------------------------------------------------------------


def setting(name, **settings):
    parts = copy.deepcopy(parts_of(name))
    parts.header["content"]["settings"].update(settings)
    return name, parts.bytes()


def header(name, change):
    parts = copy.deepcopy(parts_of(name))
    change(parts.header)
    return name, parts.bytes()


def cells(name, which, value, at=...):
    parts = copy.deepcopy(parts_of(name))
    parts.arrays[which][at] = value
    parts.describe(which)
    return name, parts.bytes()


def lidstone(alpha):
    return {"object": "Lidstone", "fields": {"alpha": alpha}}


def tell(part, *path, value):
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value


REFUSED = {
    "a dtype that is an object": header("tan", lambda h: tell(h, "arrays", 0, "dtype", value={})),
    "a dtype that is a list": header("naive", lambda h: tell(h, "arrays", 0, "dtype", value=["i8"])),
    "a list of values as the content": header("naive", lambda h: tell(h, "content", value={"@list": 0})),
    "a list of values as the content of a file with lists": header(
        "naive-histogram", lambda h: h.update(content={"@list": 0}, lists=[[0, 0]])
    ),
    "a temperature beyond all floats": setting("naive", temperature=10**400),
    "a temperature of next to nothing": setting("naive", temperature=5e-324),
    "a temperature near the largest float": setting("kdb", temperature=1.7e308),
    "pseudo-counts whose sum is infinite": setting("naive", prior=lidstone(1e308)),
    "a low part of a sum": cells("naive", 6, -1.7e308),
    "one low part of a sum": cells("naive", 6, 1e308, at=(1, 2)),
    "a low part of a sum of squares": cells("naive", 8, 1.7e308, at=(0, 1)),
    "a low part of a count": cells("naive", 9, 1e300, at=(0, 0)),
    "a mean beyond the numbers that are read": cells("naive", 5, 1e160, at=(0, 0)),
    "weights of an ensemble that vanish": cells("bayes", 21, 1e-300),
    "class weights that sum to infinity": cells("text-weighted", 0, 1.7e308),
    "full covariances of counts without products": setting("hidden-markov", covariance="full"),
    "more sequences than can be counted": cells("sequence-classifier", 0, 2**63 - 1),
    "a limit on words that is a truth": setting("text-nbsvm", max_df=False),
    "linear weights of other words": setting("text-nbsvm", max_features=2),
    "a measured column that is coded": header(
        "subclass", lambda h: tell(h, "content", "tally", "schema", "columns", 4, "role", value="categorical")
    ),
    "places of words that wrap around": cells("text-multinomial", 2, [2**62 + 1, -(2**62)], at=slice(2, 4)),
    "places of cells that wrap around": cells("text-multinomial", 3, [2**62 + 1, -(2**62)], at=slice(2, 4)),
    "places of cuts that wrap around": cells("bayes", 18, [2**62 + 1, -(2**62)], at=slice(2, 4)),
    "places of chains that wrap around": cells("bayes", 23, [2**62 + 1, -(2**62)], at=slice(1, 3)),
    "a setting of no known word": setting("naive", ties="last"),
    "an estimate that the settings refuse": setting("gaussian", covariance=1e154),
    "documents that are lower-cased by a number": header(
        "semi-supervised-documents",
        lambda h: tell(h, "content", "settings", "classifier", "settings", "lowercase", value=0.5),
    ),
    "a setting that is a model of no name": setting("cost-sensitive", classifier={"model": "Popen", "settings": {}}),
    "a setting that is not a model": setting("cost-sensitive", classifier={"model": "BayesianNetwork", "settings": {}}),
    "a classifier that is not there": header("cost-sensitive", lambda h: h["content"].pop("parts")),
    "counts beside the models within": header(
        "cost-sensitive", lambda h: h["content"].update(tally=h["content"]["parts"][0][1]["tally"])
    ),
    "more arrays than there are": header("discriminative", lambda h: tell(h, "content", "parts", 0, 2, value=2**40)),
    "a twin of another kind": header("logistic", lambda h: tell(h, "content", "parts", 0, 1, "model", value="AODE")),
    "exponents without end": cells("discriminative", 0, 1e300),
    "costs that are not numbers": cells("cost-sensitive", 0, float("nan")),
    "a decision that is there twice": header(
        "cost-sensitive", lambda h: tell(h, "content", "state", "held", "decisions", 0, value="Gentoo")
    ),
    "probabilities that do not sum to one": cells("network", 0, 0.3),
    "a negative probability": cells("joint", 0, [-0.5, 1.5], at=slice(2)),
    "a cell of a value that is not there": cells("joint", 1, 250),
    "edges in a circle": header(
        "network", lambda h: tell(h, "content", "state", "held", "nodes", 0, 1, value=["sneezes"])
    ),
    "noise that is less than none": cells("linear", 8, -1.0),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_was_ever_found_is_refused(case):
    name, data = REFUSED[case]
    assert data != seeds()[name][0]
    with pytest.raises(BadFile):
        from_bytes(data)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_a_name_that_is_half_a_letter_is_shown_and_sent_nowhere():
    name, data = header(
        "naive-histogram", lambda h: tell(h, "content", "tally", "schema", "target", "name", value="\ud800")
    )
    assert check(data, *seeds()[name][1:], thoroughly=True)
    assert "\\ud800" in str(from_bytes(data).table())


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.parametrize(("name", "at"), [("text-tfidf", 4), ("text-weighted", 15)])
def test_a_count_of_a_word_that_a_subtraction_cancels_leaves_no_half_of_a_cell(name, at):
    _, data = cells(name, 5, 1e-300, at=at)
    assert check(data, *seeds()[name][1:], thoroughly=True)


def test_scores_that_are_no_numbers_are_refused_and_not_said():
    model = bk.NaiveBayes().fit({"x": ["a", "b", "a"]}, [0, 1, 1])
    model.params_.tables["x"].log_table[1] = np.nan
    with pytest.raises(BayesError, match=r"row 1 has no score for class 0: .*Scale weights"):
        model.predict_proba({"x": ["b", "a"]})


def test_settings_beyond_all_reason_are_refused_at_fit_as_well_as_in_a_file():
    for settings in ({"temperature": 10**400}, {"temperature": 1e7}, {"smoothing": 1e101}, {"smoothing": 10**400}):
        with pytest.raises(BayesError, match="number"):
            bk.NaiveBayes(**settings).fit({"x": ["a", "b"]}, [0, 1])
    warm = bk.NaiveBayes(temperature=1e6, smoothing=1e100).fit({"x": ["a", "b"]}, [0, 1])
    assert from_bytes(to_bytes(warm)).predict_proba({"x": ["a"]}).tolist() == [[0.5, 0.5]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_a_file_that_claims_more_than_the_machine_has_is_refused_before_it_is_taken():
    """A header may name many leaves, the counts many values: their product is looked at."""
    n_values, n_classes, n_leaves = 10_000, 50, 30_000
    rows = {"x": [f"v{i:05}" for i in range(n_values)]}
    flat = bk.NBTree(min_rows=n_values, smoothing=1.0).fit(rows, [f"c{i % n_classes}" for i in range(n_values)])
    parts = Parts.of(to_bytes(flat))
    assert parts.header["content"]["state"]["held"]["tree"] == 0
    branches = [[f"v{i % n_values:05}", i] for i in range(n_leaves)]
    parts.header["content"]["state"]["held"]["tree"] = {"column": "x", "default": 0, "branches": branches}
    tracemalloc.start()
    with pytest.raises(BadFile, match="would take 480 GB of memory"):
        from_bytes(parts.bytes())
    assert tracemalloc.get_traced_memory()[1] < 64e6
    tracemalloc.stop()


def test_no_limit_is_above_the_memory_of_the_machine():
    with pytest.raises(TooLarge, match="would take"):
        check_memory(Need("a table", 1e18, "Use fewer columns."), 1e300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("network", ("nodes", 0, 2)),
        ("logistic-sparse", ("classes",)),
        ("cost-sensitive", ("decisions",)),
        ("semi-supervised-documents", ("documents", "classes")),
    ],
)
def test_a_long_list_of_values_that_fits_no_array_is_refused_before_it_is_made(name, place):
    data = seeds()[name][0]
    content, arrays = unpack(data)
    part = content["state"]["held"]
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = list(range(1_000_000))
    long = pack(content, arrays)
    del content, part
    tracemalloc.start()
    try:
        with pytest.raises(BadFile):
            from_bytes(long)
        assert (
            tracemalloc.get_traced_memory()[1] < len(long) + 16e6
        )  # a million of Python's numbers take 32 MB and more
    finally:
        tracemalloc.stop()
