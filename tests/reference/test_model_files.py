"""A model file is a promise: later versions load it and predict the same."""

import json
from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.models import SAVED, from_bytes, to_bytes

FILES = sorted((Path(__file__).parent / "files").glob("*.bayes"))

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


@pytest.mark.skipif(not FILES, reason="make_models.py has not been run for this format")
def test_there_is_a_file_of_every_kind_of_model():
    assert {type(bk.load(file)).__name__ for file in FILES} == {*SAVED}


def first_leaf(nested):
    return first_leaf(nested[0]) if isinstance(nested, list) else nested


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_reference_file_answers_as_recorded_and_so_does_a_copy(file):
    model = bk.load(file)
    for copy in (model, from_bytes(to_bytes(model))):
        for method, given, expected in json.loads(file.with_suffix(".json").read_text(encoding="utf-8")):
            answer = getattr(copy, method)(given)
            if isinstance(first_leaf(expected), float):
                np.testing.assert_allclose(answer, expected, rtol=1e-9, atol=1e-300, err_msg=method)
            else:
                assert (answer.tolist() if isinstance(answer, np.ndarray) else answer) == expected
