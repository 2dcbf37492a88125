"""Teaching pages: what they compute, by clicks, keys and links."""

import re

import pytest
from scipy.stats import beta

import bayeskit as bk
from bayeskit.report.play import LESSONS, lesson_page, write_lessons


@pytest.fixture
def lesson(opened, tmp_path):
    """``lesson(name)``: a teaching page in the browser."""

    def open_lesson(name):
        file, mark, fragment = name.partition("#")
        (tmp_path / f"{file}.html").write_text(lesson_page(file), encoding="utf-8")
        page, asked = opened(f"{file}.html{mark}{fragment}")
        assert asked == []
        return page

    return open_lesson


def test_every_page_is_written_and_linked(tmp_path):
    paths = write_lessons(tmp_path / "lessons")
    assert {path.name for path in paths} == {"index.html", *(f"{name}.html" for name in LESSONS)}
    index = (tmp_path / "lessons" / "index.html").read_text("utf-8")
    for name in LESSONS:
        assert f'href="{name}.html"' in index
        assert "default-src 'none'" in (tmp_path / "lessons" / f"{name}.html").read_text("utf-8")


@pytest.mark.slow
def test_a_second_positive_test_multiplies_the_odds_again(lesson):
    page = lesson("bayes-rule")
    assert "9.2%" in page.inner_text("p.large")
    page.get_by_role("button", name="Second positive test").click()
    odds = 0.01 / 0.99 * (0.9 / 0.09) ** 2
    assert f"{100 * odds / (1 + odds):.1f}%" in page.inner_text("p.large")
    slider = page.get_by_role("slider", name="Prior P(ill)")
    slider.press("ArrowRight")
    assert "prior=0.011" in page.url
    assert page.locator(".dots circle").count() == 1000


@pytest.mark.slow
def test_rows_of_tennis_light_up_and_the_product_follows(lesson):
    page = lesson("naive-bayes")
    assert "79.5%" in page.locator("[aria-label=Posterior]").inner_text()
    page.get_by_role("button", name="Clear all").click()
    assert page.locator("td.same").count() == 0
    for value in ("sunny", "cool", "high", "strong"):
        page.get_by_role("radio", name=value, exact=True).check()
    model = bk.NaiveBayes(smoothing=0).fit(bk.datasets.load_worked_example("tennis"), "play")
    row = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]}
    p = model.predict_proba(row)[0][0]
    assert f"{100 * p:.1f}%" in page.locator("[aria-label=Posterior]").inner_text()
    assert page.locator("tr.all").count() == 0
    assert page.locator("td.same").count() == 5 + 4 + 7 + 6
    page.get_by_role("group", name="temperature").get_by_role("radio", name="missing").check()
    assert page.locator("tr.all").count() == 1
    assert "3/5" in page.get_by_role("region", name="Product of no").inner_text()


@pytest.mark.slow
def test_a_belief_counts_heads_and_tails(lesson):
    page = lesson("beta#a=2&b=2&heads=3")
    page.get_by_role("button", name="Tails").click()
    assert page.inner_text("p.large") == "Beta(5, 3)"
    low, high = beta.ppf([0.025, 0.975], 5, 3)
    shown = re.search(r"between ([\d.]+) and ([\d.]+?)\.\s", page.inner_text("main"))
    assert [float(end) for end in shown.groups()] == pytest.approx([low, high], abs=1e-3)
    page.get_by_role("button", name="Undo").click()
    assert page.inner_text("p.large") == "Beta(5, 2)"


@pytest.mark.slow
def test_densities_move_by_keys_and_by_dragging(lesson):
    page = lesson("densities#m1=4&m2=6&s1=1&s2=1")
    assert "15.9%" in page.inner_text("p.large")
    top = page.get_by_role("slider", name="Mean of class 2")
    top.press("ArrowRight")
    assert top.get_attribute("aria-valuenow") == "6.1"
    box = top.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"])
    page.mouse.up()
    assert float(top.get_attribute("aria-valuenow")) > 6.5


@pytest.mark.slow
def test_topics_agree_after_some_sweeps(lesson):
    page = lesson("topics")
    page.get_by_role("button", name="20 sweeps").click()
    page.get_by_role("button", name="20 sweeps").click()
    assert "40 sweeps" in page.inner_text("main")
    page.get_by_role("slider", name="β, words of a topic").press("ArrowRight")
    assert "40 sweeps" in page.inner_text("main")
    assert "beta=0.11" in page.url
    topic_of = {}
    for text, kind in page.locator(".documents .token").evaluate_all(
        "all => all.map((e) => [e.firstChild.data, e.className])"
    ):
        topic_of.setdefault(text, set()).add("topic0" in kind)
    assert len(topic_of["fish"]) == len(topic_of["loan"]) == 1
    assert topic_of["fish"] != topic_of["loan"]


@pytest.mark.slow
def test_regions_learn_a_point_that_is_clicked(lesson):
    page = lesson("regions")
    for shape in ("two clouds", "ring", "exclusive or"):
        page.get_by_role("button", name=shape).click()
    assert "120 points correct" in page.inner_text("main")
    page.get_by_role("button", name="Clear all").click()
    page.locator(".region div").first.click()
    assert page.inner_text("main").count("1 of 1 points correct") >= 1
    page.locator(".plane").nth(1).press("ArrowLeft")
    page.locator(".plane").nth(1).press("Enter")
    page.reload()
    assert page.inner_text("main").count("of 2 points correct") == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alarm", "umbrella"])
def test_models_of_lessons_are_played_as_others(lesson, name):
    page = lesson(name)
    if name == "alarm":
        for node in ("John calls", "Mary calls"):
            page.get_by_role("region", name=node).get_by_role("button", name="True").click()
        assert "28.4%" in page.get_by_role("region", name="burglary").inner_text()
    else:
        assert "88.3%" in page.get_by_role("region", name="Posterior", exact=True).inner_text()
        page.get_by_role("button", name="Clear all").click()
        page.get_by_role("button", name="+ umbrella").click()
        assert "81.8%" in page.get_by_role("region", name="Posterior", exact=True).inner_text()
