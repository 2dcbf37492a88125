"""Whatever comes to a kernel's door, it is refused by name or answered; nothing is read or written out of bounds.

Good arguments are taken and something in them is changed. That no memory was touched that should not be is what the
sanitizers see (`make sanitize`, which draws more examples); here it shows as a crash.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayeskit import kernels

from .arguments import GOOD, good_arguments
from .conftest import CODES, INTEGERS, seeds
from .draw import Arguments

EXAMPLES = int(os.environ.get("BAYESKIT_EXAMPLES", "12"))
WRITTEN = {"scores", "out"}
# None of them asks for memory that a machine may have: a size that fits is the caller's own.
NUMBERS = [-(2**63), -1, 0, 1, 3, 2**40, 2**62, 2**63, 2**70, True, 1.5, float("nan"), None, "2"]
FLOATS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e308, 5e-324, 1e150]
DTYPES = [*INTEGERS, "float32", "float64", "float16", "complex128", "datetime64[s]", "U3", "object"]


def test_every_kernel_is_put_to_the_test() -> None:
    from bayeskit import _core

    assert set(GOOD) == {name for name in dir(_core) if not name.startswith("_")}


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=EXAMPLES)
@given(seed=seeds)
def test_good_arguments_are_taken(name: str, seed: int) -> None:
    getattr(kernels, name)(**good_arguments(name, seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=2 * EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(seed=seeds, changes=st.lists(seeds, min_size=1, max_size=3))
def test_hostile_arguments_are_refused_or_answered(name: str, seed: int, changes: list[int]) -> None:
    arguments = good_arguments(name, seed)
    for change in changes:
        arguments = changed(arguments, np.random.default_rng(change))
    before = [(key, array.copy()) for key, array in arrays_in(arguments)]
    try:
        result = getattr(kernels, name)(**arguments)
    except (ValueError, TypeError, MemoryError):
        unchanged = before
    else:
        for _, array in arrays_in({"result": result}):
            array.copy()  # all of it can be read
        unchanged = [(key, array) for key, array in before if key not in WRITTEN]
    now = [array for key, array in arrays_in(arguments) if len(unchanged) == len(before) or key not in WRITTEN]
    for (_, was), array in zip(unchanged, now, strict=True):
        assert was.tobytes() == array.tobytes()


def arrays_in(given: Any, key: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every array among the arguments, by the name of the argument."""
    if isinstance(given, np.ndarray):
        yield key, given
    elif isinstance(given, dict):
        for name, value in given.items():
            yield from arrays_in(value, name)
    elif isinstance(given, (list, tuple)):
        for value in given:
            yield from arrays_in(value, key)


def changed(given: Arguments, rng: np.random.Generator) -> Arguments:
    """The same with one argument changed, or something within it."""
    name = str(rng.choice(list(given)))
    return given | {name: changed_value(given[name], rng)}


def changed_value(value: Any, rng: np.random.Generator) -> Any:
    if rng.random() < 0.03:
        return STRANGERS[int(rng.integers(len(STRANGERS)))]
    if isinstance(value, np.ndarray):
        return changed_array(value, rng)
    if isinstance(value, (list, tuple)) and len(value) and rng.random() < 0.85:
        at = int(rng.integers(len(value)))
        inner = [*value[:at], changed_value(value[at], rng), *value[at + 1 :]]
        return inner if isinstance(value, list) else tuple(inner)
    if isinstance(value, (list, tuple)):
        return [value[:-1], value + value[:1], value[:0], value[::-1]][int(rng.integers(4))]
    return NUMBERS[int(rng.integers(len(NUMBERS)))]


def changed_array(array: np.ndarray, rng: np.random.Generator) -> Any:
    if array.dtype.kind not in "biuf":  # strings, objects, or what an earlier change has made
        return array[::-1] if array.ndim else array
    return CHANGES[int(rng.integers(len(CHANGES)))](array, rng)


def other_cells(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some cells, or all, with a number at the ends of their type or beyond what they may name."""
    out, share = array.copy(), float(rng.choice([0.05, 0.3, 1.0]))
    if out.dtype.kind == "f":
        hostile = np.array(FLOATS)
    else:
        ends = (0, 1) if out.dtype.kind not in "iu" else (np.iinfo(out.dtype).min, np.iinfo(out.dtype).max)
        hostile = np.array([ends[0], ends[1], 0, 1, 2, 5, 100], dtype=object)
        if out.dtype.kind == "i":
            hostile = np.append(hostile, [-1, -2, 2 ** (8 * out.itemsize - 3)])
    which = rng.random(out.shape) < share
    with np.errstate(over="ignore"):
        out[which] = rng.choice(hostile, int(which.sum())).astype(out.dtype)
    return out


def other_length(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not array.ndim:
        return array
    axis = int(rng.integers(array.ndim))
    n = array.shape[axis]
    at = np.arange(int(rng.choice([0, max(n - 1, 0), n // 2, n + 1, 2 * n + 3])))
    return np.take(array, at % n, axis=axis) if n else np.zeros([max(s, 1) for s in array.shape], array.dtype)


def other_axes(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    forms: list[Callable[[], np.ndarray]] = [
        array.ravel, lambda: array[None], lambda: array[..., None], lambda: np.asarray(array.sum()), lambda: array.T,
        lambda: np.broadcast_to(array[:1], array.shape) if array.ndim and len(array) else array,
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        return forms[int(rng.integers(len(forms)))]()


def other_type(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(str(rng.choice(CODES if rng.random() < 0.3 else DTYPES)))


def with_gaps(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


def backwards(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return array[..., ::-1].copy()[..., ::-1] if array.ndim else array


def unaligned(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    room = np.zeros(array.nbytes + 1, dtype=np.uint8)
    out = room[1:].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def packed_field(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    records = np.zeros(array.shape, dtype=[("one", "u1"), ("cell", array.dtype)])
    records["cell"] = array
    return records["cell"]


def read_only(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    out = array.copy()
    out.flags.writeable = False
    return out


def swapped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder())


CHANGES = [other_cells] * 8 + [other_length] * 4 + [
    other_axes, other_type, with_gaps, backwards, unaligned, packed_field, read_only, swapped,
]  # fmt: skip
STRANGERS: list[Any] = [None, "text", b"bytes", 7, [], (), {}, [1, 2], np.zeros(3), bytearray(8), np.float64(2)]
