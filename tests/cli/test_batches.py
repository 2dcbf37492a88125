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
