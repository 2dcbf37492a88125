"""Bytes of real data files, damaged at random: they are read, or refused with a BayesError that names the file."""

import io
import json
import random
import struct
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.errors import BadFile, BayesError

BIRDS = load_penguins()
TEXTS = pa.table({"Größe": ["klein", "groß", None, "größer"] * 30, "y": ["a", "b"] * 60})
MUTATIONS = 150


def as_csv(table):
    out = io.BytesIO()
    csv.write_csv(table, out)
    return out.getvalue()


def as_parquet(table, **settings):
    out = io.BytesIO()
    parquet.write_table(table, out, **settings)
    return out.getvalue()


def as_jsonl(table):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()).encode()


FILES = {
    "birds.csv": (as_csv(BIRDS), "species"),
    "texts.csv": (as_csv(TEXTS), "y"),
    "birds.jsonl": (as_jsonl(BIRDS), "species"),
    "texts.jsonl": (as_jsonl(TEXTS), "y"),
    "birds.parquet": (as_parquet(BIRDS), "species"),
    "plain.parquet": (as_parquet(BIRDS, use_dictionary=False, compression="none"), "species"),
    "pages.parquet": (as_parquet(BIRDS, compression="none", data_page_size=200), "species"),
    "texts.parquet": (as_parquet(TEXTS, compression="none", store_schema=False), "y"),
}


def damaged(raw, draw):
    """The bytes with a few of them changed, taken out, put in, doubled or cut off."""
    made = bytearray(raw)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        at = draw.randrange(len(made)) if draw.random() < 0.7 else max(len(made) - 1 - draw.randrange(600), 0)
        match draw.randrange(7):
            case 0:
                made[at] = draw.randrange(256)
            case 1:
                made[at] ^= 1 << draw.randrange(8)
            case 2:
                del made[at : at + draw.choice((1, 1, 4, 50))]
            case 3:
                made[at:at] = draw.randbytes(draw.choice((1, 1, 4, 50)))
            case 4:
                made[at : at + 4] = struct.pack("<i", draw.choice((0, -1, 2**31 - 1, -(2**31), 255)))
            case 5:
                made[at:at] = draw.choice((b'"', b"\n", b"\0", b"\xff", b",", b"{", b"\xf6", b"1e999", b"\\ud800"))
            case _:
                del made[at:]
        if not made:
            made = bytearray(b"\0")
    return bytes(made)


def used(path, target):
    """All that is done with a file: fit, score, predict."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = bk.NaiveBayes(roles="categorical" if "texts" in path.name else None).fit_source(path, target)
        model.leave_one_out(path, target)
        model.predict_proba(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_damaged_bytes_are_read_or_refused(tmp_path, name):
    raw, target = FILES[name]
    path = tmp_path / name
    draw = random.Random(name)
    refused = 0
    for i in range(MUTATIONS):
        path.write_bytes(damaged(raw, draw))
        try:
            used(path, target)
        except BayesError:
            refused += 1
        except Exception as problem:
            raise AssertionError(f"mutation {i} of {name}: {problem!r}") from problem
    assert refused > MUTATIONS // 10


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_text_in_another_encoding_is_told_with_the_option_that_reads_it(tmp_path, ending, encoding):
    text = (as_csv if ending == "csv" else as_jsonl)(TEXTS).decode()
    path = tmp_path / f"t.{ending}"
    path.write_bytes(text.encode(encoding))
    if encoding in ("latin-1", "cp1252", "utf-16-le"):
        fits = "cp1252" if encoding == "latin-1" else encoding
        with pytest.raises(BadFile, match=rf't\.{ending}, line 1.*would read .*pass encoding="{fits}"') as problem:
            used(path, "y")
        assert "'Größe'" in str(problem.value) or encoding == "utf-16-le"
    else:
        used(path, "y")  # a mark says what it is
    source = bk.open_source(path, "y", encoding=encoding)
    assert list(source.kinds) == ["Größe"]
    model = bk.NaiveBayes().fit_source(source)
    assert model.tally_.families["Größe"].values == ("groß", "größer", "klein")
    with pytest.raises(BadFile, match="encoding='hex': there is no such encoding of text"):
        bk.open_source(path, encoding="hex")


def test_a_parquet_column_whose_name_is_not_utf_8_is_told(tmp_path):
    path = tmp_path / "t.parquet"
    raw = as_parquet(pa.table({"Grxxe": [1, 2], "y": ["a", "b"]}), store_schema=False)
    path.write_bytes(raw.replace(b"Grxxe", "Größe".encode("latin-1")))
    with pytest.raises(
        BadFile, match=r"t\.parquet: the name of a column is not UTF-8; in cp1252 it would read 'Größe'"
    ):
        used(path, "y")


def test_folders_of_documents_in_another_encoding_are_read(tmp_path):
    from bayeskit.data.text.folders import FolderSource

    for label, text in (("gut", "schöne Größe"), ("schlecht", "böse Hitze")):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_bytes(text.encode("latin-1"))
    source = FolderSource.of_classes(tmp_path, encoding="latin-1")
    assert [t.as_py().decode() for b in source.batches() for t in b.columns["text"]] == ["schöne Größe", "böse Hitze"]
    with pytest.raises(BadFile, match=r"1\.txt, line 1: the text is not ascii.*'schöne'"):
        list(FolderSource.of_classes(tmp_path, encoding="ascii").batches())
