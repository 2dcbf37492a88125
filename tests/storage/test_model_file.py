"""The .bayes file keeps all of a model, and nothing but a model comes out of one."""

import hashlib
import json
import os
import stat
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.datasets import load_penguins, load_worked_example
from bayeskit.errors import BadFile, BayesError, TooLarge
from bayeskit.models import SAVED, from_bytes, saved_class, to_bytes
from bayeskit.storage import model_file
from bayeskit.storage.container import HEADER_LIMIT, MAGIC, ValueLists, is_packable, pack, unpack

BIRDS = load_penguins()
WORDS = [f"word {i:04}" for i in range(600)]
MODEL = bk.NaiveBayes(
    smoothing={"sky": bk.MEstimate(2, prior={"rain": 0.25, "sun": 0.75}), "flag": "auto"},
    prior=bk.Laplace(),
    roles={"year": "categorical", "size": bk.Numeric(), "flag": bk.Categorical(), "word": "categorical"},
    domains={"year": range(2000, 2004)},
    random_state=7,
).fit(
    {
        "sky": ["sun", "rain", None, "sun"] * 150,
        "flag": [True, False, True, None] * 150,
        "size": [1.5, 2.5, None, 4.0] * 150,
        "year": [2000, 2001, 2002, 2003] * 150,
        "word": WORDS,
    },
    ["yes", "no", "yes", "yes"] * 150,
)
PACKED = to_bytes(MODEL)


def sealed(body):
    return bytes(body) + hashlib.sha256(body).digest()


def written(header, arrays=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = MAGIC + struct.pack("<HQ", 1, len(encoded)) + encoded
    return sealed(body + b"\0" * (-len(body) % 8) + arrays)


# -- what is kept ----------------------------------------------------------------------------------------


def test_a_loaded_model_is_the_saved_one_and_goes_on_learning_and_forgetting(tmp_path):
    model = bk.NaiveBayes(roles={"year": "categorical"}).fit(BIRDS.slice(0, 200), "species")
    model.save(tmp_path / "birds.bayes")
    again = bk.load(tmp_path / "birds.bayes")
    assert type(again) is bk.NaiveBayes
    assert again.get_params() == model.get_params()
    assert again.tally_ == model.tally_
    assert np.array_equal(again.predict_proba(BIRDS), model.predict_proba(BIRDS))
    rest = BIRDS.slice(200)
    assert again.partial_fit(rest, "species").tally_ == model.partial_fit(rest, "species").tally_
    assert again.forget(rest, "species").tally_ == model.forget(rest, "species").tally_


def test_settings_of_every_kind_are_kept(tmp_path):
    MODEL.save(tmp_path / "m.bayes")
    assert bk.load(tmp_path / "m.bayes").get_params() == MODEL.get_params() | {
        "domains": {"year": [*range(2000, 2004)]}
    }
    given_ = bk.NaiveBayes(
        smoothing={"x": bk.Dirichlet({"u": 2.5, "v": 1})},
        prior={"a": 0.25, "b": 0.75},
        numeric={"n": "histogram"},
        cuts={"n": np.array([1.5, 2.5])},
        schema=bk.Schema({"x": bk.Categorical(("u", "v")), "n": bk.Numeric((1.5, 2.5))}),
    ).fit({"x": ["u", "v"], "n": [1, 3]}, ["a", "b"])
    back = from_bytes(to_bytes(given_))
    kept = {name: value for name, value in given_.get_params().items() if name != "cuts"}
    assert {name: value for name, value in back.get_params().items() if name != "cuts"} == kept
    assert back.cuts == {"n": [1.5, 2.5]}
    assert back.set_params(prior=[0.5, 0.5]).fit_tally(back.tally_).prior == [0.5, 0.5]


@pytest.mark.parametrize("kind", [bk.NaiveBayes, bk.GaussianBayes, bk.SubclassBayes])
@pytest.mark.parametrize("floor", [0.01, 0.25, bk.VarianceFloor(0.05, of="total")])
def test_the_floor_of_variances_is_kept(kind, floor):
    spikes = {"x": [1.0, 1, 1, 2, 3, 5, 4, 4], "z": [1.0, 2, 3, 4, 2, 1, 3, 5]}
    model = kind(variance_floor=floor).fit(spikes, ["a"] * 3 + ["b"] * 5)
    again = from_bytes(to_bytes(model))
    assert again.variance_floor == floor
    assert np.array_equal(again.predict_proba(spikes), model.predict_proba(spikes))


def test_the_number_of_threads_is_the_machines_and_not_the_models():
    assert from_bytes(to_bytes(bk.NaiveBayes(n_threads=3).fit({"x": ["a", "b"]}, [0, 1]))).n_threads is None


@pytest.mark.parametrize(
    "labels",
    [["a", "é"], [0, 1], [0.0, 1.0], [False, True], [-5, 2**40], [2**70, 2**71], ["", " "], np.array([1, 2], "u1")],
    ids=str,
)
def test_labels_and_values_keep_their_types(labels):
    cells = pa.array(list(labels)) if max(map(str, labels)) < str(2**70) else np.array(list(labels), dtype=object)
    model = bk.NaiveBayes(roles="categorical").fit({"x": cells}, labels)
    back = from_bytes(to_bytes(model))
    assert back.tally_ == model.tally_
    for a, b in (
        (back.tally_.classes, model.tally_.classes),
        (back.tally_.families["x"].values, model.tally_.families["x"].values),
    ):
        assert [type(v) for v in a] == [type(v) for v in b]
    assert back.classes_.dtype == model.classes_.dtype


@settings(max_examples=80, deadline=None)
@given(
    st.sets(
        st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(), max_size=40
    ),
    st.sets(st.text(st.characters(codec="utf-8"), max_size=6), max_size=40),
)
def test_lists_of_values_round_trip_as_arrays(numbers, strings):
    values = [*sorted(numbers), *sorted(strings)]
    assert is_packable(values)
    packed = ValueLists.of([values, ["between"], values])
    packed.check()
    for back in (packed[0], packed[2]):
        assert len(back) == len(values)
        assert [(type(v), v) for v in back] == [(type(v), v) for v in values]


def test_weighted_models_and_histograms_are_kept():
    X = {"n": [1.0, 2.0, 3.0, None], "s": ["u", "v", "u", "v"]}
    for made in (
        bk.NaiveBayes().fit(X, list("aabb"), sample_weight=[0.1, 0.2, 0.3, 0.4]),
        bk.NaiveBayes(numeric="histogram", cuts=3).fit(X, list("aabb")),
        bk.NaiveBayes().partial_fit(X, list("aabb"), classes=list("abc")),
    ):
        assert from_bytes(to_bytes(made)).tally_ == made.tally_


def test_the_same_rows_in_any_order_give_the_same_bytes():
    days = load_worked_example("tennis")
    files = set()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(days.num_rows)
        one, two = days.take(order[:9]), days.take(order[9:])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bk.BayesWarning)  # a part may have one class only
            files.add(to_bytes(bk.NaiveBayes().fit(one, "play").partial_fit(two, "play")))
            files.add(to_bytes(bk.NaiveBayes().fit(two, "play") + bk.NaiveBayes().fit(one, "play")))
        files.add(to_bytes(bk.NaiveBayes().fit(days.take(order), "play").partial_fit(one, "play").forget(one, "play")))
    assert len(files) == 1


# -- how it is written -----------------------------------------------------------------------------------


def test_writing_replaces_the_file_as_a_whole_and_keeps_its_mode(tmp_path):
    file, link = tmp_path / "m.bayes", tmp_path / "link.bayes"
    MODEL.save(file)
    file.chmod(0o640)
    link.symlink_to(file)
    before = file.stat().st_ino
    bk.NaiveBayes().fit({"x": ["a", "b"]}, [0, 1]).save(link)
    assert link.is_symlink()
    assert file.stat().st_ino != before
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert bk.load(link).tally_.n_rows == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.bayes", "m.bayes"]


def test_what_fails_while_it_is_written_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "m.bayes"
    MODEL.save(file)
    before = file.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BayesError, match=r"m\.bayes cannot be written: No space left"):
        bk.NaiveBayes().fit({"x": ["a", "b"]}, [0, 1]).save(file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.bayes"]


def test_paths_that_lead_nowhere_are_told(tmp_path):
    with pytest.raises(BadFile, match="not a path on this machine: copy it to a file"):
        bk.load("s3://bucket/birds.bayes")
    with pytest.raises(bk.BayesError, match="not a path on this machine: write a file and copy it"):
        MODEL.save("s3://bucket/birds.bayes")
    with pytest.raises(BadFile, match="there is no file"):
        bk.load(tmp_path / "no.bayes")
    with pytest.raises(BadFile, match=r"is a folder: name a file in it"):
        bk.load(tmp_path)
    with pytest.raises(BayesError, match="cannot be written: No such file"):
        MODEL.save(tmp_path / "no" / "m.bayes")
    if Path("/dev/zero").exists():
        with pytest.raises(BadFile, match="this is not bayeskit data"):
            bk.load("/dev/zero")


@pytest.mark.slow
def test_what_cannot_be_saved_is_said(tmp_path):
    rows = {"x": ["a", "b"]}
    with pytest.raises(BayesError, match="whole number as the seed"):
        bk.NaiveBayes(random_state=np.random.default_rng(0)).fit(rows, [0, 1]).save(tmp_path / "m.bayes")

    class Own(bk.NaiveBayes):
        pass

    with pytest.raises(BayesError, match="Own cannot be saved"):
        Own().fit(rows, [0, 1]).save(tmp_path / "m.bayes")
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        bk.NaiveBayes().save(tmp_path / "m.bayes")
    wide = bk.NaiveBayes().fit({f"{'long name ' * 30}{i}": ["a", "b"] for i in range(4000)}, [0, 1])
    with pytest.raises(TooLarge, match="Keep fewer columns"):
        wide.save(tmp_path / "m.bayes")
    assert list(tmp_path.iterdir()) == []


# -- what is refused -------------------------------------------------------------------------------------


def refused(data):
    """True where the bytes are refused as they should be; a model otherwise, which must be a sound one."""
    try:
        model = from_bytes(data)
    except BayesError:
        return True
    assert np.isfinite(model.params_.log_prior[model.tally_.class_counts > 0]).all()
    assert (model.tally_.class_counts >= 0).all()
    assert from_bytes(to_bytes(model)).tally_ == model.tally_
    return False


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_truncated_prolonged_and_flipped_files_are_refused(data):
    cut = data.draw(st.integers(0, len(PACKED) - 1))
    bit = data.draw(st.integers(0, len(PACKED) * 8 - 1))
    flipped = bytearray(PACKED)
    flipped[bit // 8] ^= 1 << bit % 8
    assert refused(PACKED[:cut])
    assert refused(bytes(flipped))
    assert refused(PACKED + data.draw(st.binary(min_size=1, max_size=9)))
    body = PACKED[:-32]
    assert refused(sealed(body[: min(cut, len(body) - 1)]))
    assert refused(sealed(body + data.draw(st.binary(min_size=1, max_size=40))))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(PACKED) - 33), st.integers(0, 255)), min_size=1, max_size=5))
def test_bytes_altered_and_sealed_again_give_a_sound_model_or_a_refusal(changes):
    body = bytearray(PACKED[:-32])
    for place, byte in changes:
        body[place] = byte
    refused(sealed(body))


HEADER_END = 16 + struct.unpack_from("<Q", PACKED, 8)[0]


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(st.integers(16, HEADER_END - 1), st.sampled_from([*b'0123456789"[]{},:nuletrfasi@-.']))
@example(place=562, letter=101)
def test_headers_altered_by_a_letter_and_sealed_again_are_never_another_error(place, letter):
    body = bytearray(PACKED[:-32])
    body[place] = letter
    refused(sealed(body))


def parts():
    header, arrays = unpack(PACKED)
    return json.loads(json.dumps(header, default=list)), [a.copy() for a in arrays]


@pytest.mark.parametrize("number", [-1, -(2**63), 2**63 - 1, 2**53])
def test_counts_that_cannot_be_are_refused(number):
    _, arrays = parts()
    for i, array in enumerate(arrays):
        if array.dtype.kind == "i" and array.size:
            header, wrong = parts()
            wrong[i].flat[0] = number
            assert refused(pack(header, wrong)), i


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_sums_that_are_no_numbers_are_refused(number):
    header, arrays = parts()
    for i, array in enumerate(arrays):
        if array.dtype.kind == "f":
            wrong = [a.copy() for a in arrays]
            wrong[i].flat[-1] = number
            assert refused(pack(header, wrong)), i
    weighted = bk.NaiveBayes().fit({"x": ["a", "b"]}, [0, 1], sample_weight=[0.5, 0.5])
    header, arrays = unpack(to_bytes(weighted))
    for i, array in enumerate(arrays):
        wrong = [a.copy() for a in arrays]
        wrong[i].flat[:1] = number
        assert not array.size or refused(pack(header, wrong)), i


def test_sums_so_large_that_they_overflow_are_no_other_error():
    header, arrays = parts()
    for i, array in enumerate(arrays):
        for number in (1e308, -1e308):
            if array.dtype.kind == "f":
                wrong = [a.copy() for a in arrays]
                wrong[i].flat[:] = number
                refused(pack(header, wrong))


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 2**63 - 1, HEADER_LIMIT + 1, len(PACKED)])
def test_lengths_beyond_the_file_are_refused_before_memory_is_taken(length):
    body = bytearray(PACKED[:-32])
    struct.pack_into("<Q", body, 8, length)
    assert refused(sealed(body))


LIES = [
    {"arrays": [{"dtype": "i8", "shape": [2**62]}]},
    {"arrays": [{"dtype": "i8", "shape": [2**40, 2**40, 0]}]},
    {"arrays": [{"dtype": "i8", "shape": [1] * 40}]},
    {"arrays": [{"dtype": "O", "shape": [1]}]},
    {"arrays": [], "lists": [[1, 1]]},
    {"arrays": [], "lists": ["pickle"]},
    {"arrays": [], "lists": [[2**62, 2**62]]},
    {"arrays": [], "lists": {}},
    {"arrays": [], "content": {"x": {"@list": 0}}},
    {"arrays": [], "content": {"what": model_file.WHAT}},
    {"arrays": [], "content": {"what": model_file.WHAT, "model": "NaiveBayes", "settings": [], "tally": {}}},
    {"arrays": [], "content": {"what": model_file.WHAT, "model": "os.system", "settings": {}, "tally": None}},
    {"arrays": [], "content": {"what": "other"}},
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_headers_that_lie_are_refused(lie):
    assert refused(written({"content": {}, "lists": [], **lie}))


def test_deep_json_duplicate_keys_and_constants_are_refused():
    deep = b'{"content": {"x": ' + b"[" * 60_000 + b"]" * 60_000 + b'}, "arrays": []}'
    assert refused(written(deep))
    assert refused(written(b'{"content": {}, "content": {}, "arrays": []}'))
    assert refused(written(b'{"content": {"a": {"b": 1, "b": 1}}, "arrays": []}'))
    assert refused(written(b'{"content": {"x": NaN}, "arrays": []}'))
    assert refused(written(b'{"content": {"x": ' + b"9" * 10_000 + b'}, "arrays": []}'))
    assert refused(written(b'{"content": {"x": "\xff"}, "arrays": []}'))


def test_settings_that_mean_nothing_are_refused():
    for name, value in {
        "smoothing": {"object": "Popen", "fields": {}},
        "prior": {"object": "Lidstone", "fields": {"alpha": -1}},
        "roles": {"object": "Lidstone", "fields": {"beta": 1}},
        "numeric": "cauchy",
        "missing": [1],
        "no_such_setting": 1,
        "unseen": {"map": 3},
        "schema": {"schema": {"columns": 3}},
        "cuts": {"strange": 1},
        "domains": {"map": [[{"list": []}, 1]]},
        "variance_floor": 0,
    }.items():
        header, arrays = parts()
        header["settings"][name] = value
        assert refused(pack(header, arrays)), name


def test_lists_of_values_that_lie_are_refused():
    good = ValueLists.of([[1, 2.5, True + 2, "a", "b"], ["a", "é"]])
    good.check()
    kinds, bits, ends, text = good.arrays

    def changed(which, place, value):
        arrays = [a.copy() for a in good.arrays]
        arrays[which][place] = value
        return ValueLists(good.sizes, arrays)

    for wrong in (
        changed(0, 0, 9),
        changed(0, 2, 2),
        changed(1, 0, 5),
        changed(1, 1, np.array(np.nan).view(np.int64)),
        changed(2, 0, 1),
        changed(2, 1, 2**40),
        changed(2, -1, 99),
        changed(3, 1, 97),
        changed(3, -1, 0xFF),
        ValueLists([[3, 2], [0, 1]], good.arrays),
        ValueLists([[4, 2], [0, 2]], good.arrays),
        ValueLists(good.sizes, [kinds, bits, ends, text.astype("i8")]),
        ValueLists(good.sizes, [kinds[None], bits, ends, text]),
    ):
        with pytest.raises(BadFile):
            wrong.check()


def test_another_format_asks_for_an_upgrade_or_a_new_fit():
    other = bytearray(PACKED)
    for version, action in ((99, "upgrade bayeskit"), (0, "fit the model again")):
        struct.pack_into("<H", other, len(MAGIC), version)
        with pytest.raises(BadFile, match=f"format version {version}, and this bayeskit reads version 1: {action}"):
            from_bytes(bytes(other))
    header, arrays = parts()
    header["model"] = "ModelOfTomorrow"
    with pytest.raises(BadFile, match=r"ModelOfTomorrow.*upgrade"):
        from_bytes(pack(header, arrays))


def test_every_name_that_a_file_may_hold_is_a_model():
    assert all(saved_class(name) is getattr(bk, name) for name in SAVED)


BOMBS = {
    "empty lists": b'{"content": {"x": [' + b"[]," * (HEADER_LIMIT // 3 - 40) + b'0]}, "arrays": []}',
    "empty objects": b'{"content": {"x": [' + b"{}," * (HEADER_LIMIT // 3 - 40) + b'0]}, "arrays": []}',
    "strings": b'{"content": {"x": [' + b'"ab",' * (HEADER_LIMIT // 5 - 40) + b'0]}, "arrays": []}',
    "keys": b'{"content": {' + b",".join(b'"%x":0' % i for i in range(HEADER_LIMIT // 10)) + b'}, "arrays": []}',
    "letters": b'{"content": {"x": "' + "𝒳".encode() * (HEADER_LIMIT // 4 - 20) + b'"}, "arrays": []}',
    "arrays": b'{"content": {}, "arrays": [' + b'{"dtype":"u1","shape":[0]},' * (HEADER_LIMIT // 27 - 9) + b"{}]}",
}  # fmt: skip


def hostile_files():
    """Headers that swell, and long lists of values that do not fit their counts."""
    for name, header in BOMBS.items():
        assert len(header) <= HEADER_LIMIT
        yield name, written(header)
    count = 6_000_000
    kinds, bits, none = np.zeros(count, "u1"), np.arange(count), np.zeros(0, "u1")
    lists = ValueLists([[count, 0]], [kinds, bits, np.zeros(1, "i8"), none])
    header, arrays = parts()
    arrays += lists.arrays
    header["tally"]["classes"] = {"@list": 0}
    whole = {
        "content": header,
        "arrays": [{"dtype": a.dtype.str[1:], "shape": list(a.shape)} for a in arrays],
        "lists": lists.sizes,
    }
    raw = b"".join(a.tobytes() + b"\0" * (-a.nbytes % 8) for a in arrays)
    yield "numbers", written(whole, raw)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux has it")
def test_a_hostile_file_takes_no_more_memory_than_its_size_and_64_mb(tmp_path):
    code = (
        "import gc, sys, bayeskit\n"
        "from bayeskit.errors import BayesError\n"
        "import pyarrow.compute, bayeskit.models.naive_bayes\n"
        "def status(name):\n"
        "    return int(next(l for l in open('/proc/self/status') if l.startswith(name)).split()[1]) * 1024\n"
        "for path in sys.argv[1:]:\n"
        "    gc.collect()\n"
        "    open('/proc/self/clear_refs', 'w').write('5')\n"
        "    before = status('VmRSS')\n"
        "    try:\n"
        "        bayeskit.load(path)\n"
        "    except BayesError:\n"
        "        print(status('VmHWM') - before)\n"
    )
    files = {}
    for name, data in hostile_files():
        files[name] = tmp_path / f"{name}.bayes"
        files[name].write_bytes(data)
    command = [sys.executable, "-c", code, *map(str, files.values())]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    for (name, file), taken in zip(files.items(), told, strict=True):
        assert int(taken) <= file.stat().st_size + 64e6, (name, int(taken) / 1e6, file.stat().st_size / 1e6)
