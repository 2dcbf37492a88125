"""Reports: what they contain, what they do not, and how they look in a browser."""

import base64
import re
import subprocess
import sys

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import BayesError

EVIL = "<script>document.title='owned'</script>"
SECTIONS = [
    "Data",
    "Scores",
    "Calibration",
    "Learning curve",
    "Most informative columns",
    "Try the model",
    "Model card",
]


def table(n=120, seed=0):
    """Return rows whose column ``number`` holds values that no other figure shows, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n)
    shift = (y == "yes").astype(float)
    return {"sky": np.where(rng.random(n) < 0.3 + 0.4 * shift, "sun", "rain"), "number": rng.normal(shift, 1.0)}, y


def titles(report):
    return re.findall(r"<h2>(.*?)</h2>", report.html)


@pytest.fixture(scope="module")
def plain():
    """Return the report of naive Bayes on the table."""
    return bk.write_report(bk.NaiveBayes(), *table())


def test_a_report_has_a_section_for_each_question(plain):
    assert [name for name in titles(plain) if name in SECTIONS] == SECTIONS


def test_the_scores_are_those_of_leave_one_out_beside_the_majority_class(plain):
    X, y = table()
    report, scores = plain.html, bk.NaiveBayes().fit(X, y).leave_one_out(X, y)
    for figure in (scores.accuracy, scores.log_loss, scores.baseline.log_loss):
        assert f"{figure:.6g}" in report


def test_pictures_have_room_for_wide_fonts_on_both_sides(plain):
    picture = base64.b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]+)", plain.html)[1]).decode()
    left, _, width, _ = map(float, re.search(r'viewBox="([^"]+)"', picture)[1].split())
    assert left < 0
    assert width > 1.2 * -left


def test_the_model_card_has_counts_version_and_how_to_use_the_model(plain):
    card = plain.html.partition("<h2>Model card</h2>")[2]
    for part in (
        "120 rows, 2 columns, 2 classes",
        f"bayeskit {bk.__version__}",
        "bayeskit.load(",
        "partial_fit",
        "forget",
    ):
        assert part in card


@pytest.mark.slow
def test_an_ensemble_stands_beside_naive_bayes():
    X, y = table(60)
    report = bk.write_report(bk.BayesClassifier(), X, y).html
    assert "NaiveBayes" in re.search(r"<h2>Scores</h2>.*?</table>", report, re.S).group()


@pytest.mark.slow
@pytest.mark.parametrize("model", [bk.TAN(), bk.LogisticRegression()], ids=repr)
def test_a_model_without_tables_of_columns_has_those_of_naive_bayes(model):
    X, y = table(60)
    report = bk.write_report(model, X, y).html
    shown = report.partition("<h2>Most informative columns</h2>")[2].partition("<section")[0]
    assert "those of naive Bayes" in shown
    assert "P(sky | no)" in shown
    assert "<h2>Dependent columns</h2>" in report


@pytest.mark.slow
def test_documents_have_words_instead_of_columns():
    texts = ["cheap pills now", "meeting at noon", "cheap offer now", "lunch at noon"] * 8
    report = bk.write_report(bk.TextClassifier("multinomial"), texts, ["spam", "ham"] * 16)
    assert "Words of the classes" in titles(report)
    assert "pills" in report.html


@pytest.mark.slow
def test_a_report_holds_no_row_unless_it_is_asked_to(plain):
    X, y = table()
    cell = f"{X['number'][0]:.6g}"[:7]
    with_rows = bk.write_report(bk.NaiveBayes(), X, y, rows=2).html
    assert cell not in plain.html
    assert "no row of the data" in plain.html
    assert cell in with_rows
    assert "no row of the data" not in with_rows


def test_names_and_values_of_the_data_are_text():
    X, y = table()
    X = {EVIL: X["sky"], "number": X["number"]}
    report = bk.write_report(bk.NaiveBayes(), X, np.where(y == "no", "no", EVIL), rows=1).html
    assert EVIL not in report
    assert "&lt;script&gt;" in report


@pytest.mark.slow
def test_advice_about_the_columns_is_listed_instead_of_warned():
    X, y = table()
    X["code"] = np.arange(len(y)) % 3
    with pytest.warns(bk.errors.AdviceWarning) as told:
        bk.NaiveBayes().fit(X, y)
    first = str(told[0].message).split(";")[0]
    assert first.split("'")[0][:20] in bk.write_report(bk.NaiveBayes(), X, y).html


@pytest.mark.parametrize(
    ("model", "rows", "says"),
    [(bk.LinearRegression(), 0, "classifier"), (bk.NaiveBayes(), -1, "rows is -1")],
    ids=["regression", "negative rows"],
)
def test_what_has_no_report_is_refused_before_a_file_is_written(model, rows, says, tmp_path):
    X, y = table()
    target = y if rows else X["number"]
    with pytest.raises(BayesError, match=says):
        bk.write_report(
            model, {"sky": X["sky"]} if rows else {"a": X["number"]}, target, tmp_path / "r.html", rows=rows
        )
    assert not (tmp_path / "r.html").exists()


@pytest.mark.slow
def test_without_the_extra_charts_a_report_has_tables_only():
    code = (
        "import sys; sys.modules['altair'] = None\n"
        "import bayeskit as bk\n"
        "days = bk.datasets.load_worked_example('tennis')\n"
        "report = bk.write_report(bk.NaiveBayes(), days, 'play').html\n"
        "print('<img' in report, '<table' in report)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.slow
def test_a_report_opens_in_a_browser_and_its_form_answers(chromium, tmp_path):
    bk.write_report(bk.NaiveBayes(), *table(), tmp_path / "report.html")
    page, problems, asked = chromium.new_page(), [], []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector('[data-bayeskit="classifier"] input')
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert problems == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.close()
