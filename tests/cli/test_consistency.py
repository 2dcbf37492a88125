"""Exit codes, names and forms that all commands share."""

import csv
import importlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import bayeskit as bk
from bayeskit.cli.app import COMMANDS, OTHER_NAMES
from bayeskit.datasets import load_penguins

BAD_VALUES = (
    ["--smoothing", "-1"], ["--smoothing", "much"], ["--prior", "odd"], ["--numeric", "foo"], ["--cuts", "foo"],
    ["--ddof", "3"], ["--delimiter", "ab"], ["--decimal", "x"], ["--comment", ""], ["--encoding", "nope"],
    ["--role", "island=foo"], ["--role", "island"], ["--type", "year=foo"], ["--domain", "island"],
    ["-m", "naivee"], ["-m", "forest"], ["--edges", "a"], ["--processes", "0"], ["-m", "tan", "--memory-limit", "-1"],
    ["--text", "island", "--recipe", "foo"], ["--text", "island", "--pattern", "("], ["--columns", "a,,b"],
    ["--text", "island", "--ngrams", "0"], ["--text", "island", "--hash-bits", "99"], ["--query", "SELECT 1"],
)  # fmt: skip


@pytest.mark.parametrize("words", BAD_VALUES, ids=" ".join)
def test_every_bad_value_of_an_option_ends_with_2(bayes, here, words):
    told = bayes("fit", "birds.csv", "-t", "species", *words, code=2)
    assert words[-2].removeprefix("-m") in told.err
    assert told.out == ""
    assert not (here / "model.bayes").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize("words", ["inspect birds.bayes", "predict birds.bayes birds.csv --keep-all", "fit -h"])
def test_a_reader_that_ends_early_is_success(here, model, words):
    command = f"set -o pipefail; {sys.executable} -m bayeskit.cli {words} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_of_other_programs_lead_to_ours(bayes):
    assert set(OTHER_NAMES.values()) <= set(COMMANDS)
    assert "use bayes fit" in bayes("train", "birds.csv", code=2).err
    assert "use bayes predict" in bayes("classify", code=2).err
    assert bayes("help").out == bayes("--help").out
    assert bayes("help", "rank").out == bayes("rank", "--help").out
    assert "did you mean naive?" in bayes("fit", "birds.csv", "-t", "species", "-m", "niave", code=2).err
    assert "did you mean naive?" in bayes("compare", "birds.csv", "-t", "species", "-m", "niave", code=2).err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["student", "cuts", "fast", "logistic", "calibrated"])
def test_models_of_compare_are_fitted_by_the_same_name(bayes, name):
    bayes("fit", "birds.csv", "-t", "species", "-m", name, "--ignore", "year", "--no-scores")
    birds = load_penguins().drop(["year"])
    alone = bk.model_named(name).fit(birds, "species")
    found = bk.load("model.bayes")
    assert type(found) is type(alone)
    np.testing.assert_allclose(found.predict_proba(birds), alone.predict_proba(birds), atol=1e-12)


def test_columns_are_left_out_by_their_names(bayes):
    by_role = ["--role", "year=ignore", "--role", "sex=ignore"]
    bayes("fit", "birds.csv", "-t", "species", *by_role, "--no-scores", "-o", "a.bayes")
    bayes("fit", "birds.csv", "-t", "species", "--ignore", "year", "--ignore", "sex", "--no-scores", "-o", "b.bayes")
    assert bk.load("a.bayes").tally_ == bk.load("b.bayes").tally_
    assert bk.load("b.bayes").roles == {"year": "ignore", "sex": "ignore"}
    assert "--ignore year" in bayes("fit", "birds.csv", "-t", "species", "--ignore", "year", "-m", "naive").out
    found = bayes("compare", "birds.csv", "-t", "species", "--models", "naive", "--ignore", "year", "--json").json
    other = bayes("compare", "birds.csv", "-t", "species", "--models", "naive", "--role", "year=ignore", "--json").json
    assert found["log_loss"] == other["log_loss"]


def test_texts_of_missing_cells_are_added_to_the_usual_ones(bayes, here):
    (here / "x.csv").write_text("x,y\n1,a\n2,b\n,a\nunknown,b\n3,a\nNA,b\n")
    one = bayes("fit", "x.csv", "-t", "y", "--empty", "unknown", "--json", "--no-scores").json["columns"][0]
    assert (one["role"], one["missing"]) == ("numeric", 3)
    only = ["--empty", "unknown", "--only-empty"]
    one = bayes("fit", "x.csv", "-t", "y", *only, "--json", "--no-scores").json["columns"][0]
    assert (one["role"], one["missing"], one["values"]) == ("categorical", 1, 5)


@pytest.mark.parametrize("way", [["--empty", "unknown"], ["--type", "x=string"]])
def test_advice_on_a_text_among_numbers_does_not_run_in_a_circle(bayes, here, way):
    (here / "x.csv").write_text("x,y\n1,a\n2,b\n4,a\nunknown,b\n3,a\n")
    told = bayes("fit", "x.csv", "-t", "y", "--role", "x=numeric", code=1).err
    assert " ".join(way) in told
    bayes("fit", "x.csv", "-t", "y", *(["--role", "x=numeric"] if way[0] == "--empty" else []), *way, "--no-scores")


def test_several_columns_are_kept_by_one_option(bayes, model):
    rows = list(csv.DictReader(io.StringIO(bayes("predict", model, "birds.csv", "--keep", "island,sex").out)))
    assert list(rows[0]) == ["island", "sex", "predicted", "probability"]
    assert "no column 'nest'" in bayes("predict", model, "birds.csv", "--keep", "island,nest", code=1).err
    ranked = bayes("rank", model, "birds.csv", "--class", "Adelie", "-n", "1", "--keep", "island,sex").out
    assert ranked.startswith("row,island,sex,p_Adelie\n")


def test_a_row_without_data_and_names_for_a_header_are_errors(bayes, model, here):
    assert "names a row of DATA" in bayes("explain", model, "--row", "3", code=2).err
    for names in ("a,b,c,d,play", "outlook,b,c,d,e"):
        told = bayes("fit", "tennis.csv", "-t", names.split(",")[-1], "--columns", names, code=1).err
        assert "line 1: the file has a header" in told
    assert "'year' stands" in bayes("fit", "birds.csv", "-t", "a", "--columns", "a,b,c,d,e,f,g,h", code=1).err
    bare = (here / "tennis.csv").read_text().partition("\n")[2]
    (here / "bare.csv").write_text(bare)
    assert bayes("fit", "bare.csv", "-t", "play", "--columns", "a,b,c,d,play", "--json").json["rows"] == 14


def test_json_lines_under_another_ending_are_noted(bayes, model):
    told = bayes("predict", model, "birds.csv", "--json", "-o", "x.csv").err
    assert "x.csv gets JSON lines, because of --json" in told
    assert "note" not in bayes("predict", model, "birds.csv", "--json", "-o", "x.jsonl").err


def keys_of(record):
    """All keys of a JSON value."""
    if isinstance(record, dict):
        return {*record, *(key for value in record.values() for key in keys_of(value))}
    return {key for value in record for key in keys_of(value)} if isinstance(record, list) else set()


NAMES = {"Zclass", "Zrest", "Ztarget", "Zcolumn", "Zvalue", "Zother", "Znumber", "Ztext", "Zstep", "Z.csv", "m.bayes"}


@pytest.mark.parametrize(
    "fit",
    [
        ["-t", "Ztarget"], ["-t", "Ztarget", "-m", "tan"], ["-t", "Ztarget", "-m", "joint"],
        ["-t", "Ztarget", "--text", "Ztext", "--recipe", "multinomial"],
        ["-t", "Ztarget", "--sequence", "Zstep", "--of", "rows", "--ignore", "Ztext"],
        ["-t", "Ztarget", "--role", "Ztext=text", "--numeric", "histogram"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_keys_of_json_never_come_from_the_data(bayes, here, fit):
    rows = [
        f"{'Zclass' if i % 3 else 'Zrest'},{'Zvalue' if i % 2 else 'Zother'},{i % 7}.5,wind Zclass Zvalue,{i // 6}"
        for i in range(42)
    ]
    (here / "Z.csv").write_text("Ztarget,Zcolumn,Znumber,Ztext,Zstep\n" + "\n".join(rows) + "\n")
    if "-m" in fit:
        fit = [*fit, "--ignore", "Ztext"]
    records = [bayes("fit", "Z.csv", *fit, "-o", "m.bayes", "--json").json]
    commands = (
        ["inspect", "m.bayes"], ["inspect", "m.bayes", "--column", "Zcolumn"], ["evaluate", "m.bayes", "Z.csv"],
        ["evaluate", "m.bayes", "Z.csv", "--folds", "2"], ["explain", "m.bayes", "Z.csv"], ["explain", "m.bayes"],
        ["explain", "m.bayes", "Z.csv", "--work"], ["diagnose", "m.bayes", "Z.csv"],
        ["ask", "m.bayes", "P(Zcolumn | Ztarget = Zclass)"], ["merge", "m.bayes", "m.bayes", "-o", "n.bayes"],
        ["learn", "m.bayes", "Z.csv", "-o", "n.bayes"], ["export", "m.bayes", "--to", "json"],
    )  # fmt: skip
    answered = 0
    for words in commands:
        told = bayes(*words, *(() if words[0] == "export" else ["--json"]), code=(0, 1))
        if told.code == 0:
            records.append(json.loads(told.out))
            answered += 1
    assert answered >= 5
    for record in records:
        assert not [key for key in keys_of(record) if key in NAMES or any(name in key for name in NAMES)]


def test_settings_are_json_and_not_the_text_of_python_objects(bayes):
    bayes("fit", "birds.csv", "-t", "species", "--ignore", "year", "--cuts", "width:4", "--calibrate", "sigmoid",
          "--no-scores")  # fmt: skip
    settings = bayes("inspect", "model.bayes", "--json").json["settings"]
    inner = settings["model"]["settings"]
    assert (settings["method"], inner["cuts"]) == ("sigmoid", ["width", 4])
    assert inner["roles"] == [{"name": "year", "value": "ignore"}]


def test_the_area_under_the_curve_of_each_class_is_printed(bayes, model):
    birds = load_penguins()
    told = bayes("evaluate", model, "birds.csv", "--held-out", "--json").json["evaluations"][0]
    p = bk.load(model).predict_proba(birds)
    for i, by_class in enumerate(told["by_class"]):
        truth = [label == by_class["class"] for label in birds["species"].to_pylist()]
        assert by_class["auc"] == pytest.approx(roc_auc_score(truth, p[:, i]))
    assert "AUC" in bayes("evaluate", model, "birds.csv").out


def test_a_network_file_is_inspected_and_a_column_of_it_has_a_distribution(bayes, here):
    network = bk.BayesianNetwork([("smoke", "lung")], {"smoke": 0.5, "lung": {True: 0.1, False: 0.01}})
    bk.write_bif(network, here / "net.bif")
    assert "2 nodes" in bayes("inspect", "net.bif").out
    assert "0.1" in bayes("inspect", "net.bif", "--column", "lung").out
    told = bayes("ask", "net.bif", "P(lung)", "--json").json
    assert told["probability"] == pytest.approx(0.055)
    assert [value["probability"] for value in told["distribution"]] == pytest.approx([0.055, 0.945], abs=1e-12) or [
        value["probability"] for value in told["distribution"]
    ] == pytest.approx([0.945, 0.055], abs=1e-12)


@pytest.mark.parametrize("smoothing", ["0", "0.5"])
def test_a_full_joint_is_asked_by_the_rows_that_it_counted(bayes, smoothing):
    fit = ["fit", "tennis.csv", "-t", "play", "-m", "joint", "--smoothing", smoothing, "--no-scores"]
    bayes(*fit)
    question = "P(play = yes | outlook = sunny and wind = weak)"
    told = bayes("ask", "model.bayes", question, "--json").json["probability"]
    alone = bk.load("model.bayes")
    days = [
        {"outlook": "sunny", "wind": "weak", "temperature": t, "humidity": h}
        for t in ("hot", "mild", "cool")
        for h in ("high", "normal")
    ]
    both = np.exp(alone.predict_joint_log_proba(bk_table(days)))
    assert told == pytest.approx(both[:, 1].sum() / both.sum(), rel=1e-12)


def bk_table(rows):
    """Rows as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.slow
def test_exit_codes_are_those_of_the_program(here):
    environment = {**os.environ, "COLUMNS": "80"}
    for words, code in ((["fit", "birds.csv", "-t", "species", "--ddof", "3"], 2), (["inspect", "no.bayes"], 1)):
        done = subprocess.run([sys.executable, "-m", "bayeskit.cli", *words], capture_output=True, env=environment)
        assert done.returncode == code


@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {"roles": {"code": "categorical"}},
        {"roles": {"code": "categorical"}, "smoothing": 0.1, "prior": "uniform"},
        {"numeric": {"code": "histogram"}, "cuts": {"code": ("width", 9)}, "ddof": 0},
    ],
)
def test_commands_of_diagnose_give_what_they_promise(bayes, here, settings):
    rng = np.random.default_rng(3)
    code = rng.integers(0, 9, 400)
    copy, other = np.where(rng.random(400) < 0.9, code, rng.integers(0, 9, 400)), rng.integers(0, 3, 400)
    labels = np.where((code * 5 % 9 < 4) ^ (rng.random(400) < 0.1), "yes", "no")
    lines = [f"{a},v{b},w{c},{y}" for a, b, c, y in zip(code, copy, other, labels, strict=True)]
    (here / "codes.csv").write_text("code,copy,other,y\n" + "\n".join(lines) + "\n")
    bk.NaiveBayes(**settings).fit("codes.csv", "y").save("naive.bayes")
    told = bayes("diagnose", "naive.bayes", "codes.csv")
    cures = {cure["key"]: cure for cure in bayes("diagnose", "naive.bayes", "codes.csv", "--json").json["cures"]}
    commands = [shlex.split(line)[1:] for line in told.out.splitlines() if line.startswith("  bayes fit")]
    assert commands
    for words in commands:
        promised = cures[words[-1].removesuffix(".bayes")]["log_loss"]
        given = bayes(*words, "--json").json["leave_one_out"]
        if given is None:  # exponents, which are fitted on all rows
            assert bk.load(words[-1]).nb.get_params() == bk.load("naive.bayes").get_params()
        else:
            assert given["log_loss"] == pytest.approx(promised, rel=1e-9)
    for cure in cures.values():
        if cure["key"] in ("drop", "tan"):
            model = eval(cure["python"], vars(bk))
            assert model.fit("codes.csv", "y").leave_one_out("codes.csv", "y").log_loss == pytest.approx(
                cure["log_loss"], rel=1e-9
            )


def test_a_few_short_texts_are_not_said_to_be_harmless(bayes, here):
    (here / "t.csv").write_text("text,y\ngood film,a\nbad film,b\ngood plot,a\nbad plot,b\n")
    bayes("fit", "t.csv", "--text", "text", "-t", "y", "--recipe", "multinomial", "-o", "t.bayes")
    said = bayes("diagnose", "t.bayes", "t.csv").out
    assert "no two words to test" in said
    assert "does no harm" not in said


def test_a_ragged_line_is_skipped_and_counted_on_wish(bayes, here):
    text = (here / "tennis.csv").read_text()
    (here / "ragged.csv").write_text(f'{text}a,b\n"sunny","hot","high","weak","no"\n1,2,3,4,5,6\n')
    assert "line 16: 2 cells" in bayes("fit", "ragged.csv", "-t", "play", code=1).err
    told = bayes("fit", "ragged.csv", "-t", "play", "--bad-lines", "skip", "-o", "m.bayes", "--json")
    assert told.json["rows"] == 15
    assert "note: 2 lines were skipped, such as ragged.csv: 2 cells instead of 5 in 'a,b'" in told.err
    said = bayes("predict", "m.bayes", "-", "--bad-lines", "skip", stdin=(here / "ragged.csv").read_bytes())
    assert len(said.out.splitlines()) == 16
    assert "2 lines were skipped" in said.err
    assert "skipped" not in bayes("predict", "m.bayes", "tennis.csv", "--bad-lines", "skip").err


@pytest.mark.parametrize(("module", "ending"), [("bz2", "bz2"), ("lzma", "xz"), ("gzip", "gz")])
def test_packed_files_are_read(bayes, here, module, ending):
    data = (here / "tennis.csv").read_bytes()
    packed = importlib.import_module(module).compress(data)
    (here / f"packed.csv.{ending}").write_bytes(packed)
    bayes("fit", f"packed.csv.{ending}", "-t", "play", "-o", "m.bayes")
    bayes("fit", "tennis.csv", "-t", "play", "-o", "n.bayes")
    assert bk.load("m.bayes").tally_ == bk.load("n.bayes").tally_
    assert bayes("predict", "m.bayes", "-", stdin=packed).out == bayes("predict", "m.bayes", "tennis.csv").out
    (here / f"cut.csv.{ending}").write_bytes(packed[: len(packed) // 2])
    assert "cut off or damaged" in bayes("fit", f"cut.csv.{ending}", "-t", "play", code=1).err
