"""Pages of models: what they contain, and the scores of the browser equal to those of Python."""

import json
import re

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import logspace

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
TURNED = "x\u202ey\u200f'\"&"
SCORES = "([form, rows]) => rows.map((row) => bayeskitPage.logJoint(form, row))"


def columns(n=60, seed=0):
    """Return a table with a column of each kind, some of its cells missing, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    shift = np.array([ord(c) - 97 for c in y])
    table = {
        "sky": [("sun", "rain", "snow")[i] for i in (rng.integers(0, 3, n) + shift) % 3],
        "wet": [bool(b) for b in rng.random(n) < 0.3 + 0.2 * shift],
        "size": (rng.normal(shift, 1.0)).tolist(),
        "cost": rng.lognormal(shift / 2, 0.7).tolist(),
        "calls": [float(k) for k in rng.poisson(2 + shift)],
        "many": [f"v{k}" for k in rng.integers(0, 9, n)],
    }
    for values in table.values():
        for i in np.flatnonzero(rng.random(n) < 0.15):
            values[i] = None
    return table, y.tolist()


EVERY = {"cost": "lognormal", "calls": "poisson"}
MODELS = {
    "gaussian": bk.NaiveBayes(),
    "shared variance": bk.NaiveBayes(variance="feature"),
    "student": bk.NaiveBayes(numeric="student"),
    "kernel": bk.NaiveBayes(numeric="kernel"),
    "histogram": bk.NaiveBayes(numeric="histogram"),
    "lognormal and poisson": bk.NaiveBayes(numeric=EVERY),
    "missing values as values": bk.NaiveBayes(missing="value", smoothing=0.3),
    "unsmoothed": bk.NaiveBayes(smoothing=0),
    "uniform prior": bk.NaiveBayes(prior="uniform", temperature=1.7),
    "weights": bk.DiscriminativeWeights(),
    "weights of densities": bk.DiscriminativeWeights(bk.NaiveBayes(numeric=EVERY | {"size": "kernel"})),
    "back-off and unseen values": bk.NaiveBayes(smoothing="back-off", unseen="smooth"),
    "network": bk.NetworkClassifier(),
    "TAN": bk.TAN(),
    "KDB": bk.KDB(),
    "logistic": bk.LogisticRegression(),
    "full joint": bk.FullJointBayes(smoothing=0.5),
    "full joint, unsmoothed": bk.FullJointBayes(),
    "text beside columns": bk.NaiveBayes(roles={"many": "text"}),
}
CASES = 200


def payload_of(page):
    """Return the data that a page embeds."""
    return json.loads(re.search(r'<script type="application/json" id="payload-1">(.*?)</script>', page.html, re.S)[1])


def coded(payload, table, i):
    """Return a row as the page has it: codes of values, numbers, None where a cell is missing."""
    row = {}
    for column in payload["columns"]:
        cell = table[column["name"]][i]
        if column["kind"] == "text":
            cell = cell or None
        elif cell is not None and column["kind"] == "choice":
            label = str(cell)
            cell = 1 + (column["labels"].index(label) if label in column["labels"] else len(column["labels"]))
        row[column["name"]] = cell
    return row


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.UndecidableWarning")
@pytest.mark.parametrize("name", MODELS)
def test_the_browser_gives_the_probabilities_of_python(opened, tmp_path, name):
    model = MODELS[name].fit(*columns())
    page, _ = opened(saved(model, tmp_path))
    table, _ = columns(CASES, seed=1)
    table["many"][:5] = ["never seen"] * 5
    payload = payload_of(model.page())
    form = payload["form"]
    found = page.evaluate(SCORES, [form, [coded(payload, table, i) for i in range(CASES)]])
    expected = model.predict_log_proba(table)
    z = np.array(found, dtype=float) / form["temperature"]
    possible = np.isfinite(z).any(axis=1)
    np.testing.assert_allclose(logspace.log_normalize(z[possible])[0], expected[possible], rtol=1e-12, atol=1e-12)
    if not possible.all():
        given = np.log(np.tile(form["undecidable"], ((~possible).sum(), 1)))
        np.testing.assert_allclose(given, expected[~possible], rtol=1e-12, atol=1e-12)


WORDS = (
    "good",
    "Bad",
    "cat’s",
    "naïve",
    "İstanbul",
    "ΟΔΟΣ",
    "不好",
    "a",
    "x1",
    "…",
    "ok_ok",
    "\U0001d518\U0001d52b",
    "1½",
)
TEXTS = {
    "multinomial": {"recipe": "multinomial"},
    "pairs": {"recipe": "multinomial", "ngrams": (1, 3), "pattern": "words1", "stop_words": ["a", "ok_ok"]},
    "punctuation": {"recipe": "multinomial", "pattern": "words_and_punctuation", "lowercase": False},
    "characters": {"recipe": "multinomial", "pattern": "char", "ngrams": (1, 3)},
    "characters within words": {"recipe": "multinomial", "pattern": "char_wb", "ngrams": (2, 4)},
    "runs inside": {"recipe": "multinomial", "characters": (2, 4)},
    "set of words": {"recipe": "set_of_words"},
    "complement": {"recipe": "complement"},
    "wcnb": {"recipe": "wcnb"},
    "nbsvm": {"recipe": "nbsvm"},
    "fast": {"recipe": "fast"},
    "weighted": {"recipe": "weighted", "ngrams": (1, 2)},
    "best": {"recipe": "best"},
}


def texts(n, seed):
    """Return random texts of few words, some empty or of unknown words, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n)
    spaces = np.array([" ", "  ", ", ", "\n", "\x1c", "\ufeff", "\u3000"])
    return [
        "".join(w + s for w, s in zip(rng.choice((*WORDS, f"new{i}"), k), rng.choice(spaces, k), strict=True))
        for i, k in enumerate(rng.integers(0, 9, n) + (y == "yes"))
    ], y.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_the_browser_scores_texts_as_python_does(opened, tmp_path, name):
    model = bk.TextClassifier(**TEXTS[name]).fit(*texts(120, 0))
    page, _ = opened(saved(model, tmp_path))
    form = payload_of(model.page())["form"]
    documents, _ = texts(CASES, 1)
    z = np.array(page.evaluate(SCORES, [form, [{"text": t or None} for t in documents]]), dtype=float)
    found = logspace.log_normalize(z / form["temperature"])[0]
    np.testing.assert_allclose(found, model.predict_log_proba(documents), rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_the_browser_cuts_texts_into_the_tokens_of_python(opened, tmp_path):
    every = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
    hard = [
        "ΑΣ ΑΣ. ΣΑΣ Α\u0345Σ Σ",
        "İIi ﬀ ẞß",
        "a\u200bb\x1c\x1dc \ufeff d",
        " ".join(every[::16]),
        "x".join(every),
        "a   b\t\tc",
        "",
    ]
    pages = {}
    for settings in TEXTS.values():
        model = bk.TextClassifier(**(settings | {"recipe": "multinomial"}))
        tokenizer = model.tokenizer()
        kept = hard if settings == TEXTS["multinomial"] else hard[:3] + hard[5:]
        pages.setdefault(repr(tokenizer), (tokenizer, model.fit(["ab cd", "ef"], ["a", "b"]), kept))
    page, _ = opened(saved(model, tmp_path))
    cut = """([settings, texts]) => { const t = new bayeskitPage.Tokenizer(settings);
        return texts.map((text) => t.tokens(t.read(text)).map((token) => token.name).sort()); }"""
    for tokenizer, model, kept in pages.values():
        settings = payload_of(model.page())["form"]["terms"][0]["tokenizer"]
        found = page.evaluate(cut, [settings, kept])
        for text, tokens in zip(kept, found, strict=True):
            assert sorted(tokens) == sorted(tokenizer.tokens(text))


@pytest.mark.slow
def test_the_words_of_a_sentence_are_colored_by_their_evidence(opened, tmp_path):
    sports = bk.datasets.load_worked_example("sports")
    model = bk.TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"])
    page, asked = opened(saved(model, tmp_path))
    page.get_by_role("textbox").fill("A very close game <b>")
    (record,) = model.explain(["A very close game <b>"])
    weights = {word: evidence for word, _, evidence in record.words}
    marks = page.locator("p.text mark")
    assert [text.lower() for text in marks.all_inner_texts()] == ["a", "very", "close", "game"]
    assert [float(m.get_attribute("title").replace("−", "-")) for m in marks.all()] == pytest.approx(
        [weights[w] for w in ("a", "very", "close", "game")], abs=1e-3
    )
    assert asked == []


@pytest.mark.slow
def test_a_kernel_density_of_many_values_is_summed_where_python_interpolates(opened, tmp_path):
    model = bk.NaiveBayes(numeric="kernel").fit(*columns(900))
    page, _ = opened(saved(model, tmp_path))
    table, _ = columns(CASES, seed=1)
    payload = payload_of(model.page())
    found = page.evaluate(SCORES, [payload["form"], [coded(payload, table, i) for i in range(CASES)]])
    expected = model.predict_log_proba(table)
    np.testing.assert_allclose(logspace.log_normalize(np.array(found))[0], expected, rtol=1e-9, atol=1e-9)


def saved(model, folder):
    model.page(folder / "page.html")
    return "page.html"


@pytest.mark.slow
def test_a_click_gives_the_posterior_of_python(opened, tmp_path):
    days = bk.datasets.load_worked_example("tennis")
    model = bk.NaiveBayes().fit(days, "play")
    page, asked = opened(saved(model, tmp_path))
    for value in ("sunny", "cool", "high", "strong"):
        page.get_by_role("radio", name=value, exact=True).check()
    row = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]}
    expected = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
    shown = page.locator("[aria-label=Posterior] .bar").all_inner_texts()
    assert [text.split() for text in shown] == [[c, f"{100 * p:.1f}%"] for c, p in expected.items()]
    assert "outlook=sunny" in page.url
    page.reload()
    assert page.locator("[aria-label=Posterior] .bar").all_inner_texts() == shown
    assert asked == []


@pytest.mark.slow
def test_points_of_the_nomogram_are_dragged(opened, tmp_path):
    model = bk.NaiveBayes().fit(bk.datasets.load_worked_example("tennis"), "play")
    page, _ = opened(saved(model, tmp_path))
    dot = page.get_by_role("slider", name="wind", exact=True)
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"])
    page.mouse.up()
    assert "wind=strong" in page.url
    assert page.get_by_role("radio", name="strong").is_checked()


@pytest.mark.slow
def test_an_impossible_value_stands_at_the_end_of_its_ruler(opened, tmp_path):
    model = bk.NaiveBayes(smoothing=0).fit(bk.datasets.load_worked_example("tennis"), "play")
    page, _ = opened(saved(model, tmp_path))
    assert "overcast (−∞)" in page.locator("svg.nomogram").text_content()
    dot = page.get_by_role("slider", name="outlook", exact=True)
    assert 0 < float(dot.get_attribute("aria-valuenow")) < 100
    dot.press("ArrowRight")
    assert "outlook=overcast" in page.url
    assert float(dot.get_attribute("aria-valuenow")) == 0
    assert page.locator("[aria-label=Posterior] .figure").all_inner_texts() == ["0.0%", "100.0%"]


@pytest.mark.slow
def test_the_total_of_a_short_nomogram_has_round_probabilities(opened, tmp_path):
    model = bk.KDB().fit(bk.datasets.load_worked_example("tennis"), "play")
    page, _ = opened(saved(model, tmp_path))
    shown = page.locator("svg.nomogram > g > text.tick").all_text_contents()
    assert {"0.32", "0.34", "0.36", "0.38", "0.4"} <= set(shown)


@pytest.mark.slow
def test_a_column_without_information_is_named_instead_of_asked_for(opened, tmp_path):
    table, y = columns()
    table["constant"] = [1.0] * len(y)
    model = bk.NaiveBayes().fit(table, y)
    page, _ = opened(saved(model, tmp_path))
    assert "Not used by the model: constant" in page.inner_text("main")
    assert page.get_by_role("slider", name="constant").count() == 0
    page.get_by_role("radio", name="sun").check()
    row = {name: [None] for name in table} | {"sky": ["sun"], "constant": [1.0]}
    shown = page.locator("[aria-label=Posterior] .figure").all_inner_texts()
    assert shown == [f"{100 * p:.1f}%" for p in model.predict_proba(row)[0]]


ALPHA_SCORES = "([form, rows, alpha]) => rows.map((row) => bayeskitPage.logJoint(form, row, alpha))"


@pytest.mark.slow
def test_another_pseudo_count_gives_the_scores_of_a_fit_with_it(opened, tmp_path):
    table, y = columns()
    page, _ = opened(saved(bk.NaiveBayes().fit(table, y), tmp_path))
    for settings in ({}, {"roles": {"many": "text"}}, {"missing": "value", "numeric": "histogram"}):
        payload = payload_of(bk.NaiveBayes(**settings).fit(table, y).page())
        assert payload["has_alpha"]
        rows = [coded(payload, table, i) for i in range(len(y))]
        for alpha in (0.25, 7.5):
            found = np.array(page.evaluate(ALPHA_SCORES, [payload["form"], rows, alpha]))
            expected = bk.NaiveBayes(smoothing=alpha, **settings).fit(table, y).predict_log_proba(table)
            np.testing.assert_allclose(logspace.log_normalize(found)[0], expected, rtol=1e-12, atol=1e-12)
    documents, labels = texts(120, 0)
    payload = payload_of(bk.TextClassifier("multinomial").fit(documents, labels).page())
    rows = [{"text": text or None} for text in documents]
    found = np.array(page.evaluate(ALPHA_SCORES, [payload["form"], rows, 0.25]))
    expected = bk.TextClassifier("multinomial", smoothing=0.25).fit(documents, labels).predict_log_proba(documents)
    np.testing.assert_allclose(logspace.log_normalize(found)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB()], ids=repr)
def test_evidence_and_product_of_a_row_with_missing_parents_give_its_posterior(opened, tmp_path, model):
    model.fit(*columns()).page(tmp_path / "page.html")
    page, _ = opened("page.html#sky=sun&cost=2&wet=True")
    row = {name: [None] for name in columns()[0]} | {"sky": ["sun"], "cost": [2.0], "wet": [True]}
    p = sorted(model.predict_proba(row)[0], reverse=True)
    evidence = page.get_by_role("region", name="Evidence").locator(".note").inner_text()
    assert float(evidence.rpartition(" ")[2]) == pytest.approx(np.log(p[0] / p[1]), rel=1e-3)
    product = page.get_by_role("region", name="Worked product").locator("table").first
    assert "missing parents" in product.inner_text()
    *factors, whole = map(float, product.locator("tr td:last-child").all_inner_texts()[:-1])
    assert whole == pytest.approx(np.prod(factors), rel=1e-3)


@pytest.mark.slow
def test_names_and_values_of_the_data_are_text_and_nothing_is_fetched(opened, tmp_path):
    table = {EVIL: [EVIL, TURNED, "b", "b"] * 4, TURNED: [1.0, 2.0, 4.0, 3.0] * 4, "__proto__": ["x", "y"] * 8}
    model = bk.NaiveBayes().fit(table, [EVIL, TURNED] * 8)
    page, asked = opened(saved(model, tmp_path))
    page.get_by_role("radio", name=EVIL, exact=True).first.check()
    page.get_by_role("radio", name="y", exact=True).check()
    assert page.title() == "NaiveBayes: bayeskit"
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.inner_text("main")
    assert asked == []
    expected = model.predict_proba({EVIL: [EVIL], TURNED: [None], "__proto__": ["y"]})[0]
    shown = page.locator("[aria-label=Posterior] .figure").all_inner_texts()
    assert shown == [f"{100 * p:.1f}%" for p in expected]


def test_tables_of_a_page_are_those_that_a_reader_needs():
    documents = bk.TextClassifier("multinomial").fit(
        ["cheap pills", "cheap offer", "lunch at noon"], ["spam"] * 2 + ["ham"]
    )
    assert "<th>evidence</th>" in documents.page().html  # the words with the most evidence, not all words by name
    table, y = columns()
    table["constant"] = [1.0] * len(y)
    plain = bk.NaiveBayes().fit(table, y).page().html
    assert "scores: " not in plain
    assert "<h3><bdi>sky</bdi></h3>" in plain
    assert "<h3><bdi>constant</bdi></h3>" not in plain
    assert "<h3>" not in bk.BayesClassifier(n_trees=2).fit(table, y).page().html  # its overview has the exponents


def test_a_page_allows_its_own_script_alone():
    page = bk.NaiveBayes().fit({EVIL: [EVIL, "b"] * 4}, [EVIL, "a"] * 4).page()
    assert "default-src 'none'; script-src 'sha256-" in page.html
    assert page.html.count("</script>") == 2  # of the data and of the one script
    assert "<img" not in page.html
    assert payload_of(page)["form"]["classes"][0] == EVIL
    assert page._repr_html_().startswith("<iframe ")
    assert "<script" not in page._repr_html_()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (bk.AODE(), "not a sum over columns"),
        (bk.NaiveBayes(roles={"many": bk.Text(bk.Tokenizer(r"[a-z]+"))}), "named patterns"),
    ],
)
def test_a_model_without_a_form_has_a_page_with_its_tables_and_the_reason(model, reason, tmp_path):
    fitted = model.fit(*columns(400))
    text = fitted.page(tmp_path / "page.html").html
    assert reason in text
    assert "Tables of the model" in text
    assert "<script" not in text
    assert (tmp_path / "page.html").read_text("utf-8") == text
