"""What a model cannot honor is not there, and says why; what is there, works or is documented."""

import inspect
from pathlib import Path

import pytest

import bayeskit as bk
from bayeskit.models.base import Classifier
from bayeskit.models.base.available import available_if, unavailable

MODELS = {
    name: public
    for name in bk.__all__
    if inspect.isclass(public := getattr(bk, name)) and issubclass(public, Classifier)
}
SMALL = {"BayesClassifier": {"n_members": 2, "n_chains": 2, "n_trees": 2}, "TextClassifier": {"recipe": "multinomial"}}
REASONED = [
    "predict_joint_log_proba", "leave_one_out", "explain", "column_importance", "nomogram", "partial_fit",
    "learn_source",
    "forget", "forget_source", "merge", "restrict", "sample", "to_sql", "to_onnx", "to_json",
]  # fmt: skip
CONTRACT = {"_plan", "_estimate", "_log_joint"}  # what a model adds, documented in docs/add_a_model.md
X = {"sky": ["sun", "rain", "sun", "rain", "sun", "rain"] * 2, "size": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5] * 2}
Y = ["a", "b", "a", "b", "b", "a"] * 2


@pytest.fixture(scope="module", params=sorted(MODELS))
def model(request):
    """Each public model, fitted."""
    columns = (
        {"size": X["size"], "length": [1.0, 7.0, 3.0, 2.0, 9.0, 5.0, 4.0, 8.0, 6.0, 0.0, 2.0, 1.0]}
        if request.param == "GaussianBayes"
        else X
    )
    rows = [f"{sky} {size}" for sky, size in zip(*X.values(), strict=True)]
    made = MODELS[request.param](**SMALL.get(request.param, {}))
    return made.fit(rows if request.param == "TextClassifier" else columns, Y)


def test_there_are_models():
    assert {"NaiveBayes", "TAN", "BayesClassifier", "SubclassBayes", "NBTree", "TextClassifier"} <= set(MODELS)


def test_what_a_model_shows_is_there_and_documented(model):
    for name in dir(model):
        member = getattr(model, name)
        if not name.startswith("_") and callable(member) and not name.endswith("_request"):
            assert inspect.getdoc(member) or name in CONTRACT, name


@pytest.mark.parametrize("name", REASONED)
def test_a_model_has_a_method_or_says_why_not(model, name):
    for one in (model, type(model)()):
        assert hasattr(one, name) == (name in dir(one))
        if not hasattr(one, name):
            with pytest.raises(AttributeError, match=rf"^{type(one).__name__} has no {name}: ."):
                getattr(one, name)


@pytest.mark.parametrize("name", ["partial_fit", "forget", "merge"])
@pytest.mark.parametrize(
    "made",
    [
        bk.CostSensitive(),
        bk.DiscriminativeWeights(),
        bk.SemiSupervised(bk.NaiveBayes()),
        bk.LogisticRegression(),
        bk.LinearRegression(),
    ],
    ids=lambda made: type(made).__name__,
)
def test_a_model_around_others_says_why_it_cannot_learn_or_forget(made, name):
    with pytest.raises(AttributeError, match=rf"^{type(made).__name__} has no {name}: .*Fit again"):
        getattr(made, name)


def test_the_table_of_the_docs_says_what_each_model_can():
    page = (Path(__file__).parents[2] / "docs" / "how_it_works.md").read_text(encoding="utf-8")
    head = "| model | learns, forgets, merges |"
    rows = [line.strip("|").split("|") for line in page[page.index(head) :].split("\n\n")[0].splitlines()[2:]]
    told = {name.strip(" `"): cells for names, *cells in rows for name in names.split(",")}
    assert told.keys() == MODELS.keys()
    for name, (learns, leaves_out, explains, samples) in told.items():
        model = MODELS[name](**SMALL.get(name, {}))
        learning = ("partial_fit", "learn_source", "forget", "forget_source", "merge")
        for methods, cell in [
            (learning, learns),
            (["leave_one_out"], leaves_out),
            (["explain"], explains),
            (["sample"], samples),
        ]:
            assert all(hasattr(model, method) for method in methods) == (not cell.strip().startswith("no")), (
                name,
                cell,
            )


def test_a_subclass_adds_to_the_reasons_of_its_base():
    class Stubborn(bk.NBTree):
        persuade = unavailable("it is stubborn")

    for name, reason in (("persuade", "it is stubborn"), ("restrict", "the tree may ask")):
        with pytest.raises(AttributeError, match=f"Stubborn has no {name}: {reason}"):
            getattr(Stubborn(), name)


def test_models_that_are_no_function_of_their_counts_estimate_nothing_from_them():
    assert not hasattr(bk.BayesClassifier(), "_estimate")
    assert not hasattr(bk.SubclassBayes(), "_estimate")


def test_what_a_setting_takes_away_is_absent_and_what_an_error_hides_is_told():
    class Careful(Classifier):
        strict = False

        @available_if(lambda model: model.strict, "it is not strict")
        def judge(self):
            """Only where it is strict."""
            return True

        @property
        def broken(self):
            return self.params_.nothing

    model = Careful()
    assert not hasattr(model, "judge")
    assert "judge" not in dir(model)
    with pytest.raises(AttributeError, match="Careful has no judge: it is not strict"):
        model.judge()
    with pytest.raises(AttributeError, match="it is not strict"):
        Careful.judge(model)
    model.strict = True
    assert model.judge()
    assert Careful.judge(model)
    assert inspect.signature(model.judge) == inspect.signature(lambda: None)
    with pytest.raises(AttributeError, match="not fitted yet"):  # not 'broken'
        _ = model.broken
