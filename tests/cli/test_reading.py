"""What a person may hand to a command: files of other forms, several files, rows that come one by one."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys

import pytest
from pyarrow import parquet

import bayeskit as bk
from tests.tallies import agree


def rows(text):
    """The lines of CSV as mappings."""
    return list(csv.DictReader(io.StringIO(text)))


def test_files_without_a_header_with_comments_and_decimal_commas_are_read(bayes, here):
    (here / "bare.csv").write_text("# by hand\n1,5;yes\n2,5;no\n# mended\n1,4;yes\n2,6;no\n")
    form = ["--decimal", ",", "--comment", "#"]
    bayes("fit", "bare.csv", "-t", "play", "--columns", "size,play", *form, "-o", "m.bayes")
    assert bk.load("m.bayes").table("size")["mean"] == [2.55, 1.45]
    said = rows(bayes("predict", "m.bayes", "bare.csv", "--columns", "size,play", *form).out)
    assert [row["predicted"] for row in said] == ["yes", "no", "yes", "no"]
    bayes("fit", "bare.csv", "-t", "c2", "--no-header", *form, "-o", "n.bayes")
    assert bk.load("n.bayes").schema_.used == ["c1"]


def test_the_form_of_a_file_stays_in_the_command_that_is_advised(bayes, here):
    (here / "bare.csv").write_text("1;yes\n2;no\n1;yes\n2;no\n")
    told = bayes("fit", "bare.csv", "-t", "c2", "--no-header", "--decimal", ",", "--role", "c1=numeric").out
    assert "  bayes fit bare.csv -t c2 -m best --role c1=numeric --no-header --decimal ," in told


def test_a_form_that_does_not_fit_is_told_in_options(refused, here):
    (here / "bare.csv").write_text("x;y\n1,5;yes\n2.5;no\n")
    refused(["fit", "bare.csv", "-t", "y", "--columns", "a"], 1, "line 1: 2 cells where --columns names 1")
    refused(["fit", "bare.csv", "-t", "y", "--type", "x=float"], 1, "decimal comma, pass --decimal ,.")


# -- several files -------------------------------------------------------------------------------------


def test_several_files_are_one_table_for_every_command(bayes, model, here):
    words = ["-t", "species", "--role", "year=categorical", "--no-scores"]
    assert "half.csv and 1 more: 344 rows" in bayes("fit", "half.csv", "rest.csv", *words, "-o", "parts.bayes").out
    assert agree(bk.load("parts.bayes").tally_, bk.load(model).tally_)
    both = bayes("predict", model, "half.csv").out + bayes("predict", model, "rest.csv").out.partition("\n")[2]
    assert bayes("predict", model, "half.csv", "rest.csv").out == both
    assert "344 rows of half.csv and 1 more" in bayes("evaluate", model, "half.csv", "rest.csv").out
    assert "344 + 344 = 688" in bayes("learn", model, "half.csv", "rest.csv", "-o", "more.bayes").out
    assert "688 − 344 = 344" in bayes("forget", "more.bayes", "rest.csv", "half.csv").out
    assert (
        bayes("explain", model, "half.csv", "rest.csv", "--row", "172").out.splitlines()[1:]
        == (bayes("explain", model, "rest.csv").out.splitlines()[1:])
    )
    assert bayes("rank", model, "half.csv", "rest.csv", "--class", "Gentoo", "-n", "1").out


def test_the_way_to_a_stronger_model_names_all_files(bayes, here):
    told = bayes("fit", "half.csv", "rest.csv", "-t", "species", "--no-scores").out
    assert "  bayes fit half.csv rest.csv -t species -m best" in told


def test_what_is_no_table_among_several_files_is_named(bayes, model, here):
    told = bayes("predict", model, "half.csv", model, code=1).err
    assert "birds.bayes is a model of bayeskit, and no table" in told
    assert "name - once" in bayes("predict", model, "-", "-", code=1).err
    assert "would be lost" in bayes("predict", model, "half.csv", "rest.csv", "-o", "rest.csv", code=1).err


def test_several_paths_are_one_source_in_python(here):
    source = bk.open_source([here / "half.csv", here / "rest.csv"], "species")
    assert bk.NaiveBayes(roles={"year": "categorical"}).fit_source(source).tally_.n_rows == 344


def test_a_file_is_a_document_on_wish_and_else_its_lines_are(bayes, here):
    (here / "mail.csv").write_text("body,kind\ncheap pills,spam\nlunch at noon,ham\n")
    bayes("fit", "mail.csv", "--text", "body", "-t", "kind", "--recipe", "multinomial", "-o", "mail.bayes")
    (here / "one.txt").write_text("lunch\nat noon\ncheap\n")
    (here / "two.csv").write_text("cheap,pills\nat\n")
    said = rows(bayes("predict", "mail.bayes", "--whole-file", "one.txt", "two.csv").out)
    assert [(row["file"], row["predicted"]) for row in said] == [("one.txt", "ham"), ("two.csv", "spam")]
    assert rows(bayes("predict", "mail.bayes", "--whole-file", "*.txt").out) == said[:1]
    piped = rows(bayes("predict", "mail.bayes", "--whole-file", "-", stdin=b"cheap\npills\nat").out)
    assert [(row["file"], row["predicted"]) for row in piped] == [("-", "spam")]
    assert len(rows(bayes("predict", "mail.bayes", "one.txt", "one.txt").out)) == 6
    assert "one.txt: ham" in bayes("explain", "mail.bayes", "one.txt", "--whole-file").out
    ranked = bayes("rank", "mail.bayes", "--class", "spam", "--whole-file", "one.txt", "two.csv").out
    assert rows(ranked)[0]["file"] == "two.csv"
    assert "there is no file 'no.txt'" in bayes("predict", "mail.bayes", "--whole-file", "no.txt", code=1).err
    told = bayes("predict", "mail.bayes", "--whole-file", "two.csv", "--text", "body", code=2).err
    assert "leave one of them out" in told


def test_whole_files_are_for_documents_alone(bayes, model, here):
    assert "--whole-file is for models of documents" in bayes("predict", model, "half.csv", "--whole-file", code=2).err


# -- rows that come one by one -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_row_is_answered_before_the_next_one_comes(model, here, kind):
    lines = (here / "birds.csv").read_bytes().splitlines(keepends=True)
    if kind == "jsonl":
        table = list(csv.DictReader(io.StringIO((here / "birds.csv").read_text())))
        number = {"bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"}
        read = [{k: (float(v) if k in number else v) if v else None for k, v in row.items()} for row in table]
        lines = [b"", *((json.dumps(row) + "\n").encode() for row in read)]
    command = [sys.executable, "-m", "bayeskit.cli", "predict", model, "-", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        process.stdin.write(lines[0])
        for line, label in ((lines[1], "Adelie"), (lines[200], "Gentoo"), (lines[300], "Chinstrap")):
            process.stdin.write(line)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["predicted"] == label
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_rows_of_a_pipe_are_answered_as_those_of_the_file(bayes, model, here):
    data, said = (here / "birds.csv").read_bytes(), bayes("predict", model, "birds.csv", "--proba").out
    assert bayes("predict", model, "-", "--proba", stdin=data).out == said
    assert bayes("predict", model, "-", "--proba", stdin=gzip.compress(data)).out == said
    bayes("predict", model, "-", "--proba", "-o", "said.csv", stdin=data)
    assert (here / "said.csv").read_text() == said
    kept = bayes("predict", model, "birds.csv", "--keep-all").out
    assert bayes("predict", model, "-", "--keep-all", stdin=data).out == kept
    assert (
        bayes("explain", model, "-", "--row", "3", stdin=data).out
        == bayes("explain", model, "birds.csv", "--row", "3").out
    )


def test_what_is_no_table_is_told_in_a_pipe(bayes, model, here):
    assert (
        "is a model of bayeskit, and no table"
        in bayes("predict", model, "-", code=1, stdin=(here / model).read_bytes()).err
    )
    assert "is empty" in bayes("predict", model, "-", code=1).err
    assert "has no column 'id' to keep" in bayes("predict", model, "-", "--keep", "id", code=1, stdin=b"a,b\n1,2\n").err


# -- what is kept, and what cannot be read ---------------------------------------------------------------


def test_all_columns_are_kept_beside_the_answer(bayes, model, here):
    said = rows(bayes("predict", model, "birds.csv", "--keep-all").out)
    table = rows((here / "birds.csv").read_text())
    assert list(said[0]) == [*table[0], "predicted", "probability"]
    assert [row["island"] for row in said] == [row["island"] for row in table]
    told = bayes("predict", model, "birds.csv", "--keep-all", "-o", "all.parquet")
    assert told.err == "344 rows written to all.parquet\n"
    assert told.out == ""
    assert parquet.read_table("all.parquet").num_rows == 344
    (here / "said.csv").write_text("island,probability\nDream,x\n")
    bayes("fit", "birds.csv", "-t", "species", "--no-scores", "-o", "s.bayes", *ONE_COLUMN)
    assert list(rows(bayes("predict", "s.bayes", "said.csv", "--keep-all").out)[0]) == [
        "island", "probability", "predicted", "model_probability",
    ]  # fmt: skip


ONE_COLUMN = [
    word for name in ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "sex", "year")
    for word in ("--role", f"{name}=ignore")
]  # fmt: skip


def test_all_of_a_line_is_its_text(bayes, here):
    (here / "mail.csv").write_text("body,kind\ncheap pills,spam\nlunch at noon,ham\n")
    bayes("fit", "mail.csv", "--text", "body", "-t", "kind", "--recipe", "multinomial", "-o", "mail.bayes")
    said = rows(bayes("predict", "mail.bayes", "-", "--keep-all", stdin=b"cheap, cheap\nnoon \xff\n").out)
    assert [(row["text"], row["predicted"]) for row in said] == [("cheap, cheap", "spam"), ("noon \ufffd", "ham")]
    assert rows(bayes("predict", "mail.bayes", "mail.csv", "--keep-all").out)[0]["body"] == "cheap pills"


def test_cells_that_cannot_be_read_are_missing_on_wish_and_counted(bayes, model, here):
    table = rows((here / "birds.csv").read_text())[:3]
    empty = [{**row} for row in table]
    for name, cell in (("bill_length_mm", "long"), ("year", "old"), ("bill_depth_mm", "1O")):
        table[1][name], empty[1][name] = cell, ""
    table[2]["bill_length_mm"], empty[2]["bill_length_mm"] = "1,5", ""
    for name, lines in (("bad.csv", table), ("empty.csv", empty)):
        with (here / name).open("w") as file:
            out = csv.DictWriter(file, list(table[0]))
            out.writeheader()
            out.writerows(lines)
    expected = bayes("predict", model, "empty.csv").out
    assert "line 3: column 'bill_length_mm' holds 'long'" in bayes("predict", model, "bad.csv", code=1).err
    told = bayes("predict", model, "bad.csv", "--unreadable", "missing")
    assert told.out == expected
    assert told.err.startswith("bayes: note: 4 cells could not be read and count as missing: ")
    assert "2 of bill_length_mm, such as 'long'" in told.err
    piped = bayes("predict", model, "-", "--unreadable", "missing", stdin=(here / "bad.csv").read_bytes())
    assert (piped.out, piped.err) == (told.out, told.err)
    assert bayes("predict", model, "bad.csv", "--unreadable", "missing", "--quiet").err == ""
    lines = "".join(json.dumps({k: v or None for k, v in row.items()}) + "\n" for row in [{**table[0], "year": 2007}])
    spoilt = json.loads(lines) | {"bill_length_mm": "long"}
    (here / "bad.jsonl").write_text(json.dumps({"island": "Dream", "bill_length_mm": 40.5}) + "\n" + json.dumps(spoilt))
    told = bayes(
        "rank",
        model,
        "-",
        "--class",
        "Gentoo",
        "--unreadable",
        "missing",
        stdin=(here / "bad.jsonl").read_bytes(),
    )
    assert "in its first lines: they are taken as missing" in told.err
    told = bayes("predict", model, "-", "--unreadable", "missing", stdin=(here / "bad.jsonl").read_bytes())
    assert "of bill_length_mm, such as 'long'" in told.err
    assert "none of error, missing" in bayes("predict", model, "bad.csv", "--unreadable", "odd", code=2).err


def test_rows_unlike_those_of_the_training_are_noted_once_and_answered(bayes, model, here):
    text = (here / "birds.csv").read_text()
    (here / "moved.csv").write_text(text.replace("Torgersen", "Elephant"))
    told = bayes("predict", model, "moved.csv")
    assert told.err == (
        "bayes: note: these rows are unlike those of the training: "
        "island has a value never seen there in 15% of the cells (0% expected)\n"
    )
    assert len(rows(told.out)) == 344
    assert bayes("predict", model, "moved.csv", "-q").err == ""
    assert bayes("predict", model, "birds.csv").err == ""
    assert bayes("predict", model, "-", stdin=(here / "moved.csv").read_bytes()).err == told.err
