"""``bayes ask`` on files, networks and models, from the command line."""

import subprocess
import sys

import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.datasets import path


def test_a_file_is_counted(bayes):
    told = bayes("ask", "tennis.csv", "P(play = yes | outlook = overcast)").out.splitlines()
    assert told[:2] == [
        "P(play = yes | outlook = overcast) = 1",
        "rows: 4 of the 4 that match the condition (14 in all)",
    ]
    assert told[2].startswith("95 % credible interval: 0.")
    found = bayes("ask", "birds.csv", "P(species = Gentoo | island = Biscoe and body_mass_g > 4500)", "--json").json
    assert (found["matching"], found["of"], found["rows"], found["left_out"]) == (106, 109, 344, 2)
    assert bayes("ask", "birds.csv", "P(species = Gentoo)", "--level", "0.5").out.splitlines()[2].startswith("50 %")


def test_parquet_and_folders_are_counted(bayes, here):
    pd.read_csv("birds.csv").to_parquet("birds.parquet")
    one = bayes("ask", "birds.parquet", "P(sex = male | species != Adelie)", "--json").json
    assert one == bayes("ask", "birds.csv", "P(sex = male | species != Adelie)", "--json").json
    (here / "parts").mkdir()
    (here / "half.csv").rename(here / "parts" / "half.csv")
    (here / "rest.csv").rename(here / "parts" / "rest.csv")
    assert one == bayes("ask", "parts", "P(sex = male | species != Adelie)", "--json").json


def test_a_table_of_a_distribution_is_asked_exactly(bayes):
    told = bayes("ask", path("wealth"), "P(wealth = poor)", "--probability", "probability")
    assert told.out.splitlines() == ["P(wealth = poor) = 0.760718", "exact, by a table of 8 cells"]
    assert "sum to 0.9999991; they were normalized" in told.err
    assert "rows were counted; to weigh them by" in bayes("ask", path("wealth"), "P(wealth = poor)").out


def test_a_network_and_a_model_are_asked_exactly(bayes, here, model):
    n = bk.BayesianNetwork([("rain", "wet")], {"rain": 0.2, "wet": {True: 0.9, False: 0.1}})
    bk.write_bif(n, here / "rain.bif")
    told = bayes("ask", "rain.bif", "P(rain | wet)").out.splitlines()
    assert (told[0], told[-1]) == ("P(rain | wet) = 0.692308", "exact, by a network of 2 nodes")
    assert [line.split() for line in told[3:5]] in (
        [["False", "0.307692"], ["True", "0.692308"]],
        [["True", "0.692308"], ["False", "0.307692"]],
    )
    p = bayes("ask", model, "P(species = Gentoo | island = Biscoe)", "--json").json["probability"]
    expected = (
        bk.NaiveBayes(roles={"year": "categorical"}).fit(pd.read_csv("birds.csv"), "species").restrict(["island"])
    )
    assert p == pytest.approx(expected.predict_proba({"island": "Biscoe"})[0, 2], rel=1e-12)


@pytest.mark.slow
def test_an_answer_loads_neither_pandas_nor_scikit_learn(here):
    code = (
        "import sys; sys.argv = ['bayes', 'ask', 'birds.csv', 'P(sex = male | body_mass_g > 4000)']\n"
        "from bayeskit.cli import main; main()\n"
        "assert not {'pandas', 'sklearn', 'scipy.stats'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_slip_in_the_question_is_pointed_at(bayes):
    told = bayes("ask", "birds.csv", "P(species = | island = Biscoe)", code=1).err.splitlines()
    assert told == [
        "bayes: a value is expected here, at character 13:",
        "    P(species = | island = Biscoe)",
        "                ^",
    ]
    assert "did you mean island" in bayes("ask", "birds.csv", "P(iland = Biscoe)", code=1).err
    assert "did you mean Biscoe" in bayes("ask", "birds.csv", "P(island = Bisco)", code=1).err
    assert "probability 0" in bayes("ask", "birds.csv", "P(island = Biscoe | year > 3000)", code=1).err
    assert "no file" in bayes("ask", "nothing.csv", "P(a = 1)", code=1).err
    assert "no file" in bayes("ask", "nothing.bif", "P(a = 1)", code=1).err


def test_a_column_that_the_model_measures_is_named_with_what_helps(bayes, model):
    query = "P(species = Gentoo | body_mass_g > 4500)"
    told = bayes("ask", model, query, code=1).err
    assert "the model holds no table of 'body_mass_g' (it is measured, not counted)" in told
    assert "fit it with --numeric histogram (of bayes fit), or ask the data" in told
    bayes("fit", "birds.csv", "-t", "species", "--numeric", "histogram", "-o", "cut.bayes", "--no-scores")
    assert 0.8 < bayes("ask", "cut.bayes", query, "--json").json["probability"] < 0.9
    bayes("fit", "birds.csv", "-t", "species", "--role", "sex=ignore", "-o", "some.bayes", "--no-scores")
    told = bayes("ask", "some.bayes", "P(species = Gentoo | sex = male)", code=1).err
    assert "the model holds no table of 'sex' (it is ignored): ask the data" in told
    assert "there is no column 'mass'" in bayes("ask", model, "P(species = Gentoo | mass > 4500)", code=1).err
