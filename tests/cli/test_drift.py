"""``bayes drift``: the table, exit codes for scripts, JSON and a picture."""

import numpy as np
import pytest


@pytest.fixture
def drifting(bayes, here):
    lines = (here / "birds.csv").read_text().splitlines()
    head, *rows = lines
    mixed = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    (here / "half.csv").write_text("\n".join([head, *mixed[:200]]) + "\n")
    lines = [head, *mixed[200:]]
    (here / "rest.csv").write_text("\n".join(lines) + "\n")
    bayes("fit", "half.csv", "-t", "species", "-o", "birds.bayes", "--role", "year=ignore")
    at = lines[0].replace('"', "").split(",").index("body_mass_g")
    cells = [line.split(",") for line in lines]
    for row in cells[1:]:
        row[at] = row[at] and str(float(row[at]) / 1000)
    (here / "kilograms.csv").write_text("\n".join(map(",".join, cells)) + "\n")
    return bayes


def test_grams_that_became_kilograms_are_reported(drifting):
    shown = drifting("drift", "birds.bayes", "kilograms.csv").out
    assert "drifted: body_mass_g" in shown
    assert "log loss of these rows" in shown
    record = drifting("drift", "birds.bayes", "kilograms.csv", "--json").json
    assert record["drifted"] == ["body_mass_g"]
    assert record["columns"][0]["column"] == "body_mass_g"


def test_exit_codes_for_scripts(drifting):
    assert "no column has drifted" in drifting("drift", "birds.bayes", "rest.csv", "--fail-above", "0.25").out
    drifting("drift", "birds.bayes", "kilograms.csv", "--fail-above", "0.25", code=1)
    drifting("drift", "birds.bayes", "kilograms.csv", "--fail-above", "-1", code=2)


def test_a_picture(drifting, here):
    pytest.importorskip("altair", reason="altair is in the extra charts")
    drifting("drift", "birds.bayes", "kilograms.csv", "--plot", "drift.svg")
    assert "population stability index" in (here / "drift.svg").read_text()


def test_evaluation_fails_beyond_a_limit(bayes):
    bayes("fit", "half.csv", "-t", "species", "-o", "birds.bayes", "--no-scores", "--role", "year=ignore")
    bayes("evaluate", "birds.bayes", "rest.csv", "--fail-if", "accuracy < 0.5", "--fail-if", "log_loss > 3")
    failed = bayes("evaluate", "birds.bayes", "rest.csv", "--fail-if", "log_loss>0.0001", "--json", code=1)
    assert failed.err.strip() == "bayes: log_loss>0.0001"
    assert failed.json["evaluations"][0]["log_loss"] > 0.0001
    assert "not a limit such as" in bayes("evaluate", "birds.bayes", "rest.csv", "--fail-if", "luck > 3", code=2).err
