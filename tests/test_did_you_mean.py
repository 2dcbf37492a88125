"""A misspelled name is told with the one that may be meant, wherever a person writes one."""

import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.nearest import did_you_mean, nearest

BIRDS = bk.datasets.load_penguins()
TEXTS, TAGS = ["good fun", "bad film"] * 4, ["p", "q"] * 4
NUMBERS, LETTERS = {"x": [1.0, 2.0, 3.0, 4.0]}, list("aabb")


@pytest.fixture(scope="module")
def model():
    return bk.NaiveBayes(roles={"year": "ignore"}).fit(BIRDS, "species")


def fit(**settings):
    return lambda _: bk.NaiveBayes(**settings).fit(BIRDS, "species")


@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
@pytest.mark.parametrize(
    ("meant", "call"),
    [
        ("species", lambda _: bk.NaiveBayes().fit(BIRDS, "specis")),
        ("species", lambda _: bk.NaiveBayes().fit(BIRDS.to_pandas(), "Specis")),
        ("klass", lambda _: bk.NaiveBayes().fit({"a": ["x", "y"], "klass": ["p", "q"]}, "class")),
        ("body", lambda _: bk.TextClassifier(column="tag").fit(pd.DataFrame({"tag": TEXTS, "body": TAGS}), "bodi")),
        ("year", fit(roles={"yaer": "ignore"})),
        ("categorical", fit(roles={"year": "catagorical"})),
        ("island", fit(domains={"iland": ["a"]})),
        ("bill_length_mm", fit(numeric={"bill_lenght_mm": "kernel"})),
        ("gaussian", fit(numeric="gausian")),
        ("class", fit(variance="clas")),
        ("uniform", fit(prior="unifrom")),
        ("auto", fit(smoothing="atuo")),
        ("value", fit(missing="vlaue")),
        ("smooth", fit(unseen="smoth")),
        ("first", fit(ties="frist")),
        ("mdl", lambda _: bk.TAN(cuts="mld").fit(BIRDS, "species")),
        ("island", lambda _: bk.TAN(root="iland").fit(BIRDS, "species")),
        ("full", lambda _: bk.GaussianBayes(covariance="ful").fit(NUMBERS, LETTERS)),
        ("multinomial", lambda _: bk.TextClassifier("multinomal").fit(TEXTS, TAGS)),
        ("newton", lambda _: bk.LogisticRegression(solver="newtn").fit(NUMBERS, LETTERS)),
        ("evidence", lambda _: bk.LogisticRegression("evidnce").fit(NUMBERS, LETTERS)),
        ("labels", lambda _: bk.Discretizer(output="lables").fit_transform(NUMBERS, LETTERS)),
        ("evidence", lambda _: bk.BayesOptimalClassifier([bk.NaiveBayes()], weights="evidnce").fit(NUMBERS, LETTERS)),
        ("island", lambda model: model.restrict(["iland"])),
        ("island", lambda model: model.table("iland")),
        ("Adelie", lambda model: model.explain(BIRDS.slice(0, 1), against="Adeli")),
        ("Gentoo", lambda model: model.nomogram("gento")),
        ("Adelie", lambda model: model.with_prior({"Adeli": 0.5, "Chinstrap": 0.2, "Gentoo": 0.3})),
        ("smoothing", lambda model: model.set_params(smothing=1)),
        ("smoothing", lambda _: bk.NaiveBayes(smothing=1)),
        ("n_members", lambda _: bk.BayesClassifier(members=4)),
        ("predict", lambda model: model.predct),
        ("leave_one_out", lambda model: model.leaveOneOut),
        ("telling_words", lambda _: bk.TextClassifier().teling_words),
        ("coef_", lambda _: bk.LogisticRegression().fit(NUMBERS, LETTERS).coeff_),
        ("tennis", lambda _: bk.datasets.load_worked_example("tenis")),
        ("spam", lambda _: bk.decisions.rank([[0.5, 0.5]], "spma", classes=["ham", "spam"])),
        ("ham", lambda _: bk.decisions.decide([[0.5, 0.5]], {"hm": {"spam": 1}}, classes=["ham", "spam"])),
        ("cancer", lambda _: bk.Hypotheses({"cancer": 0.1, "healthy": 0.9}).bayes_factor("cancr", "healthy")),
        ("red", lambda _: bk.DirichletCategorical({"red": 1, "blue": 1}).update(["rde"])),
    ],
)
def test_a_misspelled_name_is_told_with_the_one_that_may_be_meant(model, meant, call):
    with pytest.raises((bk.BayesError, AttributeError, TypeError), match=rf"did you mean {meant}\?"):
        call(model)


def test_a_name_that_is_like_no_other_gets_no_guess(model):
    with pytest.raises(bk.BayesError, match=r"there is no column 'zzz' [^;]*$"):
        model.table("zzz")
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        _ = model.zzz
    assert did_you_mean("zzz", ["species"]) == ""


def test_only_names_that_are_as_close_as_the_closest_are_offered():
    assert nearest("bill_lenght_mm", ["bill_depth_mm", "bill_length_mm"]) == "did you mean bill_length_mm?"
    assert nearest("cat", ["bat", "hat"]) in ("did you mean bat or hat?", "did you mean hat or bat?")


def test_a_name_that_tools_ask_for_costs_no_search(model, monkeypatch):
    """``hasattr`` is asked all the time, of names that no person wrote."""
    monkeypatch.setattr("bayeskit.models.base.estimator.did_you_mean", lambda *_: pytest.fail("searched"))
    assert not hasattr(model, "predct")
    assert not hasattr(model, "_repr_latex_")


def test_settings_by_name_and_by_place_are_taken_as_before():
    assert bk.TextClassifier("multinomial").recipe == "multinomial"
    assert bk.NaiveBayes(smoothing=2).smoothing == 2
