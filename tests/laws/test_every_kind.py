"""Every command on every kind of model file ends in an answer or a ``BayesError``."""

import io
import shutil
import sys

import pyarrow as pa
import pytest
from pyarrow import csv

from bayeskit.cli import main
from tests.reference.make_models import BIRDS, FOLDER, LABELS, TEXTS

KINDS = sorted(path.stem for path in FOLDER.glob("*.bayes"))
COMMANDS = {
    "predict": ["predict", "MODEL", "DATA"],
    "predict --proba": ["predict", "MODEL", "DATA", "--proba", "--json"],
    "predict --reject": ["predict", "MODEL", "DATA", "--reject", "0.2"],
    "rank": ["rank", "MODEL", "DATA", "--class", "CLASS"],
    "tag": ["tag", "MODEL", "words.txt"],
    "evaluate": ["evaluate", "MODEL", "DATA"],
    "evaluate --held-out": ["evaluate", "MODEL", "DATA", "--held-out", "--json"],
    "diagnose": ["diagnose", "MODEL", "DATA"],
    "explain": ["explain", "MODEL", "DATA"],
    "explain --work": ["explain", "MODEL", "DATA", "--work"],
    "inspect": ["inspect", "MODEL"],
    "inspect --json": ["inspect", "MODEL", "--json"],
    "inspect --column": ["inspect", "MODEL", "--column", "island"],
    "ask": ["ask", "MODEL", "P(island = Dream | species = Gentoo)"],
    "learn": ["learn", "MODEL", "DATA", "-o", "more.bayes"],
    "forget": ["forget", "MODEL", "DATA", "-o", "less.bayes"],
    "merge": ["merge", "MODEL", "MODEL", "-o", "both.bayes"],
    "export sql": ["export", "MODEL", "--to", "sql:postgres", "--table", "t", "--key", "id"],
    "export onnx": ["export", "MODEL", "--to", "onnx", "-o", "m.onnx"],
    "export json": ["export", "MODEL", "--to", "json", "-o", "m.json"],
}
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
    return made


def data_of(kind):
    """Return the file of data that suits a kind of model, and one of its classes."""
    if kind in SPECIAL_DATA:
        return SPECIAL_DATA[kind]
    if kind == "topics" or kind.startswith("text-") or kind.endswith("documents"):
        return "documents.csv", "law"
    return "birds.csv", "Gentoo"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_or_refuses_every_kind_of_model(command, kind, folder, monkeypatch, capfd):
    own, label = data_of(kind)
    monkeypatch.chdir(folder)
    for data in dict.fromkeys((own, "birds.csv")):
        places = {"MODEL": f"{kind}.bayes", "DATA": data, "CLASS": label}
        words = [places.get(word, word) for word in COMMANDS[command]]
        if data == "documents.csv" and words[0] in READS_TEXT:
            words += ["--text", "text"]
        monkeypatch.setattr(sys, "argv", ["bayes", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        printed = capfd.readouterr()
        assert code in (0, 1), printed.err
        assert "object at 0x" not in printed.out + printed.err
        assert code == 0 or printed.err.startswith("bayes: "), printed.err
