"""Sequences in every form are the same positions, and what is not a sequence is refused with its place."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.data import frames
from bayeskit.data.encoder import Encoder
from bayeskit.data.reader import read_table
from bayeskit.data.schema import infer
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError, SchemaMismatch

SYMBOLS = [["sun", "rain", None], [], ["sun"]]
STARTS = [0, 3, 3, 4]
FLAT = ["sun", "rain", None, "sun"]
FRAME = {"walk": ["a", "a", "a", "c"], "sky": FLAT}


def cells(sequences, name="x0"):
    column = sequences.columns[name]
    return column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()


@pytest.mark.parametrize(
    "data",
    [
        SYMBOLS,
        tuple(map(tuple, SYMBOLS)),
        [np.array(one, dtype=object) for one in SYMBOLS],
        np.array(SYMBOLS, dtype=object),
        pa.array(SYMBOLS),
        pa.chunked_array([SYMBOLS[:1], SYMBOLS[1:]], type=pa.list_(pa.string())),
        pa.array(SYMBOLS, type=pa.large_list(pa.large_string())),
        pa.array([["hail"], *SYMBOLS]).slice(1),
        pl.Series(SYMBOLS),
        pd.Series(SYMBOLS),
    ],
)
def test_lists_in_every_form_are_the_same(data):
    made = Sequences.of(data)
    assert made.starts.tolist() == STARTS
    assert cells(made) == FLAT


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table, lambda d: pd.DataFrame(d).to_dict("records")]
)
def test_a_frame_with_a_column_of_ids_gives_sequences_in_the_order_of_their_first_rows(make):
    made = Sequences.of(make(FRAME), sequence="walk")
    assert (made.starts.tolist(), made.ids, list(made.columns)) == ([0, 3, 4], ("a", "c"), ["sky"])
    assert [cell if isinstance(cell, str) else None for cell in cells(made, "sky")] == FLAT


@pytest.mark.parametrize(
    "at",
    [
        [3, 1, 2, 9],
        [3.5, -1.0, 0.0, 1.0],
        ["c", "a", "b", "z"],
        pd.to_datetime(["2026-03-01", "2026-01-01", "2026-02-01", "2020-01-01"]),
    ],
)
def test_rows_may_stand_anywhere_and_the_order_column_puts_them_right(at):
    frame = pd.DataFrame({"walk": ["a", "a", "c", "a"], "at": [at[0], at[1], at[3], at[2]], "x": [30, 10, 90, 20]})
    frame["y"] = frame["x"]
    made = Sequences.of(frame, sequence="walk", order="at", labels="x")
    assert made.starts.tolist() == [0, 3, 4]
    assert made.labels.tolist() == [10, 20, 30, 90]
    unordered = Sequences.of(frame.drop(columns="at"), sequence="walk")
    assert cells(unordered, "x") == [30, 10, 20, 90]


def test_files_are_read_as_frames_are(tmp_path):
    path = tmp_path / "walks.csv"
    path.write_text("walk,at,sky\n1,2,rain\n2,1,sun\n1,1,\n")
    made = Sequences.of(str(path), sequence="walk", order="at")
    assert (cells(made, "sky"), made.starts.tolist(), made.ids) == ([None, "rain", "sun"], [0, 2, 3], (1, 2))


def test_arrays_are_cut_by_lengths_as_hmmlearn_has_them():
    x = np.arange(12.0).reshape(6, 2)
    made = Sequences.of(x, [2, 4])
    assert (made.starts.tolist(), list(made.columns), made.named) == ([0, 2, 6], ["x0", "x1"], False)
    assert Sequences.of(x).starts.tolist() == [0, 6]
    assert Sequences.of(x[:, 0]).starts.tolist() == [0, 6]
    assert Sequences.of(x.reshape(3, 2, 2)).starts.tolist() == [0, 2, 4, 6]
    assert cells(Sequences.of([x[:2], x[2:]]), "x1") == x[:, 1].tolist()
    assert cells(Sequences.of(x.tolist(), [2, 4]), "x1") == x[:, 1].tolist()
    assert Sequences.of(x, [0, 6, 0]).starts.tolist() == [0, 0, 6, 6]


def test_records_rows_and_frames_make_several_columns():
    records = [[{"sky": "sun", "wind": 1.5}, {"sky": "rain"}], [{"wind": 2.0}]]
    made = Sequences.of(records)
    assert (made.kinds, made.starts.tolist()) == ({"sky": "string", "wind": "float"}, [0, 2, 3])
    assert cells(made, "wind") == [1.5, None, 2.0]
    assert cells(Sequences.of(pa.array(records)), "sky") == ["sun", "rain", None]
    assert cells(Sequences.of([[("sun", 1), ("rain", 2)], [("sun", 3)]]), "x1") == [1, 2, 3]
    frames_ = [pd.DataFrame({"sky": ["sun", "rain"]}), pd.DataFrame({"sky": ["sun"]})]
    assert Sequences.of(frames_).starts.tolist() == [0, 2, 3]
    with pytest.raises(SchemaMismatch, match="differ in their columns: sky and wind"):
        Sequences.of([frames_[0], pd.DataFrame({"wind": [1]})])


def test_labels_come_as_the_sequences_do_and_may_be_missing():
    nested, flat = [["r", None, "d"], [], ["d"]], ["r", None, "d", "d"]
    for labels in (nested, flat, pa.array(nested), np.array(flat, dtype=object)):
        made = Sequences.of(SYMBOLS, labels=labels)
        assert made.coded(made.labels, Vocabulary(["d", "r"])).tolist() == [1, -1, 0, 0]
    with pytest.raises(BayesError, match="sequence 1 has 3 steps and 2 labels"):
        Sequences.of(SYMBOLS, labels=[["r", "d"], [], ["d"]])
    with pytest.raises(BayesError, match="3 sequences and labels of 2"):
        Sequences.of(SYMBOLS, labels=[["r", "d", "d"], []])
    with pytest.raises(BayesError, match="4 steps in all, and there are 2 labels"):
        Sequences.of(SYMBOLS, labels=["r", "d"])
    with pytest.raises(BayesError, match="go with a frame or file"):
        Sequences.of(SYMBOLS, labels="state")


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (None, {}, "there is no data"),
        ("sun rain", {}, "nothing|no such|cannot|not found|there is no"),
        (7, {}, "is not a set of sequences"),
        ([["sun"], "rain"], {}, r"sequence 2 is a str \('rain'\).*\[sequence\]"),
        ([[1], 2], {}, r"sequence 2 is an int \(2\)"),
        ([["sun"], None], {}, "sequence 2 is missing"),
        (pa.array([["sun"], None]), {}, "sequence 2 is missing: give an empty list"),
        ([["sun", ["rain"]]], {}, "some steps are single values"),
        ([[1.0, 2.0], [np.inf]], {}, "step 1 of sequence 2 is infinite"),
        (np.array([[1.0, 2.0], [3.0, -np.inf]]), {}, "step 2 of sequence 1 is infinite in column 'x1'"),
        ([[1e200]], {}, "too large"),
        (np.zeros((3, 1)), {"lengths": [1, 1]}, "the lengths sum to 2, and there are 3 steps"),
        (np.zeros((3, 1)), {"lengths": [4, -1]}, "sequence 2 has the length -1"),
        (np.zeros((3, 1)), {"lengths": [1.5, 1.5]}, "lengths are whole numbers"),
        (np.zeros((2, 3, 1)), {"lengths": [3, 3]}, "leave out lengths"),
        (FRAME, {"sequence": "wolk"}, "no column 'wolk' for the sequence .*did you mean|walk"),
        (FRAME, {"sequence": "walk", "order": "at"}, "no column 'at' for the order"),
        (FRAME, {"order": "sky"}, "goes with sequence="),
        (FRAME, {"sequence": "walk", "lengths": [4]}, "leave out lengths"),
        (FRAME, {"sequence": "sky"}, "row 2 has no 'sky'"),
        (FRAME, {"sequence": "walk", "order": "sky"}, "row 2 has no 'sky', which says where"),
        ({"walk": [1, 2]}, {"sequence": "walk"}, "there is no column that the sequences could be made of"),
    ],
)
def test_what_is_no_sequence_is_refused(data, settings, message):
    with pytest.raises((BayesError, FileNotFoundError), match=message):
        Sequences.of(data, **settings)


def test_nothing_is_no_sequences_and_empty_ones_have_no_positions():
    assert (len(Sequences.of([])), len(Sequences.of([[], []]))) == (0, 2)
    schema = infer({"x0": "string"})
    block = Sequences.of([[], []]).block(Encoder(schema))
    assert (block.n_rows, block.sequence_starts.tolist()) == (0, [0, 0, 0])


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_blocks_end_where_sequences_end_and_join_to_the_whole(size, monkeypatch):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 5, 40)
    made = Sequences.of(rng.integers(0, 3, lengths.sum()).reshape(-1, 1), lengths)
    schema = infer(made.kinds, roles="categorical")
    whole = made.block(Encoder(schema, grow=True))
    monkeypatch.setattr(frames, "BLOCK", size)
    blocks = list(Encoder(schema, grow=True).blocks(made))
    assert all(block.n_rows and block.sequence_starts[-1] == block.n_rows for block in blocks)
    assert sum(len(block.sequence_starts) - 1 for block in blocks) == 40
    again = made.block(Encoder(schema, grow=True))
    assert np.array_equal(again.sequence_starts, whole.sequence_starts)
    assert np.array_equal(again.sequence_starts, np.concatenate([[0], np.cumsum(lengths)]))
    assert len(again.codes["x0"]) == lengths.sum()


def test_some_sequences_can_be_taken_in_any_order():
    made = Sequences.of(FRAME, sequence="walk", weights=[1.0, 2.0])
    two = made.take([1, 0, 1])
    assert (two.starts.tolist(), two.ids, two.weights.tolist()) == ([0, 1, 4, 5], ("c", "a", "c"), [2.0, 1.0, 2.0])
    assert cells(two, "sky") == ["sun", *FLAT]
    assert made.take(np.array([False, True])).ids == ("c",)


def test_a_column_of_the_whole_sequence_holds_one_value_in_each():
    frame = {"walk": [1, 1, 2], "word": ["yes", "yes", "no"], "x": [0.5, 1.5, 2.5]}
    rest, label = Sequences.of(frame, sequence="walk").of_sequence("word")
    assert (label.to_pylist(), list(rest.columns)) == (["yes", "no"], ["x"])
    frame["word"][1] = "no"
    with pytest.raises(BayesError, match="'word' holds more than one value in sequence 1"):
        Sequences.of(frame, sequence="walk").of_sequence("word")


def test_a_frame_with_columns_of_such_names_is_a_table():
    frame = pd.DataFrame({"ids": [1, 2], "starts": [3, 4]})
    assert read_table(frame, [0, 1]).data is frame
    whole = read_table(Sequences.of(SYMBOLS), ["a", "b", "c"])
    assert (whole.n_rows, whole.take(np.array([2, 0])).starts.tolist()) == (3, [0, 1, 4])


def test_sequences_their_schema_and_their_tally_print_as_tables():
    walks = Sequences.of([["sun", "<rain>", None], [], ["sun"] * 12])
    assert str(walks).splitlines()[:2] == ["3 sequences with 15 steps", "sequence  steps  x0"]
    assert "&lt;rain&gt;" in walks._repr_html_()
    model = bk.NaiveBayes().fit({"sky": ["sun", "rain"], "x": [1.0, 2.0]}, ["a", "b"])
    assert str(model.schema_).splitlines()[1:3] == ["column  role         settings", "sky     categorical"]
    assert repr(model.tally_).splitlines()[:2] == ["Tally of 2 rows, 2 classes, 2 columns", "class  rows"]
