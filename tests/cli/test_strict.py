"""``--strict``: what is a note otherwise ends the command, and nothing is written."""

import pytest

HEAD = "bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,island,sex,year\n"
PREDICT = ("predict", "birds.bayes", "odd.csv", "-o", "out.csv")


@pytest.fixture
def odd(bayes, model, here):
    """``odd.csv``: a value that the model has never seen, or the text for the whole file."""

    def write(text):
        (here / "odd.csv").write_text(text)
        return bayes

    return write


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + 40 * "40,18,200,4000,Atlantis,male,2007\n", "island has a value never seen"),
        ("sex\nmale\n", "has no column"),
        (HEAD + 40 * ",,,,,,\n", "unlike those of the training"),
    ],
    ids=["unseen", "absent", "drifted"],
)
def test_a_note_is_an_error(odd, here, text, said):
    bayes = odd(text)
    assert said in bayes(*PREDICT).err
    assert "bayes: note: " in bayes(*PREDICT).err
    (here / "out.csv").unlink()
    told = bayes(*PREDICT, "--strict", code=1)
    assert said in told.err
    assert "note: " not in told.err
    assert not (here / "out.csv").exists()
    assert bayes(*PREDICT, "--strict", "--quiet", code=1).err


def test_rows_without_remarks_pass(bayes, model):
    assert bayes("predict", model, "birds.csv", "--strict").out == bayes("predict", model, "birds.csv").out


def test_rows_of_which_some_were_learned(bayes):
    bayes("fit", "half.csv", "-t", "species", "-o", "half.bayes", "--no-scores")
    assert "about 172 of the 172 rows" in " ".join(bayes("evaluate", "half.bayes", "birds.csv").out.split())
    told = bayes("evaluate", "half.bayes", "birds.csv", "--strict", code=1)
    assert "about 172 of the 172 rows" in told.err
    assert told.out == ""
