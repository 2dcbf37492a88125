"""Messages give their hints as Python settings in Python and as options at a terminal."""

import pickle
import shlex

import pytest

import bayeskit
from bayeskit.cli.app import options
from bayeskit.cli.commands.fit import MODELS
from bayeskit.cli.hints import NO_OPTION, OPTIONS, with_options
from bayeskit.errors import BayesError, NotScalar, UnknownValue, format_setting

ALL = {option for of_command in options().values() for option in of_command}

VALUES = [
    ("roles", {"year": "categorical"}),
    ("roles", {'the "year\'s" name': "ignore"}),
    ("roles", {"a=b": "numeric", "c": "text"}),
    ("types", {"zip": "string"}),
    ("missing", ["not known", "?", ""]),
    ("unseen", "ignore"),
    ("encoding", "cp1252"),
    ("count", 'a "b" \\'),
]


@pytest.mark.parametrize(("setting", "value"), VALUES)
def test_a_setting_in_a_hint_is_code_that_gives_the_value(setting, value):
    assert eval(f"dict({format_setting(setting, value)})") == {setting: value}


@pytest.mark.parametrize(("setting", "value"), VALUES)
def test_a_setting_at_a_terminal_is_read_back_as_the_value(setting, value):
    typed = shlex.split(with_options(BayesError("wrong", hint=format_setting(setting, value))).removeprefix("wrong: "))
    assert set(typed[::2]) == {OPTIONS[setting]} <= ALL
    if isinstance(value, dict):
        assert dict(word.rsplit("=", 1) for word in typed[1::2]) == value
    else:
        listed = (
            [text for text in value if text] if isinstance(value, list) else [value]
        )  # --empty adds to the usual ""
        assert typed[1::2] == listed


def test_every_option_of_a_hint_is_one_of_some_command():
    assert set(OPTIONS.values()) <= ALL
    named = {word.rstrip(",.") for text in NO_OPTION.values() for word in text.split() if word.startswith("--")}
    assert named
    assert named <= ALL


def test_a_model_in_a_hint_is_its_name_at_a_terminal():
    for name, model in MODELS.items():
        if model == MODELS.get(name):
            told = with_options(BayesError("too large", hint=f"use {model}"))
            assert told.removeprefix("too large: use --model ") in MODELS


def test_an_error_keeps_its_message_and_hint_through_pickle_and_files():
    model = bayeskit.NaiveBayes(unseen="error").fit({"sky": ["sun", "rain"]}, ["a", "b"])
    with pytest.raises(UnknownValue) as problem:
        model.predict({"sky": ["sun", "hail"]})
    for error in (problem.value, pickle.loads(pickle.dumps(problem.value))):
        assert "'hail'" in str(error)
        assert 'unseen="ignore"' in str(error)
    assert str(problem.value.within("new.csv")) == f"new.csv: {problem.value}"


def test_messages_join_their_hint_and_steer_no_terminal():
    assert str(BayesError()) == ""
    assert str(BayesError("a\x1b[2J", hint="b\x1b[2J")) == "a\\x1b[2J: b\\x1b[2J"
    assert str(BayesError("one").within("file")) == "file: one"
    assert with_options(BayesError("one")) == with_options("one") == "one"
    assert isinstance(NotScalar("one").within("file"), TypeError)


def test_an_option_of_another_command_is_printed_with_its_name(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "--unseen", "error", "--no-scores")
    (here / "hail.csv").write_text((here / "tennis.csv").read_text().replace("rain", "hail"))
    told = bayes("predict", "model.bayes", "hail.csv", code=1).err
    assert "--unseen ignore (of bayes fit)" in told
    (here / "dates.csv").write_text("joined,y\n2020-01-01,a\n2020-01-02,b\n")
    assert "--role joined=month,weekday" in bayes("fit", "dates.csv", "-t", "y", code=1).err


def test_a_setting_without_an_option_is_replaced_by_what_helps_at_a_terminal(bayes, here):
    strict = bayeskit.NaiveBayes(smoothing=0, undecidable="error").fit({"a": list("uv"), "b": list("uv")}, ["p", "q"])
    strict.save("strict.bayes")
    (here / "new.csv").write_text("a,b\nu,v\n")
    told = bayes("predict", "strict.bayes", "new.csv", code=1).err
    assert "--smoothing 1" in told
    assert "undecidable" not in told


@pytest.mark.parametrize("delimiter", ["ab", "é", '"', "\n"])
def test_a_delimiter_is_one_plain_character(refused, delimiter):
    refused(["fit", "birds.csv", "-t", "species", "--delimiter", delimiter], 2, "give one character of ASCII")


def test_models_that_take_no_texts_refuse_them_alike():
    table = {"t": ["some words here", "and more words"], "n": [1.0, 2.0]}
    for model in (bayeskit.NBTree, bayeskit.SubclassBayes):
        with pytest.raises(BayesError, match=f"^{model.__name__} takes no texts: leave column 't' out with roles="):
            model(roles={"t": "text"}).fit(table, ["a", "b"])


@pytest.mark.parametrize(("setting", "wrong"), [("variance", "foo"), ("ddof", 3), ("cuts", "x"), ("prior", "odd")])
def test_a_setting_that_is_refused_is_an_option_at_a_terminal(setting, wrong):
    with pytest.raises(BayesError) as refused:
        bayeskit.NaiveBayes(**{setting: wrong}).fit({"x": [1.0, 2.0]}, ["a", "b"])
    assert str(refused.value).startswith(f"{setting}={wrong!r}")
    assert with_options(refused.value).startswith(f"--{setting} {wrong}")
