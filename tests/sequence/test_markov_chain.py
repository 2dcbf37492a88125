"""A Markov chain counts what one would count by hand, and learns, forgets and merges exactly."""

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data.sequences import Sequences
from bayeskit.errors import BayesError, NotLearned, SchemaMismatch, TooLarge
from tests.tallies import agree

WALKS = st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=7), min_size=1, max_size=6)
WORDS = [list("abracadabra"), list("banana"), list("cab")]


def by_hand(walks, order, alpha, symbols, walk):
    """P(walk) from dictionaries."""
    runs, contexts = Counter(), Counter()
    for one in walks:
        marked = ["^"] * order + one
        for t in range(len(one)):
            run = tuple(marked[t : t + order + 1])
            if None not in run:
                runs[run] += 1
                contexts[run[:-1]] += 1
    p, marked = 1.0, ["^"] * order + walk
    for t in range(len(walk)):
        run = tuple(marked[t : t + order + 1])
        if None in run:
            continue
        total = contexts[run[:-1]] + alpha * len(symbols)
        p *= (runs[run] + alpha) / total if total else 1 / len(symbols)
    return p


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(WALKS, WALKS, st.integers(1, 3), st.sampled_from([0.0, 0.5, 1.0]))
def test_likelihoods_are_those_of_counting_by_hand(walks, asked, order, alpha):
    if not any(step for walk in walks for step in walk):
        return
    chain = bk.MarkovChain(order=order, smoothing=alpha).fit(walks)
    known = [[step if step in chain.symbols_ else None for step in walk] for walk in asked]
    expected = [by_hand(walks, order, alpha, chain.symbols_, walk) for walk in known]
    assert np.exp(chain.log_likelihood(asked)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("smoothing", [0, 1, "auto", "back-off", bk.MEstimate(2), bk.MEstimate(2, "marginal")])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_probabilities_of_all_sequences_of_a_length_sum_to_one(order, smoothing):
    chain = bk.MarkovChain(order=order, smoothing=smoothing).fit(WORDS)
    words = [list(word) for word in product(chain.symbols_, repeat=4)]
    assert np.exp(chain.log_likelihood(words)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(WALKS, WALKS, st.integers(1, 3))
def test_chunks_are_the_whole_are_merged_and_forgotten_back(a, b, order):
    if not all(any(step for walk in part for step in walk) for part in (a, b)):
        return
    one, two, both = (bk.MarkovChain(order=order).fit(part) for part in (a, b, a + b))
    assert bk.MarkovChain(order=order).fit(a).partial_fit(b).tally_ == both.tally_
    assert (one + two).tally_ == both.tally_ == sum([two, one]).tally_
    again = bk.MarkovChain(order=order).fit(a + b).forget(b)
    assert again.tally_ == one.tally_
    assert again.log_likelihood(a).tolist() == one.log_likelihood(a).tolist()


def test_what_was_never_learned_cannot_be_forgotten_and_nothing_changes():
    chain = bk.MarkovChain().fit(WORDS)
    before = chain.tally_
    with pytest.raises(NotLearned, match="nothing was changed"):
        chain.forget([list("zz")])
    with pytest.raises(NotLearned, match="'b' and then 'b'"):
        chain.forget([list("abb")])
    with pytest.raises(BayesError, match="leave the model without data"):
        chain.forget(WORDS)
    assert chain.tally_ is before
    with pytest.raises(SchemaMismatch, match="order 1, the other of order 2"):
        chain.merge(bk.MarkovChain(order=2).fit(WORDS))
    with pytest.raises(BayesError, match="not with a NaiveBayes"):
        chain.merge(bk.NaiveBayes())


def test_a_weight_of_two_is_the_sequence_twice():
    twice = bk.MarkovChain().fit([WORDS[0], WORDS[0], WORDS[1]])
    weighted = bk.MarkovChain().fit(WORDS[:2], sample_weight=[2, 1])
    assert agree(weighted.tally_, twice.tally_.as_float())
    assert weighted.transitions_ == pytest.approx(twice.transitions_)


def test_backing_off_is_an_m_estimate_towards_the_shorter_context():
    chain = bk.MarkovChain(order=2, smoothing=bk.BackOff(2)).fit([list("aab"), list("aaa")])
    letters = {"a": 5, "b": 1}
    p_b = (letters["b"] + 2 * 0.5) / (6 + 2)
    p_b_after_a = (1 + 2 * p_b) / (4 + 2)  # aa, ab; aa, aa
    p_b_after_aa = (1 + 2 * p_b_after_a) / (2 + 2)
    assert chain.predict_next([list("aa")])[0, 1] == pytest.approx(p_b_after_aa, rel=1e-14)


def test_several_steps_ahead_are_the_sum_over_what_comes_between():
    chain = bk.MarkovChain(order=2).fit(WORDS)
    for start in (list("ab"), list("r"), []):
        expected = np.zeros(len(chain.symbols_))
        for x, y in product(chain.symbols_, repeat=2):
            log_p = chain.log_likelihood([[*start, x, y]])[0] - chain.log_likelihood([start])[0]
            expected += np.exp(log_p) * chain.predict_next([[*start, x, y]])[0]
        assert chain.predict_next([start], steps=3)[0] == pytest.approx(expected, rel=1e-12)
    one = bk.MarkovChain().fit(WORDS)
    power = np.linalg.matrix_power(one.transitions_, 5)
    assert one.predict_next([["a"]], steps=5)[0] == pytest.approx(power[one.symbols_.index("a")], rel=1e-12)


def test_drawn_sequences_show_the_counts_again():
    chain = bk.MarkovChain(order=2).fit(WORDS * 20)
    drawn = chain.sample(3000, 12, random_state=0)
    again = bk.MarkovChain(order=2).fit(drawn)
    assert again.start_ == pytest.approx(chain.start_, abs=0.03)
    assert again.predict_next([list("ab")]) == pytest.approx(chain.predict_next([list("ab")]), abs=0.05)
    assert drawn[:2] == chain.sample(3000, 12, random_state=0)[:2]
    assert chain.sample(0) == []
    assert chain.sample(1, 0) == [[]]


def test_empty_missing_and_unknown_have_a_meaning():
    chain = bk.MarkovChain().fit([["a", None, "b", "a"], [], ["b"]])
    assert chain.start_.tolist() == [0.5, 0.5]
    assert chain.transitions_.tolist() == [[0.5, 0.5], [2 / 3, 1 / 3]]  # after a nothing is known, b is left once
    assert chain.log_likelihood([[], [None], ["z"], ["a", "z", "b"]]) == pytest.approx(np.log([1, 1, 1, 0.5]))
    strict = bk.MarkovChain(unseen="error").fit([["a", "b"]])
    with pytest.raises(BayesError, match=r"step 2 of sequence 1 is 'z', not seen in training \(a, b\)"):
        strict.log_likelihood([["a", "z"]])
    with pytest.raises(BayesError, match="sequence 2 has a missing or unknown symbol among its last 1"):
        chain.predict_next([["a"], ["a", None]])
    declared = bk.MarkovChain(symbols=["a", "b", "c"]).fit([["a", "b"]])
    assert declared.start_ == pytest.approx([0.5, 0.25, 0.25])
    with pytest.raises(BayesError, match=r"step 1 of sequence 1 is 'z', outside the declared symbols \(a, b, c\)"):
        declared.partial_fit([["z"]])


def test_forms_of_sequences_give_the_same_chain():
    chain = bk.MarkovChain().fit(WORDS)
    flat = [letter for word in WORDS for letter in word]
    codes = np.array(sorted(set(flat))).searchsorted(flat)
    frame = {"word": np.repeat(range(3), [len(word) for word in WORDS]), "letter": flat}
    for data in (pa.array(WORDS), Sequences.of(frame, sequence="word")):
        assert bk.MarkovChain().fit(data).transitions_.tolist() == chain.transitions_.tolist()
    by_length = bk.MarkovChain().fit(codes, [len(word) for word in WORDS])
    assert by_length.transitions_.tolist() == chain.transitions_.tolist()
    assert bk.MarkovChain().fit(np.array(flat), [11, 6, 3]).symbols_ == chain.symbols_


@pytest.mark.parametrize(
    ("settings", "data", "message"),
    [
        ({"order": 0}, WORDS, "order=0"),
        ({"order": True}, WORDS, "order=True"),
        ({"smoothing": -1}, WORDS, "finite number from 0"),
        ({"unseen": "guess"}, WORDS, "unseen='guess'"),
        ({"symbols": []}, WORDS, "at least one value"),
        ({}, [], "nothing to fit"),
        ({}, [[], []], "nothing to fit"),
        ({}, [[None]], "nothing to fit"),
        ({}, [[0.5, 1.0]], "a step is 0.5: symbols are"),
        ({}, {"a": [1], "b": [2]}, "the columns a, b"),
        ({"order": 30}, WORDS, "take a smaller order"),
        ({"order": 2, "smoothing": "auto", "memory_limit": 1}, WORDS, "would take"),
    ],
)
def test_bad_settings_and_data_are_refused(settings, data, message):
    with pytest.raises((BayesError, TooLarge), match=message):
        bk.MarkovChain(**settings).fit(data)


def test_a_file_holds_the_chain(tmp_path):
    chain = bk.MarkovChain(order=2, smoothing="back-off", symbols=[*"abcdrnz"]).fit(WORDS)
    chain.save(tmp_path / "chain.bayes")
    again = bk.load(tmp_path / "chain.bayes")
    assert again.tally_ == chain.tally_
    assert again.log_likelihood(WORDS).tolist() == chain.log_likelihood(WORDS).tolist()
    assert str(again).startswith("MarkovChain of symbol: order 2, 20 steps, 7 symbols")


def test_what_it_has_not_it_says_why():
    with pytest.raises(AttributeError, match="it has no classes"):
        _ = bk.MarkovChain().predict
    with pytest.raises(AttributeError, match="order 2 has no table of pairs"):
        _ = bk.MarkovChain(order=2).fit(WORDS).transitions_
    with pytest.raises(ValueError, match="not fitted"):
        bk.MarkovChain().log_likelihood(WORDS)
