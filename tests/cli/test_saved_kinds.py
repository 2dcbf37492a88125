"""Every kind of model that can be saved is taken by the commands, or refused with what takes it."""

import csv
import io

import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.models import SAVED

ROLES = {"year": "ignore"}


def rows_of(told):
    return list(csv.DictReader(io.StringIO(told.out)))


@pytest.fixture
def birds(here):
    return load_penguins()


@pytest.mark.slow
def test_weights_predict_are_scored_and_shown(bayes, birds):
    for model, shown in (
        (bk.LogisticRegression(roles=ROLES), "log odds are a sum of weights"),
        (bk.DiscriminativeWeights(bk.NaiveBayes(roles=ROLES)), "each column speaks with an exponent"),
    ):
        model.fit(birds, "species").save("m.bayes")
        said = rows_of(bayes("predict", "m.bayes", "birds.csv"))
        assert [row["predicted"] for row in said] == model.predict(birds).tolist()
        held_out = bayes("evaluate", "m.bayes", "birds.csv", "--held-out", "--json").json["evaluations"][0]
        assert held_out["accuracy"] == pytest.approx(model.score(birds, "species"))
        assert shown in bayes("inspect", "m.bayes").out
        assert "bill_length_mm" in bayes("inspect", "m.bayes", "--column", "bill_length_mm", "--json").out
        assert "bayes inspect shows its weights" in bayes("explain", "m.bayes", "birds.csv", code=1).err
        assert "cannot learn more: fit it again" in bayes("learn", "m.bayes", "birds.csv", code=1).err
        assert "cannot be merged" in bayes("merge", "m.bayes", "m.bayes", "-o", "x.bayes", code=1).err
        assert "use --folds 10" in bayes("evaluate", "m.bayes", "birds.csv", code=1).err
        assert len(bayes("rank", "m.bayes", "birds.csv", "--class", "Gentoo", "-n", "3").out.splitlines()) == 4


@pytest.mark.slow
def test_the_advised_folds_score_models_of_models(bayes, birds):
    bk.DiscriminativeWeights(bk.NaiveBayes(roles=ROLES)).fit(birds, "species").save("m.bayes")
    found = bayes("evaluate", "m.bayes", "birds.csv", "--folds", "3", "--json").json["evaluations"]
    assert [one["method"] for one in found] == ["3-fold cross-validation"]
    assert found[0]["accuracy"] > 0.9


def test_a_model_with_costs_decides_by_them_and_explains_what_it_believes(bayes, birds):
    costs = {a: {b: 0 if a == b else 9 if a == "Adelie" else 1 for b in ("Adelie", "Chinstrap", "Gentoo")}
             for a in ("Adelie", "Chinstrap", "Gentoo")}  # fmt: skip
    model = bk.CostSensitive(bk.NaiveBayes(roles=ROLES), costs, reject_cost=0.05).fit(birds, "species")
    model.save("m.bayes")
    said = rows_of(bayes("predict", "m.bayes", "birds.csv"))
    decided = model.decide(birds)
    assert [row["decision"] or None for row in said] == decided.labels.tolist()
    assert [float(row["expected_cost"]) for row in said] == pytest.approx(decided.expected_loss.tolist())
    assert decided.rejected.any()
    bk.NaiveBayes(roles=ROLES).fit(birds, "species").save("plain.bayes")
    for words in (("explain", "birds.csv", "--row", "3"), ("evaluate", "birds.csv")):
        told, plain = (bayes(words[0], name, *words[1:]).out for name in ("m.bayes", "plain.bayes"))
        assert told == plain


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_rows_without_labels_leave_a_model_that_is_asked_and_explained(bayes, birds):
    few = birds.set_column(
        0, "species", [[s if i % 3 == 0 else None for i, s in enumerate(birds["species"].to_pylist())]]
    )
    bk.SemiSupervised(bk.NaiveBayes(roles=ROLES), folds=0).fit(few, "species").save("m.bayes")
    assert rows_of(bayes("predict", "m.bayes", "birds.csv"))[0].keys() == {"predicted", "probability"}
    assert "Adelie with probability" in bayes("explain", "m.bayes", "birds.csv").out
    assert "held-out rows" in bayes("evaluate", "m.bayes", "birds.csv", "--held-out").out
    assert "exact" in bayes("ask", "m.bayes", "P(island = Dream | sex = male)").out
    texts, labels = (
        ["cold rain", "warm sun", "rain and wind", "sun and sea", "rain"],
        ["bad", "good", "bad", "good", None],
    )
    bk.SemiSupervised(bk.TextClassifier(), folds=0).fit(texts, labels).save("t.bayes")
    assert rows_of(bayes("predict", "t.bayes", "-", stdin=b"wind and rain\n"))[0]["predicted"] == "bad"
    assert "SemiSupervised of class" in bayes("inspect", "t.bayes").out
    assert "a SemiSupervised has no explanation" in bayes("explain", "t.bayes", "-", code=1, stdin=b"rain\n").err


def test_a_line_predicts_numbers_and_nothing_else(bayes, birds):
    heavy = birds.filter(birds["body_mass_g"].is_valid()).drop(["year"])
    model = bk.LinearRegression().fit(heavy, "body_mass_g")
    model.save("m.bayes")
    said = [float(row["predicted"]) for row in rows_of(bayes("predict", "m.bayes", "birds.csv"))]
    assert said == pytest.approx(model.predict(birds.drop(["year", "body_mass_g"])).tolist())
    assert "a prediction is a sum of weights" in bayes("inspect", "m.bayes").out
    assert "are for classes" in bayes("predict", "m.bayes", "birds.csv", "--proba", code=1).err
    for words in (("evaluate",), ("explain",), ("learn",), ("rank", "--class", "x")):
        told = bayes(words[0], "m.bayes", "birds.csv", *words[1:], code=1).err
        assert "m.bayes holds a LinearRegression, which has no classes: bayes predict gives its numbers" in told


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_distributions_are_asked_and_shown(bayes, birds):
    roles = {"bill_length_mm": bk.Numeric((40, 45)), "bill_depth_mm": "ignore", "flipper_length_mm": "ignore"}
    roles |= {"body_mass_g": "ignore", "year": "categorical"}
    bk.BayesianNetwork.from_data([("species", "island")], birds, roles=roles).save("network.bayes")
    bk.JointDistribution.from_data(birds.select(["species", "island"])).save("joint.bayes")
    for name, told in (
        ("network.bayes", "exact, by a network of 5 nodes"),
        ("joint.bayes", "exact, by a table of 5 cells"),
    ):
        answer = bayes("ask", name, "P(species = Gentoo | island = Biscoe)").out
        assert answer.startswith("P(species = Gentoo | island = Biscoe) = 0.7")
        assert told in answer
        assert "3: Adelie, Chinstrap, Gentoo" in bayes("inspect", name).out
        assert "Torgersen" in bayes("inspect", name, "--column", "island").out
        assert "did you mean island?" in bayes("inspect", name, "--column", "islan", code=1).err
        assert "which has no classes: bayes ask answers from it" in bayes("predict", name, "birds.csv", code=1).err


def test_a_sparse_matrix_leaves_nothing_that_reads_a_table(bayes, here):
    from scipy.sparse import csr_matrix

    bk.LogisticRegression().fit(csr_matrix([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), ["a", "b", "b"]).save("m.bayes")
    assert "takes no table: its columns have no names" in bayes("predict", "m.bayes", "birds.csv", code=1).err
    assert "LogisticRegression of class" in bayes("inspect", "m.bayes").out


def test_the_page_on_files_names_every_kind():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    table = page[page.index("| model | content of the file |") :].split("\n\n")[0]
    assert all(f"`{name}`" in table for name in SAVED)
