"""A model file is a promise: what an older version wrote loads and answers the same for ever."""

import json
from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.models import SAVED, from_bytes, to_bytes

FILES = sorted((Path(__file__).parent / "models").glob("*.bayes"))
METHODS = ("predict_proba", "predict_joint_log_proba")

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


def test_there_is_a_file_of_every_kind_of_model():
    assert {type(bk.load(file)).__name__ for file in FILES} == set(SAVED)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_an_earlier_version_answers_as_it_did(file):
    said = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    model = bk.load(file)
    assert model.classes_.tolist() == said["classes"]
    assert model.predict(said["rows"]).tolist() == said["predict"]
    for method in METHODS:
        assert hasattr(model, method) == (method in said)
        if method in said:
            answer = getattr(model, method)(said["rows"])
            np.testing.assert_allclose(answer, np.array(said[method]), rtol=1e-9, atol=1e-300, err_msg=method)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_an_earlier_version_saves_again_as_the_same_model(file):
    said = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    again = from_bytes(to_bytes(bk.load(file)))
    assert again.predict(said["rows"]).tolist() == said["predict"]
    for method in METHODS:
        if method in said:
            answer = getattr(again, method)(said["rows"])
            np.testing.assert_allclose(answer, np.array(said[method]), rtol=1e-9, atol=1e-300, err_msg=method)
