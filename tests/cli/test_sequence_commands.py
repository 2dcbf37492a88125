"""``bayes fit --sequence`` and what is asked of such models: states of rows, classes of whole sequences."""

import csv
import io

import numpy as np
import pytest

import bayeskit as bk


@pytest.fixture
def days(here):
    """days.csv: the weather of six towns behind umbrellas, rows in any order."""
    rng = np.random.default_rng(1)
    rows = []
    for town in ("Bern", "Oslo", "Pisa", "Riga", "Turku", "Vaduz"):
        rain = bool(rng.integers(2))
        for day in range(30):
            rain = rain if not day or rng.random() < 0.7 else not rain
            umbrella = rng.random() < (0.9 if rain else 0.2)
            heat = round(float(rng.normal(10 if rain else 18, 3)), 1)
            rows.append([town, day + 1, "yes" if umbrella else "", heat, "rain" if rain else "dry"])
    rng.shuffle(rows)
    with open(here / "days.csv", "w", newline="") as file:  # noqa: PTH123
        csv.writer(file).writerows([["town", "day", "umbrella", "heat", "sky"], *rows])
    return rows


@pytest.fixture
def words(here):
    """words.csv: letters of English and Italian words, a language for each."""
    english = ["the", "wind", "and", "rain", "that", "night", "was", "there", "with", "them", "this", "then"]
    italian = ["sole", "piove", "notte", "casa", "vento", "luna", "mare", "gatto", "fiume", "bello"]
    listed = [(word, "english") for word in english] + [(word, "italian") for word in italian]
    with open(here / "words.csv", "w", newline="") as file:  # noqa: PTH123
        writer = csv.writer(file)
        writer.writerow(["word", "letter", "language"])
        for i, (word, language) in enumerate(listed):
            writer.writerows([i, letter, language] for letter in word)
    return listed


def table(out):
    return list(csv.DictReader(io.StringIO(out)))


def test_states_that_are_given_are_counted_and_predicted_row_by_row(bayes, days):
    told = bayes("fit", "days.csv", "--sequence", "town", "--order", "day", "-t", "sky", "-o", "sky.bayes")
    assert told.out.startswith("days.csv: 6 sequences of 180 rows\n")
    said = table(bayes("predict", "sky.bayes", "days.csv", "--keep", "town", "--keep", "day").out)
    assert [row["town"] for row in said] == [row[0] for row in days]  # in the order of the file
    right = sum(row["predicted"] == truth[4] for row, truth in zip(said, days, strict=True))
    assert right > 0.85 * len(days)
    frame = {
        name: [row[i] or None for row in days] for i, name in enumerate(("town", "day", "umbrella", "heat", "sky"))
    }
    frame["day"], frame["heat"] = [int(d) for d in frame["day"]], [float(h) for h in frame["heat"]]
    model = bk.HiddenMarkovModel(sequence="town", order="day").fit(frame, "sky")
    loaded = bk.load("sky.bayes")
    assert (loaded.sequence, loaded.order) == ("town", "day")
    assert loaded.transitions_ == pytest.approx(model.transitions_)
    proba = table(bayes("predict", "sky.bayes", "days.csv", "--proba").out)
    assert float(proba[0]["p_dry"]) + float(proba[0]["p_rain"]) == pytest.approx(1)


def test_states_are_scored_explained_and_shown(bayes, days):
    bayes("fit", "days.csv", "--sequence", "town", "--order", "day", "-t", "sky", "-o", "sky.bayes")
    record = bayes("evaluate", "sky.bayes", "days.csv", "--folds", "3", "--json").json
    assert record["target"] == "sky"
    assert record["evaluations"][0]["accuracy"] > 0.85
    assert bayes("evaluate", "sky.bayes", "days.csv", "--held-out").out.startswith("180 rows of days.csv")
    assert "use --folds 10" in bayes("evaluate", "sky.bayes", "days.csv", code=1).err
    one = bayes("explain", "sky.bayes", "days.csv", "--row", "3", "--json").json["rows"][0]
    assert one["past"] + sum(part["log_odds"] for part in one["observation"]) + one["future"] == pytest.approx(
        one["log_odds"]
    )
    assert bayes("explain", "sky.bayes", "days.csv", "--row", "3").out.startswith("row 3: ")
    assert "there is no row 999" in bayes("explain", "sky.bayes", "days.csv", "--row", "999", code=1).err
    assert "from" in bayes("inspect", "sky.bayes").out
    assert "mean" in bayes("inspect", "sky.bayes", "--column", "heat").out
    assert bayes("inspect", "sky.bayes", "--json").json["states"] == ["dry", "rain"]


def test_tables_of_sequences_are_drawn(bayes, days, words, here):
    bayes("fit", "days.csv", "--sequence", "town", "--order", "day", "-t", "sky", "-o", "sky.bayes")
    bayes("fit", "words.csv", "--sequence", "word", "-t", "language", "-o", "l.bayes")
    for which in (
        ["sky.bayes"],
        ["sky.bayes", "--column", "umbrella"],
        ["l.bayes"],
        ["l.bayes", "--column", "italian"],
    ):
        assert "drawn in t.svg" in bayes("inspect", *which, "--plot", "t.svg").out
        assert (here / "t.svg").read_text().startswith("<svg")
        (here / "t.svg").unlink()
    assert (
        "no picture of column 'heat'"
        in bayes("inspect", "sky.bayes", "--column", "heat", "--plot", "t.svg", code=1).err
    )


def test_hidden_states_are_found_and_their_number_is_chosen(bayes, days):
    words = ["--sequence", "town", "--order", "day", "--role", "sky=ignore", "-o", "hid.bayes"]
    record = bayes("fit", "days.csv", "--states", "2", *words, "--json").json
    assert (record["learned"], record["states"]) == ("states of rows", ["0", "1"])
    said = table(bayes("predict", "hid.bayes", "days.csv").out)
    wet = [row["predicted"] == said[0]["predicted"] for row in said]
    same = np.mean([w == (truth[4] == days[0][4]) for w, truth in zip(wet, days, strict=True)])
    assert max(same, 1 - same) > 0.85
    assert "bic" in bayes("fit", "days.csv", "--states", "1-3", *words).out
    assert "180 + 180 = 360 rows" in bayes("learn", "hid.bayes", "days.csv").out


def test_classes_of_whole_sequences_are_learned_where_the_target_never_changes_within_one(bayes, words):
    record = bayes("fit", "words.csv", "--sequence", "word", "-t", "language", "-o", "l.bayes", "--json").json
    assert (record["learned"], record["classes"]) == (
        "classes of sequences",
        [{"class": "english", "sequences": 12}, {"class": "italian", "sequences": 10}],
    )
    X, y = [list(word) for word, _ in words], [language for _, language in words]
    model = bk.SequenceClassifier().fit(X, y)
    assert record["leave_one_out"]["log_loss"] == pytest.approx(model.leave_one_out(X, y).log_loss)
    said = table(bayes("predict", "l.bayes", "words.csv").out)
    assert [row["predicted"] for row in said] == model.predict(X).tolist()
    assert [row["word"] for row in said] == [str(i) for i in range(len(words))]
    assert bayes("evaluate", "l.bayes", "words.csv", "--folds", "2").out.startswith("22 sequences of words.csv")
    assert bayes("explain", "l.bayes", "words.csv", "--row", "13").out.startswith("sequence 13: italian")
    assert "(start)" in bayes("inspect", "l.bayes", "--column", "italian").out
    assert "italian" in bayes("inspect", "l.bayes").out


@pytest.mark.parametrize("target", ["language", "kind"])
def test_columns_that_are_ignored_are_missed_by_no_command(bayes, here, words, target):
    """Neither one beside the symbols, nor one that says which sequence a row is of, its order, or its class."""
    lines = (here / "words.csv").read_text().splitlines()
    marked = [f"{line},{i},{'vowel' if line.split(',')[1] in 'aeiou' else 'other'}" for i, line in enumerate(lines[1:])]
    (here / "marked.csv").write_text("\n".join([lines[0] + ",at,kind", *marked]) + "\n")
    other = "kind" if target == "language" else "language"
    base = ["fit", "marked.csv", "--sequence", "word", "-t", target, "-o", "m.bayes", "--role", f"{other}=ignore"]
    states = ["--states", "2"] if target == "language" else []
    bayes(*base, "--order", "at", *states, "--role", "at=ignore", "--role", f"{target}=ignore", "--role", "word=ignore")
    assert "22 sequences" in bayes("evaluate", "m.bayes", "marked.csv", "--folds", "2").out or target == "kind"
    assert "held-out" in bayes("evaluate", "m.bayes", "marked.csv", "--held-out").out
    assert bayes("predict", "m.bayes", "marked.csv").out.splitlines()[0].endswith("predicted,probability")


def test_sequences_come_and_go_in_files(bayes, words):
    bayes("fit", "words.csv", "--sequence", "word", "-t", "language", "-o", "l.bayes")
    before = bk.load("l.bayes").predict_joint_log_proba([list("vento")])
    assert bayes("learn", "l.bayes", "words.csv").out == "l.bayes: 22 + 22 = 44 sequences\n"
    assert bayes("forget", "l.bayes", "words.csv").out == "l.bayes: 44 − 22 = 22 sequences\n"
    assert bk.load("l.bayes").predict_joint_log_proba([list("vento")]).tolist() == before.tolist()
    assert bayes("merge", "l.bayes", "l.bayes", "-o", "two.bayes").out == "two.bayes: 22 + 22 = 44 sequences\n"


def test_options_say_what_is_learned_of_sequences(bayes, words):
    base = ["fit", "words.csv", "--sequence", "word", "-t", "language", "-o", "m.bayes"]
    assert bayes(*base, "--states", "2", "--json").json["of"] == "HiddenMarkovModel"
    assert "closed form" in bayes("evaluate", "m.bayes", "words.csv", code=1).err
    assert "found by EM" in bayes("learn", "m.bayes", "words.csv", code=1).err
    assert bayes("evaluate", "m.bayes", "words.csv", "--held-out").out.startswith("22 sequences")
    assert bayes(*base, "--of", "rows", "--json").json["learned"] == "states of rows"
    bayes(*base, "--context", "2", "--smoothing", "0.1", "--prior", "uniform")
    model = bk.load("m.bayes")
    assert (model.model.order, model.model.smoothing, model.prior) == (2, 0.1, "uniform")


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (["-t", "language", "--states", "2"], 2, "name the column that says to which one a row belongs"),
        (["--sequence", "word"], 2, "give --states K"),
        (["--sequence", "wrd", "-t", "language"], 1, "did you mean word"),
        (["--sequence", "word", "-t", "tongue"], 1, "there is no column 'tongue'"),
        (["--sequence", "word", "-t", "language", "--order", "at"], 1, "no column 'at' for the order"),
        (["--sequence", "word", "-t", "language", "--tags"], 2, "does not go with --sequence"),
        (["--sequence", "word", "-t", "language", "-m", "tan"], 2, "does not go with --sequence"),
        (["--sequence", "word", "--states", "many"], 2, "not a number of states"),
        (["--sequence", "word", "--states", "4-2"], 2, "not a number of states"),
        (["--sequence", "word", "-t", "language", "--of", "words"], 2, "is none of rows, sequences"),
        (["--sequence", "word", "-t", "letter", "--of", "sequences"], 1, "more than one value in sequence 0"),
        (["--sequence", "word", "-t", "language", "--states", "2", "--context", "2"], 2, "leave out --states"),
        (["--sequence", "word", "-t", "letter", "--prior", "uniform"], 2, "classes of whole sequences"),
        (["--sequence", "word", "--states", "2", "--smoothing", "auto"], 2, "no automatic smoothing"),
    ],
)
def test_what_does_not_go_together_is_refused(refused, words, given, code, said):
    refused(["fit", "words.csv", *given], code, said)


def test_a_file_without_the_columns_of_the_model_is_refused(bayes, days, words):
    bayes("fit", "words.csv", "--sequence", "word", "-t", "language", "-o", "l.bayes")
    assert "days.csv has no column 'word'" in bayes("predict", "l.bayes", "days.csv", code=1).err
    assert "no column of rows is kept" in bayes("predict", "l.bayes", "words.csv", "--keep", "letter", code=1).err
    assert "for rows" in bayes("predict", "l.bayes", "words.csv", "--reject", "0.1", code=1).err
    assert "bayes inspect" in bayes("explain", "l.bayes", code=1).err
    bk.SequenceClassifier().fit([list("ab"), list("ba")], ["x", "y"]).save("plain.bayes")
    assert "ask it in Python" in bayes("predict", "plain.bayes", "words.csv", code=1).err
