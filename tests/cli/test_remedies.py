"""What helps is data: Python words it as code that runs, the command line as options that are there."""

import ast
import shlex
from functools import cache
from pathlib import Path

import pytest

import bayeskit
from bayeskit.cli.app import options
from bayeskit.cli.commands.fit.from_tables import MODELS
from bayeskit.cli.remedies import FLAGS, INSTEAD, OPTIONS, in_options, words
from bayeskit.data.schema import as_role
from bayeskit.errors import AdviceWarning, BayesError, NotScalar, UnknownValue
from bayeskit.remedy import OPEN, OtherModel, Remedy, Setting

SOURCES = Path(bayeskit.__file__).parent
ALL = {option for of_command in options().values() for option in of_command}

VALUES = [
    Remedy("roles", {"year": "categorical"}),
    Remedy("roles", {'the "year\'s" name': "ignore"}),
    Remedy("roles", {"a=b": "numeric", "c": "text"}),
    Remedy("types", {"zip": "string"}),
    Remedy("missing", ["not known", "?", ""]),
    Remedy("unseen", "ignore"),
    Remedy("encoding", "cp1252"),
    Remedy("count", 'a "b" \\'),
]


@cache
def all_calls():
    """Every call in the package but those of cli/: its file, the name that is called and the call."""
    trees = [(path, ast.parse(path.read_text())) for path in sorted(SOURCES.rglob("*.py")) if "cli" not in path.parts]
    nodes = [(path, node) for path, tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(path, ast.unparse(node.func), node) for path, node in nodes]


def calls(*names):
    return [(path, node) for path, called, node in all_calls() if called in names]


@pytest.mark.parametrize("remedy", VALUES, ids=str)
def test_what_python_is_told_to_pass_runs_and_gives_the_value(remedy):
    assert eval(f"dict({remedy})") == {remedy.setting: remedy.value}
    assert eval(str(Remedy(remedy.setting, remedy.value, short=True))) == remedy.chosen


@pytest.mark.parametrize("remedy", VALUES, ids=str)
def test_what_a_terminal_is_told_to_type_is_read_back_as_the_value(remedy):
    typed = shlex.split(words(remedy))
    assert set(typed[::2]) == {OPTIONS[remedy.setting]} <= ALL
    if isinstance(remedy.value, dict):
        assert dict(word.rsplit("=", 1) for word in typed[1::2]) == remedy.value
    else:
        assert typed[1::2] == (remedy.value if isinstance(remedy.value, list) else [remedy.value])


def test_every_option_of_a_remedy_is_one_of_some_command():
    assert {*OPTIONS.values(), *FLAGS.values()} <= ALL
    named = {word.rstrip(",.") for text in INSTEAD.values() for word in text.split() if word.startswith("--")}
    assert named
    assert named <= ALL


def test_every_remedy_in_the_package_has_words_at_a_terminal():
    seen = set()
    for path, call in calls("Remedy", "Setting", "Setting.given"):
        if not isinstance(call.args[0], ast.Constant):
            continue  # a setting by its name, such as those that take one of some words
        setting, keywords = call.args[0].value, {keyword.arg for keyword in call.keywords}
        seen.add(setting)
        assert setting in {*OPTIONS, *INSTEAD, *FLAGS} or "without" in keywords, (path, call.lineno)
    assert set(INSTEAD) <= seen
    assert {"roles", "types", "missing", "unseen", "encoding", "memory_limit", "schema", "timeout"} <= seen
    models = {call.args[0].value for _, call in calls("OtherModel")}
    assert models
    assert models <= set(MODELS.values())
    assert all(words(OtherModel(name)).removeprefix("--model ") in MODELS for name in models)
    assert "--model" in ALL


def test_every_role_that_is_advised_is_there():
    for path, call in calls("Remedy"):
        if ast.unparse(call.args[0]) == "'roles'" and isinstance(call.args[1], ast.Dict):
            advised = [value.value for value in call.args[1].values if isinstance(value, ast.Constant)]
            assert all(as_role(role) for role in advised), (path, call.lineno)


def test_no_command_rewrites_the_text_of_an_error():
    for path in sorted((SOURCES / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)]
            assert not {"re", "regex"} & set(names), f"{path.name} uses regular expressions"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "replace":
                assert "problem" not in ast.unparse(node.func), f"{path.name}:{node.lineno} rewrites an error"


def test_no_error_is_made_anew_from_the_text_of_another():
    """Its remedies would be lost: ``problem.within(place)`` keeps them."""
    assert [path for path, _ in calls("type(problem)", "type(error)")] == []
    assert "type(problem)(" not in "".join(p.read_text() for p in (SOURCES / "cli").glob("*.py"))


def test_an_error_carries_culprit_place_and_remedy_through_pickle_and_files():
    import pickle

    model = bayeskit.NaiveBayes(unseen="error").fit({"sky": ["sun", "rain"]}, ["a", "b"])
    with pytest.raises(UnknownValue) as problem:
        model.predict({"sky": ["sun", "hail"]})
    for error in (problem.value, pickle.loads(pickle.dumps(problem.value))):
        assert (error.culprit, error.place) == (("sky", "hail"), 1)
        assert error.remedies == (Remedy("unseen", "ignore"),)
    inside = problem.value.within("new.csv")
    assert str(inside) == f"new.csv: {problem.value}"
    assert (inside.culprit, inside.place) == (("sky", "hail"), ("new.csv", 1))
    assert inside.remedies == problem.value.remedies
    assert str(inside.followed_by("; did you mean snow?")).endswith("for such rows; did you mean snow?")


def test_a_setting_that_stands_in_the_way_is_named_and_is_no_remedy():
    with pytest.raises(BayesError, match="prior='odd': it is") as problem:
        bayeskit.NaiveBayes(prior="odd").fit({"sky": ["sun", "rain"]}, ["a", "b"])
    assert Setting.given("prior", "odd") in problem.value.args
    assert [remedy.value for remedy in problem.value.remedies] == [OPEN]
    assert in_options(problem.value) == "--prior 'odd': it is empirical, uniform or laplace"


def test_errors_without_remedies_read_as_they_did():
    assert str(BayesError()) == ""
    assert str(BayesError("a\x1b[2J")) == "a\\x1b[2J"
    assert str(BayesError("one").within("file")) == "file: one"
    assert str(BayesError().followed_by("two")) == "two"
    assert in_options(BayesError("one")) == in_options("one") == "one"
    assert isinstance(NotScalar("one").within("file"), TypeError)


def test_a_second_choice_is_the_value_alone_and_an_open_one_the_option():
    assert str(Remedy("roles", {"a": "ignore"}, short=True)) == '"ignore"'
    assert words(Remedy("roles", {"a": "ignore"}, short=True)) == "ignore"
    assert Remedy("memory_limit").value is OPEN
    assert (str(Remedy("memory_limit")), words(Remedy("memory_limit"))) == ("memory_limit=", "--memory-limit")


def test_a_clause_falls_with_a_setting_that_is_not_there():
    advice = AdviceWarning("use less: ", Remedy("cuts", clause="cut more coarsely ({}), ", without=""), "or fewer rows")
    assert str(advice) == "use less: cut more coarsely (cuts=), or fewer rows"
    assert in_options(advice) == "use less: or fewer rows"
    assert words(Remedy("never_heard_of", 1)) == "never_heard_of=1"  # rather Python's words than none


def test_only_a_command_that_can_wait_is_told_to_wait_longer():
    (waiting,) = [node for path, node in calls("Remedy") if path.name == "locks.py"]
    remedy = eval(ast.unparse(waiting))
    assert words(remedy) == "Wait for it, end it, or wait longer: --wait SECONDS"
    assert words(remedy, lambda option: " (of bayes learn)") == "Wait for it, or end it"


def test_an_option_of_another_command_is_told_with_it(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "--unseen", "error", "--no-scores")
    (here / "hail.csv").write_text((here / "tennis.csv").read_text().replace("rain", "hail"))
    told = bayes("predict", "model.bayes", "hail.csv", code=1).err
    assert "Pass --unseen ignore (of bayes fit) to leave the column out" in told
    (here / "dates.csv").write_text("joined,y\n2020-01-01,a\n2020-01-02,b\n")
    assert "declared: --role joined=numeric (seconds" in bayes("fit", "dates.csv", "-t", "y", code=1).err


def test_a_model_whose_settings_have_no_option_is_told_what_helps_there(bayes, here):
    bayeskit.NaiveBayes(smoothing=0, undecidable="error").fit({"a": list("uv"), "b": list("uv")}, ["p", "q"]).save(
        "strict.bayes"
    )
    (here / "new.csv").write_text("a,b\nu,v\n")
    told = bayes("predict", "strict.bayes", "new.csv", code=1).err
    assert "(probability zero). Smooth the estimates with --smoothing 1." in told
    assert "undecidable" not in told


@pytest.mark.parametrize("delimiter", ["ab", "é", '"', "\n"])
def test_a_delimiter_is_one_plain_character(refused, delimiter):
    told = f"--delimiter {delimiter!r}: give one character of ASCII, such as ';'"
    refused(["fit", "birds.csv", "-t", "species", "--delimiter", delimiter], 1, told)


def test_named_refusals_read_alike_wherever_they_are_raised():
    table = {"t": ["some words here", "and more words"], "n": [1.0, 2.0]}
    for model in (bayeskit.NBTree, bayeskit.SubclassBayes):
        with pytest.raises(BayesError, match=f"^{model.__name__} takes no texts: leave column 't' out with roles="):
            model(roles={"t": "text"}).fit(table, ["a", "b"])


@pytest.mark.parametrize(
    ("setting", "wrong", "typed"),
    [
        ("variance", "foo", "--variance 'foo' is not one of"),
        ("ddof", 3, "--ddof 3: it is 1 (unbiased) or 0"),
        (
            "cuts",
            "x",
            "--cuts x: it is mdl, frequency, width or random, one of these with a number of intervals such as fr",
        ),
    ],
)
def test_settings_of_numbers_are_told_as_they_are_typed(setting, wrong, typed):
    with pytest.raises(BayesError) as refused:
        bayeskit.NaiveBayes(**{setting: wrong}).fit({"x": [1.0, 2.0]}, ["a", "b"])
    assert str(refused.value).startswith(f"{setting}={wrong!r}")
    assert in_options(refused.value).startswith(typed)
