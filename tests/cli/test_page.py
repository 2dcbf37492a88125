"""``bayes page``: the page of a model in a file."""

import bayeskit as bk


def test_a_page_is_written_to_a_file_or_to_standard_output(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "-o", "tennis.bayes")
    assert bayes("page", "tennis.bayes", "-o", "mine.html").out == ""
    written = (here / "mine.html").read_text("utf-8")
    assert written == bk.load("tennis.bayes").page().html == bayes("page", "tennis.bayes").out
    assert '<div data-bayeskit="classifier"' in written


def test_a_page_without_a_form_is_noted_with_the_reason(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "-m", "best", "-o", "best.bayes")
    noted = bayes("page", "best.bayes", "-o", "best.html")
    assert "the page has tables and no form: the score of BayesClassifier is not a sum over columns" in noted.err
    assert "This page has no form" in (here / "best.html").read_text("utf-8")


def test_a_model_is_not_replaced_by_its_page(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "-o", "tennis.bayes")
    before = (here / "tennis.bayes").read_bytes()
    bayes("page", "tennis.bayes", "-o", "tennis.bayes", code=1)
    assert (here / "tennis.bayes").read_bytes() == before


def test_a_network_has_a_page_and_a_joint_distribution_has_none(bayes, here):
    bk.BayesianNetwork([("a", "b")], {"a": 0.5, "b": {True: 0.9, False: 0.2}}).save("net.bayes")
    assert '<div data-bayeskit="network"' in bayes("page", "net.bayes").out
    bk.JointDistribution.from_table({"a": [1, 0], "P": [0.5, 0.5]}, probability="P").save("joint.bayes")
    assert "has no page" in bayes("page", "joint.bayes", "-o", "joint.html", code=1).err
    (here / "bad.bayes").write_bytes((here / "net.bayes").read_bytes()[:-9])
    bayes("page", "bad.bayes", "-o", "bad.html", code=1)
    assert not (here / "bad.html").exists()
    assert not (here / "joint.html").exists()


def test_lessons_are_written_into_a_folder_and_not_over_a_file(bayes, here):
    assert bayes("play", "-o", "lessons").out == ""
    assert len(list((here / "lessons").glob("*.html"))) == 9
    assert "is a file" in bayes("play", "-o", "tennis.csv", code=1).err
