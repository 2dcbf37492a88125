"""Pages opened in a real browser: drawn, without the network, and nothing of the data becomes a part of the page."""

import pytest

import bayeskit as bk
from bayeskit.charts.evidence import evidence_chart, nomogram_chart

pytestmark = pytest.mark.slow

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def hostile():
    """A model whose column, values and classes are HTML."""
    table = {EVIL: [EVIL, "b", "b", "b"] * 4, "n": [1.0, 2.0, 4.0, 3.0] * 4}
    return table, bk.NaiveBayes().fit(table, [EVIL, "a"] * 8)


def charts(hostile, more=False):
    table, model = hostile
    words = bk.TextClassifier("multinomial", pattern=r"\S+").fit([f"{EVIL} c", "b c"], [EVIL, "y"])
    yield "evidence", evidence_chart(model.explain(table)[0])
    yield "nomogram", nomogram_chart(model.nomogram())
    yield "words", evidence_chart(words.explain([EVIL])[0])
    if more:
        tree = bk.TAN().fit(table, [EVIL, "a"] * 8)
        yield "table", model.table(EVIL).chart()
        yield "map", model.table(EVIL).chart("heat")
        yield "densities", model.densities("n", table, [EVIL, "a"] * 8).chart()
        yield "tree", tree.describe_structure().chart()
        yield "confusion", model.leave_one_out(table, [EVIL, "a"] * 8).chart()
        yield "class words", words.telling_words().chart()
    yield "both", evidence_chart(model.explain(table)[0]) | evidence_chart(words.explain([EVIL])[0])


def test_a_chart_is_drawn_offline_and_says_hostile_names_as_they_are(opened, hostile, tmp_path):
    for name, chart in charts(hostile, more=True):
        for renderer in ("svg", "canvas") if name == "both" else ("svg",):
            chart.save(tmp_path / f"{name}.html", inline=True, embed_options={"renderer": renderer})
            page, asked = opened(f"{name}.html")
            page.wait_for_selector(f"#vis {renderer}.marks")
            page.wait_for_timeout(100)  # a broken picture would tell by now
            assert asked == []
            assert page.title() == ""
            assert page.locator("img").count() == 0
            if renderer == "svg":
                assert page.locator("svg text", has_text="</script>").count() > 0  # drawn, as the text that it is
                assert page.locator("svg path").count() > 3
            page.close()


def test_neither_a_tooltip_nor_the_source_of_a_chart_runs_what_a_name_holds(opened, hostile, tmp_path):
    _, chart = next(charts(hostile))
    chart.save(tmp_path / "chart.html", inline=True, embed_options={"renderer": "svg"})
    page, _ = opened("chart.html")
    page.locator("svg g.mark-rect path").nth(1).hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert tip.locator("img, script").count() == 0
    page.locator("summary").click()
    with page.context.expect_page() as source:
        page.get_by_text("View Source").click()
    source.value.wait_for_timeout(100)
    assert "script" in source.value.locator("code").inner_text()
    assert source.value.locator("img").count() == 0
    assert source.value.title() != "owned"
    assert page.title() == ""
    source.value.close()
    page.close()


def test_nothing_in_a_notebook_takes_a_name_for_html(opened, hostile, tmp_path):
    table, model = hostile
    tree = bk.NBTree(min_rows=2, min_gain=0).fit(table, [EVIL, "a"] * 8)
    shown = [
        model, tree, bk.NaiveBayes(roles={EVIL: "categorical"}), model.table(), model.table(EVIL),
        model.column_importance(),
        model.explain(table), model.explain(table)[0], model.nomogram(), model.leave_one_out(table, [EVIL, "a"] * 8),
    ]  # fmt: skip
    body = "".join(part._repr_html_() for part in shown)
    (tmp_path / "book.html").write_text(f"<!doctype html><meta charset=utf-8><body>{body}", encoding="utf-8")
    page, asked = opened("book.html")
    page.wait_for_timeout(100)
    assert asked == []
    assert page.title() == ""
    assert page.locator("img, script").count() == 0
    assert page.get_by_text("</script>").count() > len(shown)
    page.close()


def test_a_chart_in_a_notebook_is_drawn_offline_with_its_tooltips(opened, hostile, tmp_path):
    body = "".join(chart._repr_mimebundle_()["text/html"] for name, chart in charts(hostile) if name != "both")
    (tmp_path / "book.html").write_text(f"<!doctype html><meta charset=utf-8><body>{body}", encoding="utf-8")
    page, asked = opened("book.html")
    frames = page.frames[1:]
    assert len(frames) == 3
    for frame in frames:
        frame.wait_for_selector("#vis canvas.marks, #vis svg.marks")
    page.wait_for_timeout(100)
    assert asked == []
    assert page.title() == ""
    assert [frame.title() for frame in frames] == ["", "", ""]
    page.close()
