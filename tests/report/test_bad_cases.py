"""Pages of odd models and odd cases: each has a defined answer."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import bayeskit as bk


@pytest.fixture
def played(opened, tmp_path):
    """``played(model, link)``: the posterior that the page of a model shows for a case, and the page."""

    def play(model, link=""):
        model.page(tmp_path / "page.html")
        page, _ = opened(f"page.html#{link}")
        return page.locator("[aria-label=Posterior] .figure").all_inner_texts(), page

    return play


def percents(model, row):
    return [f"{100 * p:.1f}%" for p in model.predict_proba({name: [cell] for name, cell in row.items()})[0]]


@pytest.mark.slow
def test_wide_tables_many_values_and_many_classes(played):
    rng = np.random.default_rng(0)
    n = 4000
    table = {f"c{i}": rng.choice(["u", "v"], n).tolist() for i in range(499)}
    table["many"] = [f"value {k}" for k in rng.permutation(n) % 2000]
    classes = [f"class {k:03}" for k in rng.permutation(n) % 100]
    model = bk.NaiveBayes().fit(table, classes)
    figures, page = played(model, "many=value 7&c3=u")
    row = dict.fromkeys(table) | {"many": "value 7", "c3": "u"}
    p = sorted(model.predict_proba({name: [cell] for name, cell in row.items()})[0], reverse=True)
    assert figures == [f"{100 * share:.1f}%" for share in p[:12]]
    assert "88 others" in page.inner_text("main")
    assert page.get_by_label("many").locator("option").count() == 2002
    assert page.locator("fieldset").count() == 500


@pytest.mark.slow
def test_unknown_values_and_numbers_beyond_every_range(played):
    table = {"sky": ["sun", "rain", "sun", "rain"] * 5, "size": [1.0, 2.0, 3.0, 5.0] * 5}
    model = bk.NaiveBayes(unseen="smooth", numeric="gaussian").fit(table, ["a", "b", "a", "b"] * 5)
    figures, page = played(model, "sky=hail&size=40")
    assert figures == ["< 0.1%", "100.0%"]
    assert model.predict_proba({"sky": ["hail"], "size": [40.0]})[0][1] == 1.0
    assert "outside the usual range" in page.inner_text("main")
    for odd in ("size=1e400", "size=1e200", "size=abc", "size=", "nothing=1", "~prior=7&~alpha=x&~class=z", "%E0%A4%A"):
        figures, page = played(model, odd)
        assert figures == percents(model, {"sky": None, "size": None})
    refused = bk.NaiveBayes(unseen="error", numeric="gaussian").fit(table, ["a", "b", "a", "b"] * 5)
    assert played(refused, "sky=hail&size=2")[0] == percents(refused, {"sky": None, "size": 2.0})


@pytest.mark.slow
def test_documents_without_known_words_leave_the_prior(played):
    data = bk.datasets.load_worked_example("sports")
    model = bk.TextClassifier("multinomial", pattern="words1").fit(data["text"], data["tag"])
    for text in ("", "%3F%21", "zebra zebra"):
        figures, page = played(model, f"text={text}")
        assert figures == ["40.0%", "60.0%"]
    assert "it gives no evidence" in page.inner_text("main")
    assert "2 unknown" in page.inner_text("main")


@pytest.mark.slow
def test_parts_of_dates_are_chosen_one_by_one(played):
    days = [f"2024-{month:02}-11" for month in range(1, 13)] * 3
    model = bk.NaiveBayes(roles={"day": bk.Date("month")}).fit(
        {"day": days}, ["a" if d < "2024-05" else "b" for d in days]
    )
    assert played(model, "day.month=3")[0] == percents(model, {"day": "2024-03-20"})


@pytest.mark.slow
def test_an_impossible_row_is_named(played):
    model = bk.NaiveBayes(smoothing=0).fit({"x": ["p", "q"], "y": ["r", "s"]}, ["a", "b"])
    _, page = played(model, "x=p&y=s")
    assert "impossible under every class" in page.inner_text("main")


@pytest.mark.slow
def test_a_page_in_a_notebook_answers_inside_its_frame(opened, tmp_path):
    model = bk.NaiveBayes().fit(bk.datasets.load_worked_example("tennis"), "play")
    (tmp_path / "book.html").write_text(f"<!doctype html><body>{model.page()._repr_html_()}", encoding="utf-8")
    page, asked = opened("book.html")
    frame = page.frame_locator("iframe")
    frame.get_by_role("radio", name="sunny").check()
    expected = percents(model, {"outlook": "sunny", "temperature": None, "humidity": None, "wind": None})
    assert frame.locator("[aria-label=Posterior] .figure").all_inner_texts() == expected
    assert asked == []


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TextClassifier(), bk.HiddenMarkovModel()])
def test_an_unfitted_model_writes_nothing(model, tmp_path):
    with pytest.raises(NotFittedError):
        model.page(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
