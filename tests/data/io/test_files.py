"""Files as sources: every format gives the counts of the same table in memory, and says where it is wrong."""

import errno
import gzip
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import bayeskit as bk
from bayeskit.data.io import csv as csv_files
from bayeskit.data.io import json_lines, streams
from bayeskit.data.io.files import FileSource
from bayeskit.datasets import load_penguins, path
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch

ROLES = {"year": "categorical"}
BIRDS = load_penguins()


def model(**settings):
    return bk.NaiveBayes(roles=ROLES, **{"numeric": "gaussian", **settings})


def write_jsonl(table, file):
    file.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")


WRITERS = {
    "csv": csv.write_csv,
    "tsv": lambda t, f: csv.write_csv(t, f, csv.WriteOptions(delimiter="\t")),
    "parquet": parquet.write_table,
    "jsonl": write_jsonl,
}


@pytest.fixture
def small_blocks(monkeypatch):
    """Many batches from a small file."""
    monkeypatch.setattr(csv_files, "BLOCK", 1 << 11)
    monkeypatch.setattr(json_lines, "BLOCK", 1 << 11)
    monkeypatch.setattr("bayeskit.data.io.parquet.ROWS", 50)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "pack"), [(e, p) for e in WRITERS for p in ("", ".gz", ".zst") if not (p and e == "parquet")]
)
def test_a_file_in_any_format_gives_the_counts_of_the_table(tmp_path, ending, pack, small_blocks):
    file = tmp_path / f"birds.{ending}"
    WRITERS[ending](BIRDS, file)
    if pack:
        packed = file.with_name(file.name + pack)
        with pa.output_stream(str(packed)) as out:  # packs by the name's ending
            out.write(file.read_bytes())
        file = packed
    source = FileSource.of(file, "species")
    assert len(list(source.batches())) > 4
    fitted = model().fit_source(source)
    whole = model().fit(BIRDS, "species")
    assert fitted.tally_.families == whole.tally_.families
    assert fitted.tally_.class_counts.tolist() == whole.tally_.class_counts.tolist()
    assert fitted.table("body_mass_g")["mean"] == whole.table("body_mass_g")["mean"]
    assert fitted.predict_proba(file) == pytest.approx(whole.predict_proba(BIRDS), abs=1e-12)
    assert fitted.leave_one_out(file, "species").accuracy == whole.leave_one_out(BIRDS, "species").accuracy


def test_a_folder_and_a_glob_are_their_files_in_order_of_name(tmp_path):
    for i in range(4):
        WRITERS["csv" if i % 2 else "parquet"](
            BIRDS.slice(i * 86, 86), tmp_path / f"{i}.{'csv' if i % 2 else 'parquet'}"
        )
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.md").write_text("no data")
    whole = model().fit(BIRDS, "species").tally_
    assert model().fit_source(tmp_path, "species").tally_.families == whole.families
    assert model().fit_source(tmp_path / "[0-9].*", "species").tally_.families == whole.families
    odd = model().fit_source(f"{tmp_path}/*.csv", "species")
    assert odd.tally_.n_rows == 172


def test_a_source_learns_and_forgets_as_rows_in_memory_do(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    csv.write_csv(BIRDS.slice(0, 200), one)
    csv.write_csv(BIRDS.slice(200), two)
    learned = model().fit_source(one, "species")
    before = learned.tally_
    learned.learn_source(two)
    assert learned.tally_.families == model().fit(BIRDS, "species").tally_.families
    learned.forget_source(two)
    assert learned.tally_.families == before.families
    with pytest.raises(NotLearned, match=r"two\.csv|nothing was changed"):
        learned.forget_source(two)
    assert model().learn_source(one, "species").tally_ == before


def test_an_engine_that_is_given_counts(tmp_path):
    from bayeskit.engines import local
    from bayeskit.engines.engine import RemoteSource

    class Engine:
        asked = 0

        def owns(self, data):
            return RemoteSource(data, self)

        def collect(self, source, schema, plan, *, n_threads, memory_limit):
            self.asked += 1
            return local.collect(source.source, schema, plan, n_threads=n_threads, memory_limit=memory_limit)

    engine = Engine()
    fitted = model().fit_source(path("penguins"), "species", engine=engine)
    assert engine.asked == 1
    assert fitted.tally_ == model().fit_source(path("penguins"), "species").tally_


def test_only_the_columns_in_use_are_read(tmp_path):
    file = tmp_path / "wide.csv"
    file.write_text("a,b,c,y\n" + "x,1,3,p\nz,2,3,q\n" * 30)
    source = FileSource.of(file, "y")
    read = next(source.reading({"a": None}).batches())
    assert list(read.columns) == ["a"]
    fitted = bk.NaiveBayes(roles={"b": "ignore", "c": "ignore"}).fit_source(source)
    file.write_text("a,b,c,y\nx,oops,what,p\n")  # what is not used may hold anything
    assert fitted.predict(file).tolist() == ["p"]


def test_numbers_that_become_fractions_half_way_are_no_change_of_type(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "SAMPLE", 1 << 10)
    monkeypatch.setattr(csv_files, "BLOCK", 1 << 10)
    for ending, line in (("csv", "{},{}\n"), ("jsonl", '{{"x": {}, "y": "{}"}}\n')):
        monkeypatch.setattr(json_lines, "SAMPLE", 1 << 10)
        monkeypatch.setattr(json_lines, "BLOCK", 1 << 10)
        file = tmp_path / f"n.{ending}"
        head = "x,y\n" if ending == "csv" else ""
        file.write_text(head + line.format(1, "a") * 500 + line.format(2.5, "b") * 3 + line.format(3, "b"))
        fitted = bk.NaiveBayes(roles={"x": "numeric"}).fit_source(file, "y")
        assert fitted.table("x")["mean"] == [1.0, 2.625]


def test_text_that_looks_like_numbers_stays_text_for_a_model_that_learned_text(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("code,y\n" + "1,1\nA,x\n2,x\n" * 10)
    two.write_text("code,y\n1,1\n2,1\n")  # all numbers by itself
    fitted = bk.NaiveBayes().fit_source(one, "y")
    assert fitted.predict(two).tolist() == ["1", "x"]
    fitted.learn_source(two)
    assert fitted.tally_.families["code"].values == ("1", "2", "A")
    assert fitted.tally_.classes == ("1", "x")


def test_a_column_can_be_declared_to_be_text(tmp_path):
    file = tmp_path / "zip.csv"
    file.write_text("zip,y\n01234,a\n56789,b\n")
    source = FileSource.of(file, "y", types={"zip": "string"})
    assert bk.NaiveBayes().fit_source(source).tally_.families["zip"].values == ("01234", "56789")
    with pytest.raises(SchemaMismatch, match="zop"):
        dict(FileSource.of(file, types={"zop": "string"}).kinds)
    with pytest.raises(BayesError, match="string, float, integer, boolean"):
        dict(FileSource.of(file, types={"zip": "text"}).kinds)
    table = tmp_path / "zip.parquet"
    parquet.write_table(pa.table({"zip": [1234, 56789], "y": ["a", "b"]}), table)
    source = FileSource.of(table, "y", types={"zip": "string"})
    assert bk.NaiveBayes().fit_source(source).tally_.families["zip"].values == ("1234", "56789")


def test_delimiters_quotes_encodings_and_gaps_are_understood(tmp_path):
    file = tmp_path / "odd.csv"
    file.write_bytes('name;wind;y\n"a;b";NA;1\n"two\nlines";;0\ncafé;"x ""y""";1\n'.encode("latin-1"))
    with pytest.raises(BadFile, match=r"odd\.csv, line 5 \(byte 41\).*In cp1252 it would read 'café'"):
        bk.NaiveBayes().fit_source(file, "y")
    source = FileSource.of(file, "y", encoding="latin-1")
    tally = bk.NaiveBayes().fit_source(source).tally_
    assert tally.families["name"].values == ("a;b", "café", "two\nlines")
    assert tally.families["wind"].values == ('x "y"',)
    kept = FileSource.of(file, "y", encoding="latin-1", missing=[""])
    assert bk.NaiveBayes().fit_source(kept).tally_.families["wind"].values == ("NA", 'x "y"')
    file.write_bytes("a,y\nü,1\nv,0\n".encode("utf-16"))
    assert bk.NaiveBayes().fit_source(file, "y").tally_.families["a"].values == ("v", "ü")
    file.write_bytes(b"\xef\xbb\xbfa,y\r\nu,1\r\nv,0\r\n")
    assert bk.NaiveBayes().fit_source(file, "y").tally_.families["a"].values == ("u", "v")


def test_progress_is_told_in_rows_and_bytes(tmp_path, small_blocks):
    told = []
    file = tmp_path / "birds.csv"
    csv.write_csv(BIRDS, file)
    model().fit_source(FileSource.of(file, "species", watch=told.append))
    last = [p for p in told if p.rows == 344][-1]
    assert last.bytes_read == last.bytes_total == file.stat().st_size
    assert [p.rows for p in told if p.rows > 100] == sorted(p.rows for p in told if p.rows > 100)


BAD = {
    "ragged": (b"a,y\n1,x\n2\n3,x\n", BadFile, r"bad\.csv, line 3: 1 cell where the header has 2.*double quotes"),
    "empty": (b"", BadFile, r"bad\.csv is empty: a header"),
    "blank": (b"\n\n", BadFile, r"bad\.csv is empty"),
    "header only": (b"a,y\n", BadFile, r"bad\.csv has no rows"),
    "header without end": (b"a,y", BadFile, r"bad\.csv has a header and no rows"),
    "twice": (b"a,a,y\n1,2,x\n", SchemaMismatch, r"bad\.csv has more than one column named 'a'"),
    "encoding": (b"a,y\n1,x\n\xff\xfe,x\n", BadFile, r"bad\.csv, line 3 \(byte 8\): the text is not utf-8.*cp1252"),
    "no target": (b"a,b\n1,2\n", SchemaMismatch, r"no target column 'y' in .*bad\.csv \(columns: a, b\)"),
    "no label": (b"a,y\n1,x\n2,\n", BayesError, r"bad\.csv: line 3 has no label in column 'y'"),
    "infinite": (b"a,y\n1,x\ninf,x\n", BayesError, r"bad\.csv: .*column 'a' has inf in row 1"),
    "continuous": (b"a,y\n1,2.5\n1,2.7\n", BayesError, r"bad\.csv: Unknown label type: continuous"),
    "dates": (b"a,y\n2020-01-01,x\n", SchemaMismatch, r"bad\.csv: column 'a' holds dates"),
    "open quote": (b'a,y\n"1,x\n' + b"1,x\n" * 1_000, BadFile, r"bad\.csv, line 2: a double quote .* never closed"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_named_with_the_place_and_a_remedy(tmp_path, case):
    content, error, message = BAD[case]
    file = tmp_path / "bad.csv"
    file.write_bytes(content)
    with pytest.raises(error, match=message):
        bk.NaiveBayes().fit_source(file, "y")


def test_a_column_that_changes_type_half_way_is_named_with_its_line_and_the_model_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "SAMPLE", 1 << 12)
    monkeypatch.setattr(csv_files, "BLOCK", 1 << 12)
    file = tmp_path / "changes.csv"
    numbers = "".join(f"{i * 1999 % 5000},x\n" for i in range(5000))
    file.write_text("a,y\n" + numbers + "oak,x\n" + numbers)
    said = r"changes\.csv, line 5002: column 'a' holds 'oak', but it was taken for numbers.*types=\{'a': \"string\"\}"
    with pytest.raises(SchemaMismatch, match=said):
        bk.NaiveBayes().fit_source(file, "y")
    fitted = bk.NaiveBayes().fit({"a": [1.0, 2, 3, 4], "y": ["x", "x", "z", "z"]}, "y")
    before = fitted.tally_.to_bytes()
    for change in (fitted.learn_source, fitted.forget_source):
        with pytest.raises(SchemaMismatch, match="line 5002"):
            change(file)
    assert fitted.tally_.to_bytes() == before
    with pytest.warns(bk.BayesWarning):  # one class, and an identifier
        bk.NaiveBayes().fit_source(FileSource.of(file, "y", types={"a": "string"}))


def test_a_later_file_of_a_folder_that_does_not_fit_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,x\n2,z\n")
    (tmp_path / "b.csv").write_text("b,y\n1,x\n")
    with pytest.raises(SchemaMismatch, match=r"b\.csv has no column 'a' \(it has: b, y\)"):
        bk.NaiveBayes().fit_source(tmp_path, "y")
    (tmp_path / "b.csv").write_text("a,y\n1,x\noak,x\n")
    with pytest.raises(SchemaMismatch, match=r"b\.csv, line 3: column 'a' holds 'oak'"):
        bk.NaiveBayes().fit_source(tmp_path, "y")


def test_damaged_parquet_and_packed_files_are_told(tmp_path):
    file = tmp_path / "birds.parquet"
    parquet.write_table(BIRDS, file)
    whole = file.read_bytes()
    for cut in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(BadFile, match=r"birds\.parquet is not a whole Parquet file.*copy it again"):
            model().fit_source(file, "species")
    damaged = bytearray(whole)
    for i in range(4, len(whole) // 2, 7):
        damaged[i] ^= 0xA5
    file.write_bytes(damaged)
    with pytest.raises(BayesError, match=r"birds\.parquet"):
        model().fit_source(file, "species")
    packed = tmp_path / "birds.csv.gz"
    packed.write_bytes(gzip.compress(path("penguins").read_bytes())[:-200])
    with pytest.raises(BadFile, match=r"birds\.csv\.gz.*copy it again"):
        model().fit_source(packed, "species")


JSON = {
    "no object": ('{"a": 1, "y": "x"}\noops\n', r"bad\.jsonl, line 2: this is not a JSON object"),
    "an array": ('[{"a": 1}]\n', r"bad\.jsonl, line 1: a JSON array, where one object a line"),
    "changed": ('{"a": 1, "y": "x"}\n{"a": "oak", "y": "x"}\n', r"bad\.jsonl, line 2: column 'a' holds a string"),
    "nested": ('{"a": [1], "y": "x"}\n', r"bad\.jsonl: column 'a' has \[1\] in row 0, which is not a single value"),
    "empty": ("", r"bad\.jsonl is empty"),
    "null first": ("null\n", r"bad\.jsonl, line 1: null is not a JSON object"),
    "null later": ('{"a": 1, "y": "x"}\n null\n', r"bad\.jsonl, line 2: null is not a JSON object"),
    "deep": ('{"a": 1, "y": "x"}\n{"a": ' + 10**5 * "[" + 10**5 * "]" + '}\n', r"line 2: values are nested"),
    "deep objects": (10**5 * '{"a":' + "1" + 10**5 * "}" + "\n", r"line 1: values are nested more than 1,000 deep"),
    "cut": ('{"a": 1, "y": "x"}\n{"a": 2, "y"', r"bad\.jsonl, line 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", JSON)
def test_bad_json_lines_are_named_with_their_line(tmp_path, case):
    content, message = JSON[case]
    file = tmp_path / "bad.jsonl"
    file.write_text(content)
    with pytest.raises(BayesError, match=message):
        bk.NaiveBayes().fit_source(file, "y")


def test_a_path_that_leads_nowhere_is_told(tmp_path):
    for where, said in (
        (tmp_path / "no.csv", "there is no file or folder"),
        (tmp_path / "*.csv", "no file matches"),
        (tmp_path, "has no data files"),
    ):
        with pytest.raises(BadFile, match=said):
            bk.NaiveBayes().fit_source(where, "y")


def test_a_pipe_is_kept_as_it_is_read_and_read_again():
    pipe = streams.Spool(io.BytesIO(path("penguins").read_bytes()))
    source = FileSource((csv_files.CsvFile(pipe),)).with_target("species")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.AdviceWarning)
        fitted = bk.NaiveBayes().fit_source(source)
        assert fitted.tally_ == bk.NaiveBayes().fit(BIRDS, "species").tally_
    assert fitted.leave_one_out(source, "species").n_rows == 344


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_standard_input_is_a_source_in_any_format(tmp_path, ending, monkeypatch):
    file = tmp_path / f"birds.{ending}"
    WRITERS[ending](BIRDS, file)
    with file.open("rb") as pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
        assert model().fit_source("-", "species").tally_.families == model().fit(BIRDS, "species").tally_.families


@pytest.mark.slow
def test_memory_is_bounded_by_the_batch_and_not_by_the_file(tmp_path):
    rows = "".join(f"v{i % 7},w{i % 11},{'xyz'[i % 3]}\n" for i in range(100_000))
    short, folder = tmp_path / "short.csv", tmp_path / "long"
    short.write_text("a,b,y\n" + rows * 15)
    folder.mkdir()
    file = folder / "0.csv"
    file.write_text("a,b,y\n" + rows * 100)
    for i in range(1, 5):  # the same bytes five times over
        (folder / f"{i}.csv").hardlink_to(file)
    code = (
        "import resource, sys, bayeskit as b\n"
        "b.NaiveBayes(n_threads=1).fit_source(sys.argv[1], 'y')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "b.NaiveBayes(n_threads=1).fit_source(sys.argv[2], 'y')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    command = [sys.executable, "-c", code, str(short), str(folder)]
    grown = int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert file.stat().st_size > 70e6
    assert grown * 1024 < 150e6  # of 350 MB: what Arrow reads ahead, more of it on a busy machine


def test_the_bundled_file_is_a_source_for_fit_itself():
    assert model().fit(str(path("penguins")), "species").tally_ == model().fit(BIRDS, "species").tally_
    assert Path(os.fspath(path("penguins"))).exists()


@pytest.mark.parametrize("place", [0, 2, 40])
def test_rows_of_any_length_up_to_64_mb_are_read_once_and_in_order(tmp_path, place):
    rows = [(f"{i} short", "ab"[i % 2]) for i in range(60)]
    rows[place] = ("long " * 1_000_000, "a")  # 5 MB, longer than what is read at a time
    with (tmp_path / "long.csv").open("w") as file:
        file.write("body,kind\n" + "".join(f"{body},{kind}\n" for body, kind in rows))
    for asked in ("string", "text"):
        source = FileSource.of(tmp_path / "long.csv", "kind").reading({"body": asked})
        batches = list(source.batches())
        assert [text.as_py() for batch in batches for text in batch.columns["body"]] == [body for body, _ in rows]
        assert [label.as_py() for batch in batches for label in batch.labels] == [kind for _, kind in rows]


@pytest.mark.parametrize(
    ("problem", "hint"),
    [
        (OSError(errno.ENOSPC, "No space left"), "The disk is full"),
        (pa.ArrowMemoryError("malloc of size 4"), "The memory does not suffice"),
        (OSError("corrupt page"), "The file is damaged"),
    ],
    ids=["disk", "memory", "damage"],
)
def test_a_lack_of_memory_or_disk_is_no_damage_of_the_file(tmp_path, monkeypatch, problem, hint):
    def fail(*_, **__):
        raise problem

    file = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"x": ["a", "b"], "y": ["u", "v"]}), file)
    source = FileSource.of(file, "y")
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", fail)
    with pytest.raises(BadFile, match=hint) as refused:
        list(source.batches())
    assert ("damaged" in str(refused.value)) == ("damaged" in hint)
