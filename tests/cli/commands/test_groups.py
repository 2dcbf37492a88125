"""``--group COLUMN`` keeps together the rows that belong together."""

import pytest


def test_a_model_fitted_by_groups_does_not_read_their_column(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "-m", "best", "--group", "year", "-o", "b.bayes", "--json").json
    assert "year" not in [column["column"] for column in told["columns"]]
    loss = bayes("fit", "birds.csv", "-t", "species", "-m", "best", "-o", "c.bayes", "--json").json["left_out"]
    assert told["left_out"]["models"][0] != loss["models"][0]
    found = bayes("evaluate", "b.bayes", "birds.csv", "--folds", 3, "--group", "year", "--json").json["evaluations"]
    assert found[-1]["method"] == "3-fold cross-validation by groups"


def test_comparisons_keep_groups_in_a_fold(bayes):
    words = ("compare", "birds.csv", "-t", "species", "--models", "naive,tree", "--folds", 3, "--json")
    assert bayes(*words, "--group", "year").json != bayes(*words, "--role", "year=ignore").json
    told = bayes("compare", "birds.csv", "-t", "species", "--models", "naive", "--group", "yeer", code=1)
    assert "'yeer'" in told.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "birds.csv", "-t", "species", "--group", "year"), "--model best"),
        (("fit", "birds.csv", "-t", "species", "-m", "best", "--calibrate", "beta", "--group", "year"), "--model best"),
        (("evaluate", "b.bayes", "birds.csv", "--group", "year"), "--folds"),
    ],
)
def test_groups_without_use_are_refused(bayes, words, message):
    bayes("fit", "birds.csv", "-t", "species", "-o", "b.bayes")
    assert message in " ".join(bayes(*words, code=2).err.split())


def test_an_unknown_column_of_groups_is_named(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "-m", "best", "--group", "yaer", "-o", "b.bayes", code=2)
    assert "'yaer'" in told.err
    assert "year" in told.err
