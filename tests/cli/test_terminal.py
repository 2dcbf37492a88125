"""Names of columns, values, classes and files may hold anything; none of it steers the terminal that shows it."""

import os
import re
import sys
import threading
from pathlib import Path

import pytest

import bayeskit as bk
from bayeskit import progress
from bayeskit.cli import main
from bayeskit.cli.app import COMMANDS
from bayeskit.printable import printable
from bayeskit.tables import Table

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

EVIL = "\x1b[2J\x1b]owned\x07\x9b31m\x7f\u202e\u2066[red]x[/red][link=http://a]y[/link]"
SHOWN = printable(EVIL)
STYLES = re.compile("\x1b\\[[0-9;]*m")  # what the console itself sends: bold, dim, colors
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def column(name):
    return f"{name}{EVIL}"


DATA, MODEL = f"data{EVIL.replace('/', '')}.csv", f"model{EVIL.replace('/', '')}.bayes"
TAGGED = f"tagged{EVIL.replace('/', '')}.txt"
TARGET, SKY, SIZE, BODY = map(column, ("class", "sky", "size", "body"))


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    """``terminal("fit", …)``: what a terminal of 100 columns is sent, and the exit code."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")

    def run(*words):
        import tty

        master, slave = pty.openpty()
        tty.setraw(slave)
        sent = []

        def listen():
            try:
                while data := os.read(master, 65536):
                    sent.append(data)
            except OSError:  # how Linux tells that the other side is closed
                pass

        listener = threading.Thread(target=listen)
        listener.start()
        monkeypatch.setattr(sys, "argv", ["bayes", *words])
        streams = [os.fdopen(os.dup(slave), "w", encoding="utf-8") for _ in range(2)]
        os.close(slave)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code
        for stream in streams:
            stream.close()
        listener.join()
        os.close(master)
        return b"".join(sent).decode(), code

    return run


@pytest.fixture
def files(tmp_path):
    """A table, documents and costs whose names are hostile."""
    rows = [f"{a}{EVIL},{i % 7 + (a == 'yes')},{b}{EVIL},word{a} cheap" for i, (a, b) in enumerate(_pairs() * 8)]
    head = f"{SKY},{SIZE},{TARGET},{BODY}"
    Path(tmp_path, DATA).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    sentence = f"the{EVIL.replace('/', '')}/D{EVIL.replace('/', '')} dog/N barks/V\n"
    Path(tmp_path, TAGGED).write_text(sentence * 4, encoding="utf-8")
    return tmp_path


def _pairs():
    return [("yes", "sun"), ("yes", "sun"), ("no", "rain"), ("no", "sun"), ("yes", "rain")]


FIT = ("fit", DATA, "-t", TARGET, "--role", f"{BODY}=ignore", "-o")
EVERY = [
    *[(*FIT, f"{name}{MODEL}", "-m", name) for name in ("tan", "kdb", "aode", "nbtree", "subclass", "joint", "best")],
    (*FIT, MODEL),
    ("fit", DATA, "-t", TARGET, "--text", BODY, "-o", f"text{MODEL}", "--recipe", "multinomial"),
    ("predict", MODEL, DATA, "--keep", SKY),
    ("predict", MODEL, DATA, "--proba", "--json"),
    ("predict", f"text{MODEL}", DATA),
    ("rank", MODEL, DATA, "--class", f"sun{EVIL}", "--keep", SKY),
    ("evaluate", MODEL, DATA, "--folds", "2"),
    ("evaluate", f"nbtree{MODEL}", DATA, "--held-out"),
    ("explain", MODEL, DATA, "--row", "2"),
    ("explain", MODEL, DATA, "--json"),
    ("explain", MODEL),
    ("explain", f"text{MODEL}", DATA, "--row", "1"),
    *[("inspect", f"{name}{MODEL}") for name in ("", "tan", "kdb", "aode", "nbtree", "subclass", "joint", "best")],
    ("inspect", f"text{MODEL}"),
    *[("inspect", f"{name}{MODEL}", "--column", SKY) for name in ("", "tan", "nbtree", "subclass", "best")],
    ("inspect", MODEL, "--json"),
    ("ask", DATA, f"P('{TARGET}' = 'sun{EVIL}' | '{SKY}' = 'yes{EVIL}')"),
    ("ask", MODEL, f"P('{TARGET}' = 'sun{EVIL}')"),
    ("drift", MODEL, DATA),
    ("learn", MODEL, DATA),
    ("learn-network", DATA, "-o", "net.bif", "--role", f"{BODY}=ignore", "--require", f"{SKY} -> {TARGET}"),
    ("forget", MODEL, DATA),
    ("merge", MODEL, MODEL, "-o", f"both{MODEL}"),
    ("fit", TAGGED, "--tags", "-o", f"tags{MODEL}"),
    ("tag", f"tags{MODEL}", TAGGED),
    ("tag", f"tags{MODEL}", TAGGED, "--json"),
    ("topics", DATA, "--text", BODY, "-k", "2", "-o", f"topics{MODEL}"),
    ("compare", DATA, "-t", TARGET, "--models", "naive,tree", "--folds", "2", "--role", f"{BODY}=ignore"),
    ("diagnose", MODEL, DATA),
    ("export", MODEL, "--to", "json"),
    ("page", MODEL),
    ("report", DATA, "-t", TARGET, "--role", f"{BODY}=ignore"),
    ("play", "-o", "lessons"),
    ("demo",),
]  # fmt: skip
MISTAKES = [
    ("fit", f"none{DATA}", "-t", TARGET),
    ("fit", DATA, "-t", f"no{TARGET}"),
    ("fit", DATA, "-t", TARGET, "-m", EVIL),
    ("fit", DATA, "-t", TARGET, "-o", "-"),  # a model is not text for a terminal
    ("fit", DATA, "-t", TARGET, f"--{EVIL}"),
    (EVIL,),
    ("predict", DATA, DATA),
    ("predict", MODEL, DATA, "--keep", EVIL),
    ("rank", MODEL, DATA, "--class", EVIL),
    ("explain", MODEL, DATA, "--against", EVIL),
    ("inspect", MODEL, "--column", EVIL),
    ("ask", DATA, f"P({EVIL})"),
    ("ask", DATA, f"P('{EVIL}' = 1)"),
    ("learn", MODEL, f"{EVIL.replace('/', '')}.csv"),
]


@pytest.mark.slow
def test_no_command_sends_what_a_name_holds(terminal, files):
    assert {*COMMANDS} - {"serve"} == {words[0] for words in EVERY}  # which runs until it is stopped
    for words in EVERY:
        sent, code = terminal(*words)
        assert code == 0, (words, sent)
        assert not STEERS.search(sent), (words, sent)
        assert words[0] in ("play", "demo") or SHOWN[:6] in sent.replace("\\u001b", "\\x1b"), (
            words,
            sent,
        )  # shown, not lost


@pytest.mark.slow
def test_no_mistake_is_told_with_what_a_name_holds(terminal, files):
    terminal(*FIT, MODEL)
    for words in MISTAKES:
        sent, code = terminal(*words)
        assert code in (1, 2), (words, sent)
        assert "Traceback" not in sent
        assert sent.strip()
        assert not STEERS.search(sent), (words, sent)


@pytest.mark.parametrize("no_color", [False, True])
def test_styles_are_those_of_the_console_alone(terminal, files, monkeypatch, no_color):
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    sent = "".join(terminal(*words)[0] for words in [(*FIT, MODEL), ("inspect", MODEL), ("explain", MODEL, DATA)])
    styles = set(STYLES.findall(sent))
    loud = set() if no_color else {"\x1b[1;31m"}  # red: the model of these rows is worse than the majority
    assert styles == {"\x1b[1m", "\x1b[2m", "\x1b[0m"} | loud  # bold, dim, and neither
    assert not STEERS.search(STYLES.sub("", sent))
    assert "[red]x[/red]" in sent  # no markup of the data is followed


def test_a_bar_shows_the_name_of_a_class_and_sends_none(terminal, files, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    drawn, code = terminal(*FIT, MODEL, "-m", "best")
    assert code == 0
    assert "columns" in drawn
    model = bk.SubclassBayes(progress=True, folds=2, restarts=1, max_subclasses=2)
    real = main

    def fit():
        model.fit({"a": [0.0, 1.0, 5.0, 6.0] * 3}, [f"x{EVIL}", "y"] * 6)

    monkeypatch.setitem(globals(), "main", fit)
    drawn += terminal()[0]
    monkeypatch.setitem(globals(), "main", real)
    assert "\\x1b[2J" in drawn
    assert "[red]" in drawn
    for part in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\x7f", "\u202e", "\u2066"):
        assert part not in drawn


def test_a_pipe_and_a_file_get_the_data_as_it_is(terminal, files, bayes):
    terminal(*FIT, MODEL)
    piped = bayes("predict", files / MODEL, files / DATA).out
    assert piped.splitlines()[1].startswith(f"sun{EVIL},") or piped.splitlines()[1].startswith(f"rain{EVIL},")
    terminal("predict", MODEL, DATA, "-o", "out.csv")
    assert Path("out.csv").read_text(encoding="utf-8") == piped


def test_a_command_to_copy_is_one_a_shell_reads_back(terminal, files):
    import shutil
    import subprocess

    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("there is no bash to read the command back")
    sent, _ = terminal(*FIT, MODEL)
    line = sent.split("stronger:\n")[1].splitlines()[0].strip()
    read = subprocess.run([shell, "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True).stdout
    assert read.decode().split("\0")[:5] == ["bayes", "fit", DATA, "-t", TARGET]


def test_what_python_prints_is_as_safe(files):
    table = {SKY: [f"yes{EVIL}", "no", "no", "no"] * 4, SIZE: [1.0, 2.0, 4.0, 3.0] * 4}
    labels = [f"sun{EVIL}", "rain"] * 8
    model, tree = bk.NaiveBayes().fit(table, labels), bk.NBTree(min_rows=2, min_gain=0).fit(table, labels)
    joint = bk.JointDistribution.from_data({SKY: table[SKY]})
    words = bk.TextClassifier("multinomial").fit([f"a{EVIL}", "b c"], [f"x{EVIL}", "y"])
    records = [
        Table({SKY: [EVIL, "two\nlines"]}), model.table(SKY), model.explain(table), model.explain(table)[0],
        model.column_importance(), model.nomogram(), model.leave_one_out(table, labels), tree.tree_text(), joint,
        model, words.explain([f"a{EVIL}"])[0], bk.BayesError(EVIL), bk.BayesWarning(EVIL),
        bk.BayesianNetwork([], {SKY: {EVIL: 0.5, "b": 0.5}}),
    ]  # fmt: skip
    for record in records:
        for text in (str(record), repr(record) if not isinstance(record, str) else ""):
            assert not STEERS.search(text), text


def test_no_bar_stands_among_answers_on_a_terminal(terminal, monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    (tmp_path / "days.csv").write_text("sky,play\nsun,yes\nrain,no\n" * 2)
    bk.NaiveBayes().fit({"sky": ["sun", "rain"]}, ["yes", "no"]).save(tmp_path / "days.bayes")
    drawn, code = terminal("predict", "days.bayes", "days.csv")
    assert code == 0
    assert drawn.splitlines()[0] == "predicted,probability"
    assert "predicting" not in drawn
    assert "predicting" in terminal("predict", "days.bayes", "days.csv", "-o", "said.csv")[0]
