"""What records show: short, the same in text and HTML, and nothing of the data steers a terminal or becomes a page."""

import re

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from bayeskit.decisions import Costs, decide
from bayeskit.explain.overview import column_records
from bayeskit.tables import COLUMNS, ROWS, Grid, Records, Sheet, Table

EVIL = "<img src=x onerror=alert(1)>\x1b[2J\u202e"


def records(name="plain", n=40):
    """One of each record that a person meets, of data whose names and values hold ``name``."""
    table = {name: [f"{name}{i % 3}" for i in range(n)], "n": [float(i % 7) for i in range(n)]}
    labels = [f"{name} yes" if i % 2 else "no" for i in range(n)]
    model = bk.NaiveBayes().fit(table, labels)
    text = bk.TextClassifier("multinomial", pattern=r"\S+").fit([f"{name} a", "b c"] * 4, [name, "no"] * 4)
    ensemble = bk.BayesClassifier(n_members=2, fast=True).fit(table, labels)
    posterior = model.predict_proba(table)
    network = bk.BayesianNetwork([(name, "b")], {name: {name: 0.5, "y": 0.5}, "b": {name: 0.1, "y": 0.9}})
    return {
        "model": model,
        "text model": text,
        "ensemble": ensemble,
        "tree": bk.TAN().fit(table, labels),
        "table": model.table(name),
        "explanation": model.explain(table)[0],
        "explanations": model.explain(table),
        "words": text.explain([f"{name} a"])[0],
        "documents": text.explain([f"{name} a", "b"]),
        "nomogram": model.nomogram(),
        "column_importance": model.column_importance(),
        "leave-one-out": model.leave_one_out(table, labels),
        "structure": ensemble.describe_structure(),
        "report": ensemble.report(),
        "decisions": decide(posterior, classes=model.classes_),
        "costs": Costs.of(None, [name, "b"]),
        "network": network,
        "joint": bk.JointDistribution.from_data(table, roles={"n": "categorical"}),
        "coin": bk.BetaBernoulli().update([1, 0, 1]),
        "die": bk.DirichletCategorical({name: 1, "b": 2}).update([name]),
        "normal": bk.NormalInverseGamma(0, 1, 1, 1).update([1.0, 2.0]),
        "vague normal": bk.NormalInverseGamma(0, 1, 0.5, 1),
        "hypotheses": bk.Hypotheses({name: 0.2, "other": 0.8}).update({name: 0.9, "other": 0.1}),
    }


def test_every_record_has_text_and_html_that_say_the_same_words():
    for kind, record in records().items():
        html = record._repr_html_()
        assert html, kind
        assert len(str(record)) < 10_000, kind
        if kind not in ("model", "text model", "ensemble", "tree", "nomogram"):
            plain = re.sub("<[^>]+>", " ", html).replace("&lt;", "<").replace("&gt;", ">")
            words = {word for word in str(record).split() if word.isalpha()}
            assert words <= {*plain.split()}, kind


def test_nothing_that_data_says_steers_a_terminal_or_is_a_part_of_a_page():
    for kind, record in records(EVIL).items():
        shown = [str(record), repr(record), record._repr_html_()]
        assert not any(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", form) for form in shown), kind
        assert "<img" not in shown[2], kind


def test_the_representation_of_a_record_is_one_that_a_person_can_read():
    for kind, record in records().items():
        longest = max(map(len, repr(record).splitlines()))
        assert longest <= 150, kind
        assert "array(" not in repr(record), kind


@pytest.mark.parametrize("n", [ROWS, ROWS + 1, 20_000])
def test_a_long_table_is_cut_and_says_how_much_is_left(n):
    table = Table({"value": [f"v{i}" for i in range(n)], "count": list(range(n))})
    lines = str(table).splitlines()
    assert len(lines) == min(n, ROWS) + 1 + (n > ROWS)
    assert (lines[-1] == f"… {n - ROWS:,} more") == (n > ROWS)
    html = table._repr_html_()
    assert html.count("<tr>") == min(n, ROWS) + 1
    assert (f"… {n - ROWS:,} more" in html) == (n > ROWS)
    assert len(table) == len(table["count"]) == n


def test_a_wide_table_is_cut_and_says_how_much_is_left():
    table = Table({f"c{i}": [i] for i in range(COLUMNS + 20)})
    assert str(table).splitlines()[-1] == "… 20 more columns"
    assert table._repr_html_().count("<td>") == COLUMNS


def test_the_page_of_a_column_of_many_values_is_small():
    model = bk.NaiveBayes(roles="categorical").fit({"v": [f"v{i}" for i in range(20_000)]}, ["a", "b"] * 10_000)
    assert len(model._repr_html_()) < 20_000
    assert len(model.table("v")._repr_html_()) < 10_000
    assert len(str(model)) < 1_000


def test_long_cells_many_sentences_and_many_records_are_cut():
    assert max(map(len, Grid({"a": ["x" * 10_000]}).text.splitlines())) <= 200
    wide = {f"c{i}": ["u", "v"] * 4 for i in range(120)}
    model = bk.NaiveBayes().fit(wide, ["a", "b"] * 4)
    assert str(model.explain(wide)[0]).splitlines()[-1] == "  … 71 more"
    birds = datasets.load_penguins()
    many = bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species").explain(birds)
    assert str(many).endswith("\n… 294 more")
    assert many._repr_html_().endswith("<p>… 294 more</p>")
    assert isinstance(many[3:5], Records)
    assert [record.row for record in many[3:5]] == [3, 4]


def test_what_many_classes_make_is_cut():
    n = 300
    rows, classes = {"x": np.arange(2.0 * n)}, [f"c{i:03}" for i in range(n)] * 2
    found = bk.NaiveBayes().fit(rows, classes).leave_one_out(rows, classes)
    assert "… 250 more" in str(found)
    assert len(found._repr_html_()) < 20_000
    assert len(found.confusion._repr_html_()) < 80_000


def test_a_printed_model_tells_classes_columns_and_rows_and_its_representation_its_settings():
    birds = datasets.load_penguins()
    model = bk.NaiveBayes(smoothing=2, roles={"year": "ignore"})
    assert str(model) == repr(model) == "NaiveBayes(roles={'year': 'ignore'}, smoothing=2)"
    model.fit(birds, "species")
    assert repr(model) == "NaiveBayes(roles={'year': 'ignore'}, smoothing=2)"
    head, settings, *_ = str(model).splitlines()
    assert head == "NaiveBayes of species: 344 rows, 3 classes"
    assert settings == "settings: roles={'year': 'ignore'}, smoothing=2"
    for record in column_records(model.tally_):
        assert re.search(rf"^{record['column']} +{record['role']}", str(model), re.MULTILINE)
    assert re.search(r"^Adelie +152 +44\.2%$", str(model), re.MULTILINE)
    assert "leave_one_out" in str(model)


def test_a_printed_ensemble_tells_its_scores():
    birds = datasets.load_penguins()
    model = bk.BayesClassifier(n_members=2, fast=True, roles={"year": "ignore"}).fit(birds, "species")
    assert str(model.left_out_) in str(model)
    assert str(model.report()) == model.report()
    assert "optimistic" in model.report()
    assert "<table>" in model.report()._repr_html_()


def test_what_scikit_learn_prints_of_a_fitted_model_stays_short():
    from sklearn.model_selection import GridSearchCV

    model = bk.NaiveBayes(smoothing=2).fit({"a": ["x", "y"] * 5}, ["p", "q"] * 5)
    assert repr(GridSearchCV(model, {"smoothing": [1, 2]})).count("\n") < 4
    with pytest.raises(bk.BayesError, match=r"for estimator NaiveBayes\(smoothing=2\)\."):
        model.set_params(color="red")


def test_an_empty_sheet_and_an_empty_table_show_what_there_is():
    assert Sheet("nothing").text == "nothing"
    assert str(Table({})) == ""
    assert str(Table({"a": []})) == "a"
    assert "<table>" in Table({})._repr_html_()


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_models_without_counts_of_their_own_print_what_they_have_learned():
    table = {"a": ["x", "y", "x", "y"] * 5, "n": [1.0, 2.0, 3.0, 4.0] * 5}
    labels = ["p", "q", "q", "p"] * 5
    some = [label if i % 3 else None for i, label in enumerate(labels)]
    shown = [
        (bk.LogisticRegression(1.0), labels, "log odds of q"),
        (bk.LinearRegression(), table["n"], "weight"),
        (bk.DiscriminativeWeights(), labels, "made around NaiveBayes of class: 20 rows"),
        (bk.CostSensitive(bk.NaiveBayes(), {"p": {"q": 3}, "q": {"p": 1}}), labels, "decide p"),
        (bk.SemiSupervised(folds=2), some, "2-fold cross-validation"),
        (bk.BayesOptimalClassifier([bk.NaiveBayes(), bk.TAN()]), labels, "posterior"),
        (bk.Discretizer(cuts=2), labels, "intervals"),
    ]
    for model, y, words in shown:
        assert str(model) == repr(model)
        model.fit(table, y)
        assert words in str(model)
        assert words in model._repr_html_()
        assert not str(model).endswith("\n")
        assert repr(model).startswith(type(model).__name__ + "(")
