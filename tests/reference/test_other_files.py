"""Regressions, networks, joint distributions, taggers and models of sequences in a file answer the same for ever."""

import json
from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.models import ALSO_SAVED, from_bytes, to_bytes

FILES = sorted((Path(__file__).parent / "others").glob("*.bayes"))

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


def test_there_is_a_file_of_every_other_kind():
    assert {type(bk.load(file)).__name__ for file in FILES} == set(ALSO_SAVED)


def answers(model, told):
    if isinstance(model, (bk.LinearRegression, bk.MarkovChain, bk.SequenceClassifier)):
        return [getattr(model, method)(told["rows"]) for method in told if method != "rows"]
    ask = model.query if isinstance(model, bk.BayesianNetwork) else model.probability
    return [ask(question) for question in told]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_an_earlier_version_answers_as_it_did(file):
    told = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    expected = [said for name, said in told.items() if name != "rows"]
    model = bk.load(file)
    for one in (model, from_bytes(to_bytes(model))):
        if isinstance(one, (bk.Tagger, bk.HiddenMarkovModel)) and "predict" in told:
            assert one.predict(told["rows"]) == told["predict"]
        if isinstance(one, bk.HiddenMarkovModel):
            np.testing.assert_allclose(one.log_likelihood(told["rows"]), told["log_likelihood"], rtol=1e-9)
        if isinstance(one, (bk.Tagger, bk.HiddenMarkovModel)):
            continue
        for answer, said in zip(answers(one, told), expected, strict=True):
            np.testing.assert_allclose(answer, said, rtol=1e-9)
