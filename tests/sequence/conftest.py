"""A model of the weather behind an umbrella."""

import pytest

from bayeskit import HiddenMarkovModel


@pytest.fixture
def weather() -> HiddenMarkovModel:
    return HiddenMarkovModel.from_tables(
        {"rain": 0.5, "dry": 0.5},
        {"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"rain": 0.3, "dry": 0.7}},
        {"rain": {"U": 0.9, "N": 0.1}, "dry": {"U": 0.2, "N": 0.8}},
    )
