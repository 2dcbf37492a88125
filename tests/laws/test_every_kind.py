"""Every command on every kind of model file ends in an answer or a ``BayesError``."""

import io
import shutil
import socket
import sys

import pyarrow as pa
import pytest
from pyarrow import csv

import bayeskit as bk
from bayeskit.cli import main
from bayeskit.cli.app import COMMANDS as EVERY_COMMAND
from tests.reference.make_models import BIRDS, FOLDER, LABELS, TEXTS

NETWORKS = ("network.bif", "network.net", "network.xml")
KINDS = sorted([*(path.stem for path in FOLDER.glob("*.bayes")), *NETWORKS])
COMMANDS = {
    "predict": ["predict", "MODEL", "DATA"],
    "predict --proba": ["predict", "MODEL", "DATA", "--proba", "--json"],
    "predict --reject": ["predict", "MODEL", "DATA", "--reject", "0.2"],
    "rank": ["rank", "MODEL", "DATA", "--class", "CLASS"],
    "tag": ["tag", "MODEL", "words.txt"],
    "evaluate": ["evaluate", "MODEL", "DATA"],
    "drift": ["drift", "MODEL", "DATA"],
    "evaluate --held-out": ["evaluate", "MODEL", "DATA", "--held-out", "--json"],
    "diagnose": ["diagnose", "MODEL", "DATA"],
    "explain": ["explain", "MODEL", "DATA"],
    "explain --work": ["explain", "MODEL", "DATA", "--work"],
    "inspect": ["inspect", "MODEL"],
    "inspect --json": ["inspect", "MODEL", "--json"],
    "inspect --column": ["inspect", "MODEL", "--column", "island"],
    "ask": ["ask", "MODEL", "P(island = Dream | species = Gentoo)"],
    "learn": ["learn", "MODEL", "DATA", "-o", "more.bayes"],
    "forget": ["forget", "MODEL", "HALF", "-o", "less.bayes"],
    "merge": ["merge", "MODEL", "MODEL", "-o", "both.bayes"],
    "export sql": ["export", "MODEL", "--to", "sql:postgres", "--table", "t", "--key", "id"],
    "export onnx": ["export", "MODEL", "--to", "onnx", "-o", "m.onnx"],
    "export json": ["export", "MODEL", "--to", "json", "-o", "m.json"],
    "page": ["page", "MODEL", "-o", "page.html"],
    "report": ["report", "MODEL", "-t", "species", "-o", "report.html"],
    "fit": ["fit", "MODEL", "-t", "species", "-o", "other.bayes"],
    "compare": ["compare", "MODEL", "MODEL", "DATA"],
    "topics": ["topics", "MODEL", "--text", "text", "-o", "other.bayes"],
    "learn-network": ["learn-network", "MODEL", "-o", "other.bif"],
    "serve": ["serve", "MODEL"],
}
# A kind of model that each command answers; those that read no model refuse all kinds.
ANSWERED = {
    **dict.fromkeys([c for c in COMMANDS if c not in ("fit", "report", "topics", "learn-network")], "naive"),
    "tag": "tagger", "ask": "full-joint",
}  # fmt: skip
WITHOUT_MODEL = ("play", "demo")
READS_TEXT = ("predict", "rank", "evaluate", "diagnose", "explain", "learn", "forget")
# The data of models that read neither documents nor the table of birds, and one of their classes.
SPECIAL_DATA = {
    "naive-text": ("notes.csv", "law"),
    "sequence-classifier": ("letters.csv", "english"),
    "chain": ("letters.csv", "x"),
    "hidden-markov": ("days.csv", "sun"),
    "hidden-markov-full": ("numbers.csv", "0"),
    "tagger": ("words.txt", "N"),
    "logistic-sparse": ("numbers.csv", "c1"),
}
WORDS = ("sole", "luna", "mare", "wind", "rain", "then")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the model files and data of every kind."""
    made = tmp_path_factory.mktemp("kinds")
    for path in FOLDER.glob("*.bayes"):
        shutil.copy(path, made)
    for name in NETWORKS:
        bk.write_network(
            bk.BayesianNetwork.from_data([("species", "island")], BIRDS.select(["species", "island"])), made / name
        )
    csv.write_csv(BIRDS, made / "birds.csv")
    csv.write_csv(pa.table({"text": TEXTS, "class": LABELS}), made / "documents.csv")
    csv.write_csv(pa.table({"note": TEXTS, "topic": LABELS}), made / "notes.csv")
    letters = [
        {"id": i, "x": letter, "class": "italian" if i < 3 else "english"}
        for i, word in enumerate(WORDS)
        for letter in word
    ]
    csv.write_csv(pa.Table.from_pylist(letters), made / "letters.csv")
    csv.write_csv(pa.table({"wet": ["no", "yes"], "wind": [1.0, 5.0], "state": ["sun", "rain"]}), made / "days.csv")
    csv.write_csv(pa.table({"x": [1.0, 8.0], "y": [2.0, 1.0]}), made / "numbers.csv")
    (made / "words.txt").write_text("The dog barks .\nA cat can sleep\n", encoding="utf-8")
    for path in [*made.glob("*.csv"), made / "words.txt"]:
        lines = path.read_text(encoding="utf-8").splitlines()
        (made / f"half-{path.name}").write_text("\n".join(lines[: len(lines) // 2 + 1]) + "\n", encoding="utf-8")
    return made


def data_of(kind):
    """Return the file of data that suits a kind of model, and one of its classes."""
    if kind in SPECIAL_DATA:
        return SPECIAL_DATA[kind]
    if kind == "topics" or kind.startswith("text-") or kind.endswith("documents"):
        return "documents.csv", "law"
    return "birds.csv", "Gentoo"


def test_every_command_is_one_of_the_law():
    assert {words[0] for words in COMMANDS.values()} | set(WITHOUT_MODEL) == set(EVERY_COMMAND) - {"help"}


def free_port():
    """Return a port that no other program uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(words, monkeypatch):
    """Run the program, with an empty standard input, and return its exit code."""
    if words[0] == "serve":
        monkeypatch.setattr(pytest.importorskip("uvicorn"), "run", lambda *args, **settings: None)
        words = [*words, "--port", str(free_port())]
    monkeypatch.setattr(sys, "argv", ["bayes", *words])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0


def words_of(command, kind, data, label):
    """Return the words of a command on a model file and data."""
    places = {
        "MODEL": kind if kind in NETWORKS else f"{kind}.bayes",
        "DATA": data,
        "HALF": f"half-{data}",
        "CLASS": label,
    }
    words = [places.get(word, word) for word in COMMANDS[command]]
    return [*words, "--text", "text"] if data == "documents.csv" and words[0] in READS_TEXT else words


@pytest.mark.parametrize("command", ANSWERED)
def test_every_command_answers_some_kind_of_model(command, folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    kind = ANSWERED[command]
    assert run(words_of(command, kind, *data_of(kind)), monkeypatch) == 0, capfd.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_or_refuses_every_kind_of_model(command, kind, folder, monkeypatch, capfd):
    own, label = data_of(kind)
    monkeypatch.chdir(folder)
    for data in dict.fromkeys((own, "birds.csv")):
        code = run(words_of(command, kind, data, label), monkeypatch)
        printed = capfd.readouterr()
        assert code in (0, 1), printed.err
        assert "object at 0x" not in printed.out + printed.err
        assert "has no attribute" not in printed.err
        assert code == 0 or printed.err.startswith("bayes: "), printed.err
