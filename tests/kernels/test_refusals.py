"""Arguments that kernels refuse, and what the core, its stub and its documentation have in common."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit
from bayeskit import kernels
from bayeskit.data.text.tokens import Cut, UnicodeTables, unicode_tables
from bayeskit.data.text.word_list import pack_words

ONE = np.array([1], dtype=np.uint8)
X = np.array([1.0])


def grown(k: Any, **changes: Any) -> Any:
    """P(a) and below it P(b | a), with something changed."""
    arguments = {
        "cliques": np.array([[2, -1, 1], [4, 0, 2]]), "potentials": np.full(6, 0.5), "floors": np.full(2, 0.5),
        "to_separator": np.array([0, 1], np.int32), "variables": np.array([[0, 2], [1, 2]]),
        "states": np.array([0, 1, 0, 1, 0, 1], np.int32), "observed": np.array([1]), "likelihoods": np.ones((1, 2)),
        "queried": np.array([0]), "n_threads": 1,
    }  # fmt: skip
    return k.propagate(**(arguments | changes))


CODES = np.array([[[0, 0, 0, 0, 1, 1, 1, 1]]], dtype=np.uint8)  # one column, one member
FAMILY = CODES, np.array([[2]]), np.zeros((1, 1, 0), np.int32), np.array([0])
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.uint32)
NUMBERS = np.array([1.0, 2, 3, 4, np.inf, 6, 7, np.inf])


def backed_off(k: Any, at: int, value: int) -> Any:
    """Scores by what was learned of one column, with an index of it changed."""
    _, learned = k.learn_backoff(*FAMILY, LABELS, 2, None, np.array([0]), 1)
    changed = (*learned[:at], np.full_like(learned[at], value), *learned[at + 1 :])
    return k.score_backoff(*FAMILY, 2, changed, 1)


def chained(k: Any, prior: np.ndarray, **changes: Any) -> Any:
    """Scores by one chain of one step, with an array of its tree changed."""
    step = np.array([0, 1]), np.array([0], np.int32), np.ones(1), np.array([[4.5, np.nan, np.nan]])
    even, none = np.array([0.5, 0.5]), np.zeros(0, np.int64)
    _, _, learned = k.count_chains([NUMBERS], np.array([0]), LABELS, 2, None, none, *step, even, 1)
    names = "nodes", "pairs", "first", "number", "value", "start", "label", "count"
    trees = tuple(changes.get(name, part) for name, part in zip(names, learned[4], strict=True))
    return k.score_chains([NUMBERS], np.array([0]), [NUMBERS], 8.0, prior, (*learned[:4], trees), 1)


BAD: dict[str, tuple[str, Callable[[Any], object]]] = {
    "a code beyond its table": ("code 1", lambda k: k.count_codes([ONE], [1], ONE, 2, None, 1)),
    "a label beyond the classes": ("labels hold 1", lambda k: k.count_codes([ONE], [2], ONE, 1, None, 1)),
    "a label beyond, for moments": ("labels hold 1", lambda k: k.moments([X], ONE, 1, None, 1)),
    "unequal lengths": ("column 1", lambda k: k.count_codes([ONE, ONE[:0]], [2, 2], ONE, 2, None, 1)),
    "too few sizes": ("sizes", lambda k: k.count_codes([ONE], [], ONE, 2, None, 1)),
    "short weights": ("weights", lambda k: k.count_codes([ONE], [2], ONE, 2, X[:0], 1)),
    "no classes": ("n_classes", lambda k: k.moments([X], ONE, 0, None, 1)),
    "no threads": ("n_threads", lambda k: k.normalize(np.zeros((1, 2)), 0)),
    "scores without classes": ("scores", lambda k: k.normalize(np.zeros((3, 0)), 1)),
    "no room for probabilities": ("out", lambda k: k.normalize(np.zeros((3, 2)), 1, np.zeros((3, 3)))),
    "scores of another length": (
        "column 0",
        lambda k: k.score_codes([ONE], [np.zeros((2, 2))], np.zeros((3, 2)), 1),
    ),
    "a table of other classes": (
        "table 0",
        lambda k: k.score_codes([ONE], [np.zeros((2, 3))], np.zeros((1, 2)), 1),
    ),
    "a code beyond a table of scores": (
        "code 1",
        lambda k: k.score_codes([ONE], [np.zeros((1, 2))], np.zeros((1, 2)), 1),
    ),
    "means of another shape": (
        "mean",
        lambda k: k.score_gaussian([X], np.zeros((1, 2)), *np.zeros((2, 1, 1)), np.zeros((1, 1)), 1),
    ),
    "a table for too few labels": (
        "table 0",
        lambda k: k.score_codes_left_out([ONE], [np.zeros((1, 2, 2))], ONE, np.zeros((1, 2)), 1),
    ),
    "a label beyond, left out": (
        "labels hold 1",
        lambda k: k.score_codes_left_out([ONE], [np.zeros((1, 2, 1))], ONE, np.zeros((1, 1)), 1),
    ),
    "rates of another shape": (
        "rate",
        lambda k: k.score_gaussian_left_out(
            [X], 0 * ONE, *np.zeros((3, 1, 1)), np.zeros((2, 1)), *np.zeros((2, 1, 1)), 0.1, np.zeros((1, 1)), 1
        ),
    ),
    "a label beyond, judged": ("labels hold 1", lambda k: k.judge(np.zeros((1, 1)), ONE, 1e-12, 1)),
    "a label beyond the factors": (
        "labels hold 2",
        lambda k: k.exponent_loss(np.zeros((1, 2, 1), np.float32), np.full(1, 2, np.uint32), None, X, 1),
    ),
    "short weights of factors": (
        "weights",
        lambda k: k.exponent_loss(np.zeros((1, 2, 1), np.float32), np.zeros(1, np.uint32), X[:0], X, 1),
    ),
    "cuts out of order": ("not sorted", lambda k: k.bin_codes([X], [np.array([2.0, 1.0])], 1)),
    "too few tables": (
        "tables",
        lambda k: k.lookup_codes([ONE], np.zeros(1, dtype=np.int64), [], np.zeros(1, dtype=np.uint32), 1),
    ),
    "sizes whose product wraps around": (
        "too large together",
        lambda k: k.count_pairs([ONE, ONE], [2**32, 2**32], 0 * ONE, 1, 1),
    ),
    "a set whose product wraps around": (
        "too large together",
        lambda k: k.count_codes([ONE, ONE], [2**32, 2**32], 0 * ONE, 1, None, 1, [[0, 1]]),
    ),
    "a set without columns": ("no columns", lambda k: k.count_codes([ONE], [2], ONE, 2, None, 1, [[]])),
    "a set of columns that are not there": ("sets", lambda k: k.count_codes([ONE], [2], ONE, 2, None, 1, [[1]])),
    "a size beyond all codes": ("size", lambda k: k.count_codes([ONE], [2**33], 0 * ONE, 1, None, 1)),
    "contexts whose product wraps around": (
        "32-bit",
        lambda k: k.context_codes([ONE], ONE, 4, [np.array([[0, 0]], np.int32)], 2**62, 1),
    ),
    "no intervals": ("intervals", lambda k: k.frequency_cuts([X], [0], 1e-9, 1)),
    "intervals of another column": ("intervals", lambda k: k.frequency_cuts([X], [2, 2], 1e-9, 1)),
    "a tolerance of all rows": ("tolerance", lambda k: k.frequency_cuts([X], [2], 1.0, 1)),
    "weights that are not numbers": ("weights", lambda k: k.mdl_cuts([X], 0 * ONE, 1, X * np.inf, 1)),
    "more threads than any machine has": ("n_threads", lambda k: k.normalize(np.zeros((300, 2)), 2**40)),
    "no members": (
        "no members",
        lambda k: k.learn_backoff(CODES[:0], *(a[:0] for a in FAMILY[1:]), LABELS, 2, None, np.array([0]), 1),
    ),
    "an entry before the first": ("outside", lambda k: backed_off(k, 4, -(2**28))),
    "entries without end": ("outside", lambda k: backed_off(k, 5, 2**31 - 1)),
    "families that end behind their entries": ("do not fit", lambda k: backed_off(k, 2, 2**40)),
    "pairs that end behind their counts": ("outside", lambda k: backed_off(k, 7, 2**30)),
    "a class behind those asked for": ("classes", lambda k: backed_off(k, 8, 7)),
    "a prior of too few classes": ("classes", lambda k: chained(k, np.array([1.0]))),
    "a prior of none": ("classes", lambda k: chained(k, np.zeros(0))),
    "children before the first node": ("outside", lambda k: chained(k, X.repeat(2), first=np.full(4, -9, np.int32))),
    "children without end": ("outside", lambda k: chained(k, X.repeat(2), number=np.full(4, 2**30, np.int32))),
    "a learned row that is not there": (
        "outside",
        lambda k: chained(k, X.repeat(2), number=np.full(4, -1, np.int32), first=np.full(4, 8, np.int32)),
    ),
    "a tree without a root": ("trees", lambda k: chained(k, X.repeat(2), nodes=np.array([4, 4]))),
    "a tree without tables": ("table", lambda k: grown(k, cliques=np.zeros((0, 3), dtype=np.int64))),
    "a table before its parent": ("tree", lambda k: grown(k, cliques=np.array([[2, -1, 1], [4, 1, 2]]))),
    "a separator that does not divide": ("tree", lambda k: grown(k, cliques=np.array([[2, -1, 1], [4, 0, 3]]))),
    "too few potentials": ("potentials", lambda k: grown(k, potentials=np.zeros(5))),
    "a separator's cell that is not there": (
        "to_separator",
        lambda k: grown(k, to_separator=np.array([0, 2], np.int32)),
    ),
    "a negative cell": ("to_separator", lambda k: grown(k, to_separator=np.array([0, -1], np.int32))),
    "a state that is not there": ("states", lambda k: grown(k, states=np.array([0, 1, 0, 1, 0, 2], np.int32))),
    "a home that is not there": ("home", lambda k: grown(k, variables=np.array([[0, 2], [2, 2]]))),
    "an observed variable that is not there": ("observed", lambda k: grown(k, observed=np.array([2]))),
    "a queried variable that is not there": ("queried", lambda k: grown(k, queried=np.array([-1]))),
    "likelihoods of another width": ("likelihoods", lambda k: grown(k, likelihoods=np.zeros((1, 3)))),
    "an integer beyond 63 bits": (
        "beyond",
        lambda k: k.int_ranges([np.array([2**63], dtype=np.uint64)], 1),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_by_name(what: str) -> None:
    message, call = BAD[what]
    with pytest.raises(ValueError, match=message):
        call(kernels)


def test_contexts_and_parents_that_do_not_fit_are_refused() -> None:
    a, step = np.array([0, 1], dtype=np.uint8), np.array([[-1, 0]], dtype=np.int32)
    for steps, nodes, error in (
        ([step], 1, ValueError),
        ([step + 1], 2, ValueError),
        ([step.astype(np.int64)], 2, TypeError),
        ([step[:, :1].copy()], 2, ValueError),
        ([], 2, ValueError),
    ):
        with pytest.raises(error):
            kernels.context_codes([a], a, 2, steps, nodes, 1)
    with pytest.raises(ValueError, match="column 0"):
        kernels.count_pairs([a, a], [1, 2], a, 2, 1)
    with pytest.raises(ValueError, match="column 1"):
        kernels.factor_codes([a, a], [2, 1])
    with pytest.raises(ValueError, match="table 0"):
        kernels.score_parents([a], [2], [np.zeros((3, 1))], np.zeros((2, 1)), 1)
    with pytest.raises(ValueError, match="log_weights"):
        kernels.score_aode([a], [2], [np.zeros((4, 1))], np.zeros((2, 1)), np.zeros(3), np.zeros((2, 1)), 1)


def test_words_that_do_not_fit_are_refused() -> None:
    data, offsets = pack_words([b"a", b"game"])
    cut = Cut(0, 1, 1, True, 0, data, offsets)
    for bad in (offsets - 1, offsets + 1, offsets[::-1].copy(), offsets[:0], np.array([0, 2**62])):
        for call in (
            lambda bad: kernels.WordIndex(data, bad),
            lambda bad: kernels.WordIndex(data, offsets).find(data, bad),
            lambda bad: kernels.union_words(data, offsets, data, bad),
            lambda bad: kernels.hash_texts(data, bad),
            lambda bad: kernels.token_rows(data, bad, cut, None, True, 1),
            lambda bad: kernels.token_rows(data, offsets, cut._replace(stop_offsets=bad), None, True, 1),
            lambda bad: kernels.token_classes(data, bad, ONE, 2, cut, 1),
        ):
            with pytest.raises(ValueError, match="offset"):
                call(bad)
    cells = np.array([0, 2]), np.array([0, 1], np.int32), np.ones(2), np.ones((2, 3))
    for at, bad, error in (
        (0, np.array([0, 3]), "indptr"),
        (0, np.array([-1, 2]), "indptr"),
        (1, np.array([0, 2], np.int32), "ids"),
        (1, np.array([0, -1], np.int32), "ids"),
        (2, np.ones(1), "values"),
        (3, np.ones((2, 2)), "table"),
    ):
        scores = np.zeros((1, 3))
        with pytest.raises(ValueError, match=error):
            kernels.score_rows(*cells[:at], bad, *cells[at + 1 :], scores, 1)
        assert not scores.any()


def test_a_lower_case_longer_than_its_room_is_refused() -> None:
    kinds, lower, _ = unicode_tables(np.frombuffer("Σ".encode(), dtype=np.uint8))
    text = pack_words([b"\xff" * 300])
    for point in (0xE9, 0xFFFD):
        longer = lower.copy()
        longer[point] = 0x110000
        tables = UnicodeTables(kinds, longer, np.full((1, 3), 0x10FFFF, np.uint32))
        cut = Cut(0, 1, 1, True, 0, *pack_words([]), tables)
        with pytest.raises(ValueError, match="too long"):
            kernels.token_rows(*text, cut, None, True, 1)


def unaligned(array: np.ndarray) -> np.ndarray:
    out = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype)
    out[:] = array
    return out


def test_infinity_is_a_value_of_its_own_to_a_chain() -> None:
    parts, candidates = np.ones((1, 8), np.uint8), np.zeros((1, 2, 1), np.int32)
    cuts, even = np.full((1, 2, 1, 3), 4.5), np.array([0.5, 0.5])
    learned = kernels.learn_chains(
        [NUMBERS], np.array([0]), LABELS, 2, None, np.arange(8), parts, candidates, cuts, even, 1
    )[2]
    assert learned[4][4].tolist() == [0, 0, 3, 5]  # below the cuts, above them, and infinity


def test_columns_that_are_not_aligned_are_refused() -> None:
    labels = np.zeros(2, np.uint8)
    for call in (
        lambda: kernels.moments([unaligned(np.ones(2))], labels, 1, None, 1),
        lambda: kernels.count_codes([unaligned(np.zeros(2, np.uint16))], [2], labels, 1, None, 1),
        lambda: kernels.int_ranges([unaligned(np.ones(2, np.int64))], 1),
    ):
        with pytest.raises(ValueError, match="aligned"):
            call()


def test_arrays_of_another_kind_are_refused() -> None:
    """Element type, axes, contiguity and alignment: nothing is converted or copied."""
    labels, scores = np.zeros(2, np.uint8), np.ones((2, 2))
    read_only = scores.copy()
    read_only.flags.writeable = False
    for call in (
        lambda: kernels.normalize(scores.astype(np.float32), 1),
        lambda: kernels.normalize(scores.astype(np.int64), 1),
        lambda: kernels.normalize(scores.tolist(), 1),
        lambda: kernels.normalize(scores[0], 1),
        lambda: kernels.normalize(scores[:, ::-1], 1),
        lambda: kernels.normalize(unaligned(scores.ravel()).reshape(2, 2), 1),
        lambda: kernels.normalize(scores, 1, read_only),
        lambda: kernels.moments([np.ones(2)], labels, 1, unaligned(np.ones(2)), 1),
        lambda: kernels.moments([np.ones(2)], labels, 1, np.ones(4)[::2], 1),
        lambda: kernels.score_codes([labels], [np.ones((1, 2))], read_only, 1),
    ):
        with pytest.raises(TypeError):
            call()


def test_the_interpreters_lock_is_given_up_in_one_place() -> None:
    """There the compiler sees to it that no Python object is handed out while the lock is away."""
    sources = Path(__file__).parents[2] / "native"
    uses = [
        path.name for path in sources.rglob("*.?pp") for _ in re.findall("gil_scoped_release", path.read_text("utf-8"))
    ]
    assert uses == ["arrays.hpp"]


def test_other_types_are_refused() -> None:
    for call in (
        lambda: kernels.count_codes([np.array([1])], [2], ONE, 2, None, 1),
        lambda: kernels.moments([np.array([1.0], dtype=np.float32)], ONE, 2, None, 1),
        lambda: kernels.int_ranges([X], 1),
    ):
        with pytest.raises(TypeError, match="column 0"):
            call()


def test_read_only_columns_are_read() -> None:
    x, labels = np.arange(4.0), np.zeros(4, dtype=np.uint8)
    x.flags.writeable = labels.flags.writeable = False
    assert kernels.moments([x], labels, 1, None, 1)[1].item() == 6.0


def test_every_kernel_is_described() -> None:
    from bayeskit import _core

    names = {name for name in dir(_core) if not name.startswith("_")}
    assert [n for n in names if not re.search(rf"^[\w, ]*\b{n}\b[\w, ]*$", kernels.__doc__, flags=re.MULTILINE)] == []


def test_one_module_imports_the_core() -> None:
    package = Path(bayeskit.__file__).parent
    importing = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(
            r"^\s*(from|import) .*\b_core\b|import_module\(.*\b_core\b", path.read_text("utf-8"), flags=re.MULTILINE
        )
    ]
    assert importing == ["kernels.py"]


def test_a_missing_core_is_named() -> None:
    script = "import sys; sys.modules['bayeskit._core'] = None; import bayeskit.engines.records"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "BayesError: the compiled core of bayeskit is not installed here" in found.stderr
    assert "make" in found.stderr
