"""Batches by name, certificates and the history of a model file at a terminal."""

import pytest

HEAD = "sky,play\n"
ROWS = ["sun,yes", "rain,no", "rain,no", "fog,no"]


@pytest.fixture
def sky(bayes, here):
    (here / "sky.csv").write_text(HEAD + "\n".join(ROWS) + "\n")
    (here / "last.csv").write_text(HEAD + ROWS[-1] + "\n")
    bayes("fit", "sky.csv", "-t", "play", "-o", "sky.bayes")
    return bayes


def test_a_batch_is_learned_once_and_forgotten_once(sky):
    assert "4 + 1 = 5 rows" in sky("learn", "sky.bayes", "last.csv", "--batch", "monday").out
    again = sky("learn", "sky.bayes", "last.csv", "--batch", "tuesday", code=1)
    assert "has the rows of batch 'monday'" in again.err
    assert "5 − 1 = 4 rows" in sky("forget", "sky.bayes", "last.csv", "--batch", "monday").out
    assert "has been forgotten already" in sky("forget", "sky.bayes", "last.csv", "--batch", "monday", code=1).err


def test_a_certificate_says_what_the_file_still_holds(sky):
    certificate = sky("forget", "sky.bayes", "last.csv", "--verify", "--json").json
    assert certificate["exact"] is True
    sky("fit", "sky.csv", "-t", "play", "-o", "tree.bayes", "-m", "kdb")
    kept = sky("forget", "tree.bayes", "last.csv", "--verify", "--json").json
    assert kept["exact"] is False
    assert "structure" in kept["certificate"]


def test_forgetting_without_the_weights_of_the_fit_is_noted_and_not_called_exact(bayes, here):
    (here / "w.csv").write_text("sky,play,w\nsun,yes,3\nrain,no,2\nsun,yes,1\n")
    (here / "gone.csv").write_text("sky,play,w\nsun,yes,3\n")
    fitted = bayes("fit", "w.csv", "-t", "play", "-o", "w.bayes", "--weight", "w")
    assert "w.csv: rows of total weight 6" in fitted.out
    assert "Of a weight above 1 the rest stays in" in " ".join(fitted.out.split())
    before = (here / "w.bayes").read_bytes()
    assert "pass --weight" in bayes("forget", "w.bayes", "gone.csv", "--strict", code=1).err
    assert (here / "w.bayes").read_bytes() == before
    plain = bayes("forget", "w.bayes", "gone.csv", "-o", "plain.bayes", "--verify")
    assert "pass --weight" in plain.err
    assert "verified: one unit of weight of each row is gone" in plain.out
    weighted = bayes("forget", "w.bayes", "gone.csv", "--weight", "w", "--verify")
    assert "6 − 3 = 3 rows" in weighted.out
    assert "verified: exact" in weighted.out


def test_inspect_shows_the_history_and_how_the_model_forgets(sky):
    sky("learn", "sky.bayes", "last.csv", "--batch", "monday")
    shown = sky("inspect", "sky.bayes").out
    assert "fit 4 rows from sky.csv" in shown
    assert "forgets: exactly" in shown
    listed = sky("inspect", "sky.bayes", "--json").json
    assert [(e["action"], e["rows"], e["source"]) for e in listed["history"]] == [
        ("fit", 4, "sky.csv"),
        ("learn", 1, "last.csv"),
    ]
    assert listed["batches"] == {"learned": ["monday"], "forgotten": []}


def test_a_merged_file_keeps_the_batches_of_both(sky):
    sky("learn", "sky.bayes", "last.csv", "--batch", "monday", "-o", "a.bayes")
    sky("merge", "a.bayes", "sky.bayes", "-o", "both.bayes")
    assert "has been learned already" in sky("learn", "both.bayes", "last.csv", "--batch", "monday", code=1).err
    assert "would count twice" in sky("merge", "a.bayes", "a.bayes", "-o", "no.bayes", code=1).err
