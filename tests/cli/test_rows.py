"""Rows as they come at a terminal: without a class, without a column, with dates."""

import json
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import bayeskit as bk

pytestmark = pytest.mark.slow

NOTE = "bayes: note: birds.csv: 11 of 344 rows have no label (lines 5, 10, 11, 12, 13, …): left out\n"
FIXED = "stayed fixed: kinds of numbers, cut points\n"


def test_rows_without_a_class_are_counted_and_left_out_on_wish(bayes):
    told = bayes("fit", "birds.csv", "-t", "sex", code=1)
    assert "birds.csv: 11 of 344 rows have no label (lines 5, 10, 11, 12, 13, …) in column 'sex'" in told.err
    assert told.err.endswith("or pass --drop-unlabeled to leave them out\n")
    told = bayes("fit", "birds.csv", "-t", "sex", "--drop-unlabeled", "--role", "year=ignore", "-o", "sex.bayes")
    assert told.err == NOTE  # once, though the scores read the rows again
    assert told.out.startswith("birds.csv: 333 rows, 2 classes of sex")
    assert "bayes fit birds.csv -t sex -m best --role year=ignore --drop-unlabeled -o sex.bayes" in told.out
    told = bayes("learn", "sex.bayes", "birds.csv")  # the model keeps to it
    assert (told.out, told.err) == (f"sex.bayes: 333 + 333 = 666 rows\n{FIXED}", NOTE)
    assert bayes("forget", "sex.bayes", "birds.csv").out == f"sex.bayes: 666 − 333 = 333 rows\n{FIXED}"
    told = bayes("evaluate", "sex.bayes", "birds.csv", "--folds", "3")
    assert told.out.count("333 rows of birds.csv") == 2


def test_the_option_is_of_its_command_and_the_setting_of_the_model(bayes, here):
    lines = (here / "birds.csv").read_text().splitlines()
    whole = [line for line in lines if line.split(",")[-2] != ""]
    (here / "whole.csv").write_text("\n".join(whole) + "\n")
    bayes("fit", "whole.csv", "-t", "sex", "--role", "year=ignore", "-o", "sex.bayes", "--no-scores")
    assert "pass --drop-unlabeled to leave" in bayes("learn", "sex.bayes", "birds.csv", code=1).err
    assert bayes("learn", "sex.bayes", "birds.csv", "--drop-unlabeled").out.startswith(
        "sex.bayes: 333 + 333 = 666 rows\n"
    )
    assert bayes("forget", "sex.bayes", "birds.csv", "--drop-unlabeled").out.startswith(
        "sex.bayes: 666 − 333 = 333 rows\n"
    )
    assert bk.load("sex.bayes").unlabeled == "error"
    assert "no label" in bayes("evaluate", "sex.bayes", "birds.csv", code=1).err
    told = bayes("evaluate", "sex.bayes", "birds.csv", "--drop-unlabeled", "--held-out")
    assert told.out.startswith("333 rows of birds.csv")


def test_documents_without_a_class_are_left_out_on_wish(bayes, here):
    (here / "mail.csv").write_text("body,kind\n" + "buy pills,spam\nsee you,ham\nhello,\n" * 3)
    assert "mail.csv: 3 of 9 rows have no label (lines 4, 7, 10)" in bayes(
        "fit", "mail.csv", "-t", "kind", "--text", "body", code=1
    ).err  # fmt: skip
    told = bayes("fit", "mail.csv", "-t", "kind", "--text", "body", "--recipe", "multinomial", "--drop-unlabeled")
    assert told.out.startswith("mail.csv: 6 documents")
    assert told.err.count("left out") == 1


LINES = [{"sex": "male", "body_mass_g": 5000}, {"island": "Dream"}, {"flipper_length_mm": 220.5}, {"note": "x"}]


def test_rows_that_lack_columns_are_answered_and_that_is_said_once(bayes, model, here):
    (here / "some.csv").write_text("island,id\nDream,u\nBiscoe,v\n")
    told = bayes("predict", model, "some.csv", "--keep", "id")
    assert [line.split(",")[0] for line in told.out.splitlines()] == ["id", "u", "v"]
    assert told.err == (
        "bayes: note: some.csv has no columns bill_length_mm, bill_depth_mm, flipper_length_mm, body_mass_g, sex, "
        "year: they are taken as missing\n"
    )
    assert "bill_length_mm is missing and left out" in bayes("explain", model, "some.csv", "--row", "1").out
    (here / "slip.csv").write_text("Island,sex\nDream,male\n")
    told = bayes("predict", model, "slip.csv", code=1)
    assert told.err.startswith("bayes: slip.csv: column 'island' is missing from the data, which has 'Island'")


def test_a_line_is_answered_alike_alone_and_among_others(bayes, model):
    together = bayes("predict", model, "-", stdin="".join(json.dumps(line) + "\n" for line in LINES).encode())
    for line, answer in zip(LINES, together.out.splitlines()[1:], strict=True):
        assert bayes("predict", model, "-", stdin=json.dumps(line).encode()).out.splitlines()[1] == answer


MOMENTS = [None if i == 9 else datetime(2023, 11, 3, 7) + timedelta(hours=37 * i) for i in range(70)]
DAYS = {
    "when": MOMENTS,
    "sky": ["sun", "rain"] * 35,
    "kind": ["work" if moment is None or moment.weekday() < 5 else "rest" for moment in MOMENTS],
}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_date_is_taken_by_its_parts(bayes, here, suffix):
    table, data = pa.table(DAYS), f"days.{suffix}"
    if suffix == "jsonl":
        rows = [row | {"when": row["when"] and str(row["when"])} for row in table.to_pylist()]
        (here / data).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        (csv.write_csv if suffix == "csv" else pq.write_table)(table, data)
    assert "other roles are numeric" in bayes("fit", data, "-t", "kind", code=1).err
    told = bayes("fit", data, "-t", "kind", "--role", "when=month,weekday", "-o", "days.bayes")
    assert "when.weekday  date part" in told.out
    wanted = bk.NaiveBayes(roles={"when": bk.Date("month", "weekday")}).fit(pa.table(DAYS), "kind")
    assert bk.load("days.bayes").tally_.families == wanted.tally_.families
    assert bayes("evaluate", "days.bayes", data, "--folds", "3").out.count("70 rows") == 2
    (here / "new.jsonl").write_text('{"sky": "sun"}\n{"when": "2024-02-03"}\n')
    answers = bayes("predict", "days.bayes", "new.jsonl").out.splitlines()
    assert [line.split(",")[0] for line in answers] == ["predicted", "work", "rest"]
    assert "when.weekday" in bayes("explain", "days.bayes", data).out
