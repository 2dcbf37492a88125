"""Each command does what the library does, and says so."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import bayeskit as bk
from bayeskit.cli.app import COMMANDS
from bayeskit.cli.console import Page
from bayeskit.datasets import load_penguins, path
from bayeskit.models import to_bytes

BIRDS = load_penguins()
ROLES = {"year": "categorical"}


def fitted():
    return bk.NaiveBayes(roles=ROLES).fit(BIRDS, "species")


def test_every_line_fits_in_eighty_columns(bayes, model):
    for words in (
        ["fit", "birds.csv", "--target", "species"],
        ["evaluate", model, "birds.csv", "--folds", "3"],
        ["explain", model, "birds.csv", "--row", "0"],
        ["explain", model],
        ["inspect", model],
        ["inspect", model, "--column", "island"],
    ):
        assert max(map(len, bayes(*words).out.splitlines())) <= 80, words


def test_tables_of_many_classes_are_broken_into_parts(capsys):
    Page().table({"value": ["a"], **{f"P(value | class {i})": [0.125] for i in range(12)}})
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert said.count("0.125") == 12
    assert said.count("value ") >= 3


@pytest.mark.slow
def test_what_a_model_cannot_do_is_told_with_what_helps(bayes):
    bayes("fit", "half.csv", "-t", "species", "-m", "subclass", "-o", "sub.bayes", "--role", "year=ignore")
    for how, remedy in (
        ("learn", "learn more: fit it again with all rows"),
        ("forget", "forget: fit it without those"),
    ):
        assert f"sub.bayes: a SubclassBayes cannot {remedy}" in bayes(how, "sub.bayes", "rest.csv", code=1).err


def test_predict_prints_the_classes_of_the_rows_in_order(bayes, model):
    told = bayes("predict", model, "birds.csv")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert [row["predicted"] for row in rows] == fitted().predict(BIRDS).tolist()
    best = fitted().predict_proba(BIRDS).max(axis=1)
    assert np.allclose([float(row["probability"]) for row in rows], best, atol=1e-12)


def test_predict_writes_all_probabilities_kept_columns_and_any_format(bayes, model):
    bayes("predict", model, "birds.csv", "--proba", "--keep", "island", "--keep", "species", "-o", "said.parquet")
    said = parquet.read_table("said.parquet")
    names = ["island", "species", "predicted", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
    assert said.column_names == names
    assert said["island"].to_pylist() == BIRDS["island"].to_pylist()
    assert np.allclose(np.column_stack([said[name] for name in names[3:]]), fitted().predict_proba(BIRDS))
    bayes("predict", model, "birds.csv", "-o", "said.jsonl")
    lines = [json.loads(line) for line in Path("said.jsonl").read_text().splitlines()]
    assert [line["predicted"] for line in lines] == fitted().predict(BIRDS).tolist()
    assert not list(Path().glob(".*.part"))


def test_texts_with_commas_are_quoted_and_others_are_not(bayes, here):
    (here / "odd.csv").write_text('a,y\n"x, ""1""",p\nz,q\n')
    bayes("fit", "odd.csv", "-t", "y", "-o", "odd.bayes", "--no-scores")
    told = bayes("predict", "odd.bayes", "odd.csv", "--keep", "a")
    rows = list(csv.reader(io.StringIO(told.out)))
    assert [row[:2] for row in rows] == [["a", "predicted"], ['x, "1"', "p"], ["z", "q"]]
    assert bayes("predict", "odd.bayes", "odd.csv").out.splitlines()[1].startswith("p,")


def test_evaluate_gives_leave_one_out_folds_and_held_out_rows(bayes, model):
    exact = fitted().leave_one_out(BIRDS, "species")
    found = bayes("evaluate", model, "birds.csv", "--folds", "5", "--json").json["evaluations"]
    assert [e["method"] for e in found] == ["leave-one-out", "5-fold cross-validation"]
    assert found[0]["accuracy"] == exact.accuracy
    assert found[0]["confusion"] == exact.counts.tolist()
    assert "true species" in bayes("evaluate", model, "birds.csv").out

    bayes("fit", "half.csv", "-t", "species", "--role", "year=categorical", "-o", "half.bayes", "--no-scores")
    half = bk.load("half.bayes")
    new = BIRDS.filter([i % 2 == 1 for i in range(344)])
    found = bayes("evaluate", "half.bayes", "rest.csv", "--held-out", "--json").json["evaluations"][0]
    assert found["accuracy"] == pytest.approx(half.score(new, "species"))
    assert found["log_loss"] == pytest.approx(-half.log_likelihood(new, "species").conditional / new.num_rows)
    assert bayes("evaluate", "half.bayes", "rest.csv", "--json").json["evaluations"][0]["log_loss"] == found["log_loss"]
    told = bayes("evaluate", "half.bayes", "birds.csv", "--json")
    assert "learned" not in told.err  # the overlap is stated once, in the notes
    nested = told.json["evaluations"][0]
    assert nested["method"] == "held-out rows"
    assert "about 172 of the 172 rows that the model learned are among them" in nested["notes"][0]
    told = bayes("evaluate", "half.bayes", "birds.csv", "--leave-one-out", code=1)
    assert "more rows of class" in told.err
    assert "--held-out" in told.err
    assert "opposite" in bayes("evaluate", model, "birds.csv", "--leave-one-out", "--held-out", code=2).err


def test_held_out_rows_of_an_unknown_class_count_as_wrong_and_apart(bayes, here):
    (here / "one.csv").write_text("a,y\nu,p\nu,p\nv,q\nv,q\n")
    (here / "two.csv").write_text("a,y\nu,p\nv,q\nv,new\n")
    bayes("fit", "one.csv", "-t", "y", "-o", "one.bayes", "--no-scores")
    found = bayes("evaluate", "one.bayes", "two.csv", "--held-out", "--json").json["evaluations"][0]
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["classes"] == ["new", "p", "q"]


def test_explain_sums_to_the_log_odds_and_says_it_in_words(bayes, model):
    found = bayes("explain", model, "birds.csv", "--row", "3", "--row", "200", "--json").json["rows"]
    assert [row["row"] for row in found] == [3, 200]
    scores = fitted().predict_joint_log_proba(BIRDS)
    classes = fitted().classes_.tolist()
    for row in found:
        a, b = (scores[row["row"], classes.index(row[which])] for which in ("predicted", "against"))
        total = row["prior_log_odds"] + sum(c["log_odds"] for c in row["contributions"])
        assert total == pytest.approx(a - b, abs=1e-9)
        assert row["log_odds"] == pytest.approx(a - b, abs=1e-9)
    told = bayes("explain", model, "birds.csv", "--row", "3")
    assert "row 3: Adelie with probability" in told.out
    assert re.search(r"island Torgersen makes Adelie \d+ times as likely as Chinstrap", told.out)
    assert "sex is missing and left out" in told.out
    assert "Gentoo" in bayes("explain", model, "birds.csv", "--row", "3", "--against", "Gentoo").out


def test_explain_works_a_posterior_by_hand(bayes):
    bayes("fit", "tennis.csv", "--target", "play", "-o", "tennis.bayes")
    told = bayes("explain", "tennis.bayes", "tennis.csv", "--row", "3", "--work").out
    assert "P(outlook rain | no)      2/5 = 0.4  (2 + 1)/(5 + 3)     0.375" in told
    assert "product: 9/14 · 4/12 · 5/12 · 4/11 · 7/11 = 5/242 = 0.0206612" in told
    assert "P(yes | x) = 0.0206612 / (0.0153745 + 0.0206612) = 0.573354" in told
    row = bayes("explain", "tennis.bayes", "tennis.csv", "--row", "3", "--work", "--json").json["rows"][0]
    assert [c["posterior"] for c in row["classes"]] == pytest.approx([0.426646, 0.573354], abs=1e-6)
    assert "name DATA" in bayes("explain", "tennis.bayes", "--work", code=1).err
    assert "--against" in bayes("explain", "tennis.bayes", "tennis.csv", "--work", "--against", "no", code=2).err
    bayes("fit", "tennis.csv", "--target", "play", "-m", "aode", "-o", "aode.bayes")
    assert "\nmean: (" in bayes("explain", "aode.bayes", "tennis.csv", "--row", "3", "--work").out
    row = bayes("explain", "aode.bayes", "tennis.csv", "--row", "3", "--work", "--json").json["rows"][0]
    assert [member["member"] for member in row["members"]] == ["outlook", "temperature", "humidity", "wind"]
    assert sum(c["posterior"] for c in row["classes"]) == pytest.approx(1)
    bayes("fit", "tennis.csv", "--target", "play", "-m", "nbtree", "-o", "nbtree.bayes")
    assert "NBTree has no work" in bayes("explain", "nbtree.bayes", "tennis.csv", "--work", code=1).err
    (Path("mail.csv")).write_text("text,kind\ncheap pills,spam\nlunch at noon,ham\n")
    bayes("fit", "mail.csv", "--text", "text", "--target", "kind", "--recipe", "multinomial", "-o", "mail.bayes")
    assert "(1 + 1)/(2 + 5)" in bayes("explain", "mail.bayes", "mail.csv", "--work").out


def test_explain_without_data_shows_what_tells_most(bayes, model):
    told = bayes("explain", model)
    assert "bill_length_mm" in told.out.splitlines()[1]
    assert "times as frequent in" in told.out
    assert bayes("explain", model, "--json").json["columns"][0]["column"] == "bill_length_mm"


def test_inspect_shows_columns_settings_and_one_column(bayes, model):
    told = bayes("inspect", model)
    assert "birds.bayes: NaiveBayes of species, 344 rows" in told.out
    assert "settings: roles={'year': 'categorical'}" in told.out
    table = fitted().table("bill_length_mm")
    assert bayes("inspect", model, "--column", "bill_length_mm", "--json").json["table"][2]["values"] == table["mean"]
    assert "P(island | Gentoo)" in bayes("inspect", model, "--column", "island").out


def test_learn_forget_and_merge_give_the_model_of_the_rows(bayes):
    role = ["--role", "year=categorical", "--no-scores"]
    for name in ("half", "rest", "birds"):
        bayes("fit", "--numeric", "gaussian", f"{name}.csv", "-t", "species", "-o", f"{name}.bayes", *role)
    whole = bk.load("birds.bayes").tally_
    assert "both.bayes: 172 + 172 = 344 rows" in bayes("merge", "half.bayes", "rest.bayes", "-o", "both.bayes").out
    assert bk.load("both.bayes").tally_.families == whole.families
    assert "half.bayes: 172 + 172 = 344 rows" in bayes("learn", "half.bayes", "rest.csv").out
    assert bk.load("half.bayes").tally_.families == whole.families
    assert bayes("forget", "half.bayes", "rest.csv", "-o", "less.bayes", "--json").json["rows"] == 172
    assert bk.load("half.bayes").tally_.n_rows == 344
    assert bk.load("less.bayes").tally_.n_rows == 172


def test_learn_and_forget_list_what_stays_fixed_and_refit_needs_rows(bayes):
    bayes("fit", "birds.csv", "-t", "species", "-m", "kdb", "-o", "kdb.bayes", "--no-scores")
    assert bayes("learn", "kdb.bayes", "half.csv").out.endswith("stayed fixed: structure, cut points\n")
    assert bayes("forget", "kdb.bayes", "half.csv", "--json").json["fixed"] == ["structure", "cut points"]
    told = bayes("forget", "kdb.bayes", "half.csv", "--refit", code=1).err
    assert "KDB does not keep its rows, so structure, cut points cannot be fitted again" in told
    bayes("fit", "--numeric", "gaussian", "birds.csv", "-t", "species", "-o", "naive.bayes", "--no-scores")
    assert bayes("forget", "naive.bayes", "half.csv", "--refit").out == "naive.bayes: 344 − 172 = 172 rows\n"


@pytest.mark.slow
def test_the_same_categorical_rows_in_any_order_give_the_same_model_byte_by_byte(bayes, here):
    days = (here / "tennis.csv").read_text().splitlines()
    head, rows = days[0], days[1:]
    files = set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows)).tolist()
        for name, part in (("all", order), ("one", order[:8]), ("two", order[8:])):
            (here / f"{name}.csv").write_text("\n".join([head, *(rows[i] for i in part)]) + "\n")
        for name in ("all", "one", "two"):
            bayes("fit", f"{name}.csv", "-t", "play", "-o", f"{name}.bayes", "--no-scores")
        files.add(to_bytes(bk.load("all.bayes")))  # all but the history of the file
        bayes("merge", "two.bayes", "one.bayes", "-o", "merged.bayes")
        bayes("learn", "one.bayes", "two.csv")
        bayes("learn", "all.bayes", "two.csv")
        bayes("forget", "all.bayes", "two.csv")
        files |= {to_bytes(bk.load(f"{name}.bayes")) for name in ("merged", "one", "all")}
    assert len(files) == 1


@pytest.mark.slow
def test_data_and_models_come_from_standard_input_and_go_to_standard_output(bayes):
    data = path("penguins").read_bytes()
    command = [
        sys.executable,
        "-m",
        "bayeskit.cli",
        "fit",
        "-",
        "-t",
        "species",
        "-o",
        "-",
        "--role",
        "year=categorical",
    ]
    made = subprocess.run(command, input=data, capture_output=True, check=True)
    assert made.stdout[:5] == b"BAYES"
    assert b"standard input: 344 rows" in made.stderr
    Path("piped.bayes").write_bytes(made.stdout)
    assert bk.load("piped.bayes").tally_ == fitted().tally_
    said = bayes("predict", "piped.bayes", "-", "--json", stdin=data).out.splitlines()
    assert [json.loads(line)["predicted"] for line in said] == fitted().predict(BIRDS).tolist()
    assert bayes("inspect", "-", "--json", stdin=made.stdout).json["rows"] == 344


# -- the program itself ----------------------------------------------------------------------------------


def test_the_version_is_the_packages(bayes):
    assert bayes("--version").out == f"bayes {bk.__version__}\n"


def test_help_is_there_at_once_and_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['bayes', '--help']\n"
        "from bayeskit.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'pyarrow', 'pandas'} & set(sys.modules)), file=sys.stderr)\n"
        "import time; print(time.process_time(), file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, seconds = told.stderr.splitlines()
    assert loaded == "[]"
    assert float(seconds) < 0.7
    assert all(f"\n  {name} " in told.stdout for name in COMMANDS)


def test_every_command_has_help_with_an_example(bayes):
    for name in COMMANDS:
        told = bayes(name, "--help")
        assert f"bayes {name}" in told.out.split("Example")[1], name
        assert max(map(len, told.out.splitlines())) <= 80, name


def test_the_list_of_commands_cuts_no_sentence_short(bayes):
    told = bayes("--help")
    lines = told.out.split("Commands:\n")[1].splitlines()
    assert len(lines) == len(COMMANDS)
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.slow
def test_color_and_progress_are_for_terminals_only(here, monkeypatch):
    """A terminal of our own: stdout has color, stderr a bar where the work takes long."""
    rows = "".join(f"v{i % 7},{i % 11},{'xyz'[i % 3]}\n" for i in range(200_000))
    Path("long.csv").write_text("a,n,y\n" + rows)
    code = (
        "import sys, bayeskit.progress as s; s.PATIENCE = 0.0\n"
        "from bayeskit.data.io import csv; csv.BLOCK = 1 << 16\n"
        "sys.argv = ['bayes', 'fit', 'long.csv', '-t', 'y', '--role', 'n=categorical']\n"
        "from bayeskit.cli import main; main()"
    )
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=other, stderr=other, env=environment)
    os.close(other)
    said = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(main)
    assert process.wait() == 0, said.decode()
    text = said.decode()
    assert "\x1b[1m" in text
    assert "counting" in text
    assert re.search(r"[\d,]+ rows", text)
    assert "MB" in text
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert b"\x1b" not in plain.stdout + plain.stderr
    assert plain.stderr == b""


@pytest.mark.slow
def test_a_pipe_that_closes_early_ends_the_program_quietly(here, model):
    command = f"{sys.executable} -m bayeskit.cli predict {model} birds.csv | head -1"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert told.stdout == "predicted,probability\n"
    assert "Traceback" not in told.stderr
    command = f"{sys.executable} -m bayeskit.cli fit birds.csv -t species -o again.bayes | head -1"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert bk.load("again.bayes").tally_.n_rows == 344


def test_labels_that_are_numbers_stay_numbers(bayes, here):
    (here / "n.csv").write_text("a,y\nu,1\nu,1\nv,2\nv,2\n")
    bayes("fit", "n.csv", "-t", "y", "--no-scores")
    assert bk.load("model.bayes").tally_.classes == (1, 2)
    assert bayes("predict", "model.bayes", "n.csv", "--json").out.startswith('{"predicted": 1, ')
    assert "row 0: 1 with probability" in bayes("explain", "model.bayes", "n.csv", "--against", "2").out


def test_every_command_that_reads_rows_reads_them_by_the_same_options():
    from bayeskit.cli.app import options

    reading = {
        "--type",
        "--delimiter",
        "--encoding",
        "--empty",
        "--only-empty",
        "--bad-lines",
        "--no-header",
        "--columns",
        "--decimal",
        "--comment",
    }
    for command in ("fit", "predict", "rank", "evaluate", "explain", "ask", "learn", "forget"):
        assert reading <= options()[command], command
