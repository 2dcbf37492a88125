"""Pages by keyboard, in the dark, on narrow screens, without JavaScript, and their speed."""

from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.report.play import LESSONS, lesson_page
from tests.report.test_networks import alarm
from tests.report.test_pages import columns
from tests.report.test_sequences import umbrella

AXE = Path(__file__).parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"
FINDINGS = """; axe.run(document).then((found) => found.violations
    .filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => [v.id, v.nodes[0].html]))"""
LINK = "(link) => decodeURIComponent(location.hash) === link"
# CPU seconds of the page's thread for a click, from one reading of its meter to the next.
CLICK = """async ([selector, i]) => {
    const all = document.querySelectorAll(selector);
    all[i % all.length].click();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
}"""


def sports():
    data = bk.datasets.load_worked_example("sports")
    return bk.TextClassifier("multinomial", pattern="words1").fit(data["text"], data["tag"])


PAGES = {
    "every kind of column": (lambda: bk.NaiveBayes().fit(*columns()), "sky=sun&size=1&many=v1"),
    "tree": (lambda: bk.TAN().fit(*columns()), "sky=sun&size=1"),
    "text": (sports, "text=a+very+close+game"),
    "network": (alarm, "john=True&~0=0.5,0.2"),
    "states": (umbrella, "x0=umbrella,none,,umbrella"),
}


@pytest.fixture
def shown(opened, tmp_path):
    """``shown(name)``: one of the pages, with a case."""

    def open_page(name):
        if name in LESSONS:
            (tmp_path / "page.html").write_text(lesson_page(name), encoding="utf-8")
            return opened("page.html")[0]
        if name == "report":
            bk.write_report(bk.NaiveBayes(), *columns(), tmp_path / "page.html", rows=1)
            return opened("page.html")[0]
        make, link = PAGES[name]
        make().page(tmp_path / "page.html")
        return opened(f"page.html#{link}")[0]

    return open_page


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PAGES, *LESSONS, "report"])
def test_pages_are_accessible_in_light_and_dark_and_fit_a_narrow_screen(shown, name):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make page")
    page = shown(name)
    for scheme, width in (("light", 1200), ("dark", 400)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        page.reload()
        assert page.evaluate(AXE.read_text("utf-8") + FINDINGS) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.slow
def test_a_form_is_filled_by_the_keyboard_alone(opened, tmp_path):
    model = bk.NaiveBayes().fit(bk.datasets.load_worked_example("tennis"), "play")
    model.page(tmp_path / "page.html")
    page, _ = opened("page.html")
    page.get_by_role("button", name="Clear all").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert "outlook=sunny&temperature=cool" in page.url
    ruler = page.get_by_role("slider", name="wind", exact=True)
    ruler.focus()
    page.keyboard.press("ArrowRight")
    assert "wind=strong" in page.url
    page.keyboard.press("Delete")
    assert "wind" not in page.url


@pytest.mark.slow
def test_networks_and_sequences_are_played_by_the_keyboard_alone(shown):
    page = shown("alarm")
    page.get_by_role("region", name="Graph of the network").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "soft"  # no stop at each node of the graph
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function(LINK, arg="#burglary=True")
    page.keyboard.press("Space")
    page.wait_for_function(LINK, arg="")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(LINK, arg="#~0=0.99,1")
    page = shown("umbrella")
    page.get_by_role("button", name="+ umbrella").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(LINK, arg="#day=umbrella,umbrella,umbrella&~step=3")
    page.get_by_role("slider", name="Step 3 of 3").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(LINK, arg="#day=umbrella,umbrella,umbrella&~step=2")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["every kind of column", "network", "states", "naive-bayes", "alarm", "umbrella"])
def test_without_javascript_a_page_shows_its_tables(chromium, tmp_path, name):
    if name in LESSONS:
        (tmp_path / "page.html").write_text(lesson_page(name), encoding="utf-8")
    else:
        PAGES[name][0]().page(tmp_path / "page.html")
    page = (
        chromium.browser.new_context(java_script_enabled=False).new_page() if chromium.browser else chromium.new_page()
    )
    if not chromium.browser:
        page.route("**/*", lambda route: route.continue_())
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator(".figures table").first.is_visible()
    assert page.locator(".figures table").count() >= 3
    page.close()


def cpu_of_clicks(page, selector, n=9):
    """Return the median CPU time of a click in milliseconds: script, style and layout."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def meter():
        found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        return found["ScriptDuration"] + found["LayoutDuration"] + found["RecalcStyleDuration"]

    times = []
    for i in range(n):
        before = meter()
        page.evaluate(CLICK, [selector, 7 * i])
        times.append(1000 * (meter() - before))
    return float(np.median(times))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("100 columns", 16), ("37 nodes", 50), ("20 states, 200 steps", 50)])
def test_a_click_is_answered_at_once(opened, tmp_path, name, most):
    rng = np.random.default_rng(0)
    link = ""
    if name == "100 columns":
        table = {f"c{i}": rng.choice(["u", "v", "w"], 300).tolist() for i in range(60)}
        table |= {f"n{i}": rng.normal(0, 1, 300).tolist() for i in range(40)}
        bk.NaiveBayes().fit(table, rng.choice(["a", "b", "c"], 300)).page(tmp_path / "page.html")
        selector = "input[type=radio]"
    elif name == "37 nodes":
        names = [f"n{i}" for i in range(37)]
        edges = [(names[i], names[i + k]) for i in range(36) for k in (1, 2) if i + k < 37]
        parents = {name: [a for a, b in edges if b == name] for name in names}
        tables = {n: rng.dirichlet(np.ones(3), (3,) * len(parents[n])) for n in names}
        network = bk.BayesianNetwork(edges, tables, dict.fromkeys(names, ("low", "middle", "high")))
        network.page(tmp_path / "page.html")
        selector = "button.bar"
    else:
        states, symbols = [f"s{i}" for i in range(20)], [f"o{i}" for i in range(5)]

        def shares(names):
            return dict(zip(names, rng.dirichlet(np.ones(len(names))).tolist(), strict=True))

        moves, emissions = {s: shares(states) for s in states}, {s: shares(symbols) for s in states}
        bk.HiddenMarkovModel.from_tables(shares(states), moves, emissions).page(tmp_path / "page.html")
        selector, link = ".chip input", "#x0=" + ",".join(rng.choice(symbols, 200))
    page, _ = opened(f"page.html{link}")
    assert cpu_of_clicks(page, selector) <= most
