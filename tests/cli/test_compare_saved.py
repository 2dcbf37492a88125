"""``bayes compare`` of model files on the same rows."""

import pytest


@pytest.fixture
def two(bayes):
    bayes("fit", "half.csv", "-t", "species", "--role", "year=ignore", "-o", "old.bayes", "--no-scores")
    numbers = ("year", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    words = [word for name in numbers for word in ("--ignore", name)]
    bayes("fit", "half.csv", "-t", "species", *words, "-o", "new.bayes", "--no-scores")
    return bayes


def test_two_models_on_new_rows(two):
    found = two("compare", "old.bayes", "new.bayes", "rest.csv", "--json").json
    assert [one["model"] for one in found["models"]] == ["old.bayes", "new.bayes"]
    by_itself = two("evaluate", "new.bayes", "rest.csv", "--json").json["evaluations"][0]
    assert found["models"][1] == {"model": "new.bayes"} | {
        **by_itself, "by_class": [{k: v for k, v in one.items() if k != "auc"} for one in by_itself["by_class"]],
    }  # fmt: skip
    (pair,) = found["pairs"]
    difference = found["models"][1]["log_loss"] - found["models"][0]["log_loss"]
    assert pair["log_loss_difference"] == pytest.approx(difference)
    shown = two("compare", "old.bayes", "new.bayes", "rest.csv").out
    assert "new.bayes minus old.bayes" in shown
    assert "The rows do not tell which model has the lower log loss." in shown
    assert "McNemar p" in shown


def test_learned_rows_are_scored_without_themselves(two):
    found = two("compare", "old.bayes", "new.bayes", "half.csv", "--json").json
    assert {one["method"] for one in found["models"]} == {"leave-one-out"}


def test_what_does_not_fit_is_refused(two):
    assert "give at least two models" in two("compare", "old.bayes", "rest.csv", code=1).err
    assert "there are no rows" in two("compare", "old.bayes", "new.bayes", code=1).err
    assert "--folds" in two("compare", "old.bayes", "new.bayes", "rest.csv", "--folds", 3, code=2).err
    assert "--target" in two("compare", "rest.csv", code=2).err
