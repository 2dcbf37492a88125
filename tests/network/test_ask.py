"""One question of anything: the same answer from rows, from a file, from a network and from a model."""

import numpy as np
import pytest
from pyarrow import csv

import bayeskit as bk
from bayeskit.datasets import load_worked_example

TENNIS = load_worked_example("tennis")


def test_rows_files_networks_and_models_are_asked_alike(tmp_path):
    question = "P(play = yes | wind = strong)"
    assert float(bk.ask(TENNIS, question)) == 0.5
    csv.write_csv(TENNIS, tmp_path / "tennis.csv")
    assert bk.ask(tmp_path / "tennis.csv", question) == bk.ask(TENNIS, question)
    model = bk.NaiveBayes(smoothing=0).fit(TENNIS, "play")
    assert bk.ask(model, question).probability == pytest.approx(0.5)
    assert bk.ask(model.to_network(), question).probability == pytest.approx(0.5)
    joint = bk.JointDistribution.from_data(TENNIS)
    assert bk.ask(joint, question).probability == pytest.approx(0.5)


def test_a_reply_prints_is_a_number_and_has_a_picture():
    reply = bk.ask(TENNIS, "P(outlook | play = yes)")
    assert reply.distribution == pytest.approx({"overcast": 4 / 9, "rain": 3 / 9, "sunny": 2 / 9})
    assert "overcast     0.444444" in str(reply)
    assert "rows: the 9 that match the condition (14 in all)" in str(reply)
    assert "<table>" in reply._repr_html_()
    assert reply.chart().to_dict()
    with pytest.raises(bk.BayesError, match="a number for each value"):
        float(reply)
    one = bk.ask(TENNIS, "P(play = yes)")
    assert "95 % credible interval" in str(one)
    with pytest.raises(bk.BayesError, match="one number has no picture"):
        one.chart()
    numbers = {"x": [1.0, 2.0, 6.0]}
    assert float(bk.ask(numbers, "E(x)")) == 3


def test_tables_of_distributions_name_their_column():
    table = {"sky": ["sun", "rain"], "count": [3, 1]}
    assert bk.ask(table, "P(sky = sun)", count="count").probability == 0.75
    assert bk.ask({"sky": ["sun", "rain"], "p": [0.9, 0.1]}, "P(sky = sun)", probability="p").probability == 0.9
    with pytest.raises(bk.BayesError, match="this is a model"):
        bk.ask(bk.JointDistribution.from_data(TENNIS), "P(play = yes)", count="n")


def test_what_cannot_be_asked_is_told():
    with pytest.raises(bk.BayesError, match="AODE holds no tables to ask of"):
        bk.ask(bk.AODE().fit(TENNIS, "play"), "P(play = yes)")
    with pytest.raises(bk.BayesError, match="at character"):
        bk.ask(TENNIS, "P(play = yes")
    model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.5], "s": [*"aab"]}, [0, 1, 1])
    with pytest.raises(
        bk.BayesError, match=r"no table of 'x' \(it is measured, not counted\): fit it with numeric=\"hist"
    ):
        bk.ask(model, "P(class = 1 | x > 2)")
    with pytest.raises(bk.BayesError, match=r"measured, not counted\. Fit it with numeric"):
        bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.5]}, [0, 1, 1]).to_network()


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN(), bk.KDB()], ids=str)
def test_a_model_and_its_network_predict_the_same(model):
    network = model.fit(TENNIS, "play").to_network()
    np.testing.assert_allclose(network.predict_proba(TENNIS, "play"), model.predict_proba(TENNIS), atol=1e-9)
    assert '"play" -> "wind"' in network.to_dot()


def test_the_members_of_aode_are_networks_whose_mean_it_is():
    model = bk.AODE().fit(TENNIS, "play")
    rows = TENNIS.drop_columns(["play"])
    joints = []
    for parent in rows.column_names:
        network = model.to_network(parent)
        assert network.parents["play"] == ()
        assert all(network.parents[c] == ("play", parent) for c in rows.column_names if c != parent)
        table = bk.JointDistribution.from_network(network)
        wanted = []
        for label in ("no", "yes"):
            for row in rows.to_pylist():
                condition = " and ".join(f"{k} = {v}" for k, v in row.items())
                wanted.append(table.probability(f"P(play = {label} and {condition})"))
        joints.append(np.array(wanted).reshape(2, -1).T)
    np.testing.assert_allclose(np.mean(joints, axis=0), np.exp(model.predict_joint_log_proba(rows)), atol=1e-9)
    with pytest.raises(bk.BayesError, match="wnd"):
        model.to_network("wnd")


def test_what_is_no_fitted_model_is_told():
    with pytest.raises(Exception, match="NaiveBayes instance is not fitted yet"):
        bk.ask(bk.NaiveBayes(), "P(play = yes)")
    with pytest.raises(bk.BayesError, match="5 is nothing to ask of: pass rows, a file, a network or a fitted model"):
        bk.ask(5, "P(play = yes)")
    with pytest.raises(bk.BayesError, match=r"ask one of its members, model\.to_network\(column\)"):
        bk.ask(bk.AODE().fit(TENNIS, "play"), "P(play = yes)")


def test_a_joint_distribution_answers_with_a_number_a_distribution_or_a_mean():
    joint = bk.JointDistribution.from_table({"sky": ["sun", "rain"], "eyes": [1, 2], "count": [3, 1]})
    assert float(bk.ask(joint, "P(sky = sun)")) == 0.75
    assert bk.ask(joint, "P(sky)").distribution == {"rain": 0.25, "sun": 0.75}
    assert float(bk.ask(joint, "E(eyes)")) == 1.25
