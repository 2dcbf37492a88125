"""The container holds only data, and nothing but what was written is read."""

import hashlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import BadFile
from bayeskit.storage.container import MAGIC, pack, unpack

X = {"sky": ["sun", "rain", None, "sun"], "size": [1.5, None, 2.5, 4.0], "year": [1, 2, 3, 4]}
MODEL = bk.NaiveBayes(domains={"year": range(6)}).fit(X, [0.0, 1.0, 0.0, 1.0])
PACKED = MODEL.tally_.to_bytes()


def sealed(body):
    return body + hashlib.sha256(body).digest()


def written(header, arrays=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = MAGIC + struct.pack("<HQ", 1, len(encoded)) + encoded
    body += b"\0" * (-len(body) % 8)
    return sealed(body + arrays)


def test_headers_and_arrays_round_trip():
    arrays = [np.arange(6).reshape(2, 3), np.array([0.5, -0.0]), np.zeros((0, 4)), np.array([[1]], dtype="u1")]
    header, back = unpack(pack({"what": ["é", 1, 2.5, None, True, 2**70]}, arrays))
    assert header == {"what": ["é", 1, 2.5, None, True, 2**70]}
    for a, b in zip(arrays, back, strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()
        assert a.shape == b.shape


def test_the_bytes_do_not_depend_on_the_layout_in_memory():
    a = np.arange(12).reshape(3, 4)
    assert pack({}, [a]) == pack({}, [np.asfortranarray(a)]) == pack({}, [a.astype(">i8").astype("i8")])


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(PACKED) * 8 - 1))
def test_any_flipped_bit_is_found(bit):
    damaged = bytearray(PACKED)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadFile):
        bk.Tally.from_bytes(bytes(damaged))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(PACKED) - 1))
def test_any_truncation_is_found(length):
    with pytest.raises(BadFile):
        bk.Tally.from_bytes(PACKED[:length])
    with pytest.raises(BadFile):
        bk.Tally.from_bytes(PACKED[length:] if length else PACKED + b"\0")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(data):
    for foreign in (data, MAGIC + data, written(data), sealed(MAGIC + struct.pack("<HQ", 1, 10) + data)):
        with pytest.raises(BadFile):
            bk.Tally.from_bytes(foreign)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(PACKED) - 33), st.integers(0, 255)), min_size=1, max_size=4))
def test_bytes_altered_and_sealed_again_give_a_tally_or_a_refusal(changes):
    """The checksum guards against accidents; the checks behind it against everything else."""
    body = bytearray(PACKED[:-32])
    for place, byte in changes:
        body[place] = byte
    try:
        tally = bk.Tally.from_bytes(sealed(bytes(body)))
    except bk.BayesError:
        return
    assert bk.Tally.from_bytes(tally.to_bytes()) == tally
    assert (tally.class_counts >= 0).all()


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"\xff\xfe",
        b'{"content": NaN, "arrays": []}',
        b'{"content": {"x": 1e999}, "arrays": [{}]}',
        b'{"content": {}, "arrays": [{"dtype": "O", "shape": [1]}]}',
        b'{"content": {}, "arrays": [{"dtype": "i8", "shape": [-1]}]}',
        b'{"content": {}, "arrays": [{"dtype": "i8", "shape": [1e3]}]}',
        b'{"content": {}, "arrays": [{"dtype": "i8", "shape": [true]}]}',
        b'{"content": {}, "arrays": [{"dtype": "i8", "shape": [4611686018427387904]}]}',
        b'{"content": {}, "arrays": [{"dtype": "i8", "shape": [1048576, 1048576, 1048576, 1048576]}]}',
        b'{"content": {}, "arrays": [{"dtype": "i8"}]}',
        b'{"content": {}, "arrays": [[]]}',
        b'{"content": {}, "arrays": {}}',
        b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b', "arrays": []}',
        b'{"content": {"x": ' + b"9" * 10_000 + b'}, "arrays": []}',
    ],
)
def test_headers_that_lie_are_refused(header):
    with pytest.raises(BadFile):
        bk.Tally.from_bytes(written(header))


def test_a_newer_format_asks_for_an_upgrade():
    newer = bytearray(PACKED)
    struct.pack_into("<H", newer, len(MAGIC), 99)
    with pytest.raises(BadFile, match="format version 99, and this bayeskit reads version 1: upgrade"):
        bk.Tally.from_bytes(bytes(newer))


FAMILIES = MODEL.tally_.to_parts()[0]["statistics"][0]


def change(**parts):
    header, arrays = MODEL.tally_.to_parts()
    header = json.loads(json.dumps(header))
    header.update(parts)
    return pack(header, arrays)


@pytest.mark.parametrize(
    "parts",
    [
        {"classes": [0.0]},
        {"classes": [1.0, 0.0]},
        {"classes": [0.0, 0.0]},
        {"classes": ["a", 1.0]},
        {"classes": [[0], [1]]},
        {"classes": [None, 1.0]},
        {"classes": 7},
        {"values": []},
        {"values": [["nowhere", ["rain", "sun"]], ["year", [*range(6)]]]},
        {"values": [["sky", ["sun", "rain"]], ["year", [*range(6)]]]},
        {"values": [["sky", ["rain", {}]], ["year", [*range(6)]]]},
        {"values": [["sky", ["rain", None]], ["year", [*range(6)]]]},
        {"values": [["sky", ["rain", 1e999]], ["year", [*range(6)]]]},
        {"values": [["sky", ["rain", "sun"]], ["sky", [*range(6)]]]},
        {"values": {"sky": []}},
        {"statistics": []},
        {"statistics": [FAMILIES]},
        {"statistics": [FAMILIES, [["moments", [], {}], {}, 6]]},
        {"statistics": [FAMILIES, [["moments", ["nowhere"], {}], {}, 6]]},
        {"statistics": [FAMILIES, [["moments", ["sky"], {}], {}, 7]]},
        {"statistics": [FAMILIES, [["moments", [["size"]], {}], {}, 6]]},
        {"statistics": [FAMILIES, [["os", ["size"], {}], {}, 6]]},
        {"statistics": [FAMILIES, [["moments", ["size"], []], {}, 6]]},
        {"statistics": [FAMILIES, [["moments", ["size"], {}], {}, True]]},
        {"statistics": {"families": FAMILIES}},
        {"schema": None},
        {"schema": {"columns": [], "target": {"name": "class", "domain": None}, "named": True}},
        {"schema": {"columns": [{"name": "sky", "role": "spy"}], "target": {"name": "c", "domain": None}, "named": 1}},
    ],
)
def test_headers_that_do_not_fit_their_arrays_are_refused(parts):
    try:
        packed = change(**parts)
    except ValueError:
        pytest.skip("cannot even be written")
    with pytest.raises(bk.BayesError):
        bk.Tally.from_bytes(packed)


@pytest.mark.parametrize("number", [-1, np.iinfo(np.int64).min])
def test_negative_counts_are_refused(number):
    header, arrays = MODEL.tally_.to_parts()
    for i, array in enumerate(arrays):
        if array.dtype.kind == "i" and array.size:
            wrong = [a.copy() for a in arrays]
            wrong[i].flat[0] = number
            with pytest.raises(BadFile):
                bk.Tally.from_bytes(pack(header, wrong))
    for bad in (np.nan, np.inf):
        wrong = [a.copy() for a in arrays]
        wrong[-1].flat[0] = bad
        with pytest.raises(BadFile):
            bk.Tally.from_bytes(pack(header, wrong))
