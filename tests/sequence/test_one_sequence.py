"""A plain list or a series is one sequence, and a printed model shows its emissions."""

import numpy as np
import pandas as pd
import pytest

from bayeskit import BayesError, HiddenMarkovModel, MarkovChain, Sequences

DAYS, SKY = ["walk", "shop", "walk", "clean"], ["sun", "rain", "sun", "rain"]


@pytest.mark.parametrize("form", [list, tuple, pd.Series, np.array])
def test_one_plain_sequence_equals_a_list_of_one(form):
    one, several = form(DAYS), [DAYS]
    assert Sequences.of(one).lengths.tolist() == [4]
    chain = MarkovChain().fit(one)
    np.testing.assert_array_equal(chain.transitions_, MarkovChain().fit(several).transitions_)
    labeled = HiddenMarkovModel().fit(one, form(SKY))
    assert labeled.tally_ == HiddenMarkovModel().fit(several, [SKY]).tally_
    assert labeled.predict(one) == labeled.predict(several)


@pytest.mark.parametrize("one", [[1.0, 2.5, 3.0], pd.Series([1.0, 2.5, 3.0]), [{"x": 1.0, "wet": "no"}, {"x": 2.0}]])
def test_numbers_and_records_in_a_plain_list_are_one_sequence(one):
    assert len(Sequences.of(one)) == 1


def test_a_symbol_among_sequences_is_refused_with_its_place():
    with pytest.raises(BayesError, match="sequence 2 is a str"):
        Sequences.of([["sun", "rain"], "sun"])


def test_a_printed_model_shows_the_emissions_of_its_states():
    days = [{"doing": doing, "wind": wind} for doing, wind in zip(DAYS, [1.0, 5.0, 2.0, 7.0], strict=True)]
    model = HiddenMarkovModel().fit([days], [SKY])
    printed = str(model)
    assert str(model.table("doing")) in printed
    assert str(model.table("wind")) in printed
    assert "wind in each state" in printed
