"""Recipe "best": both halves sum to the prediction, learn and forget as is said, and answer what is odd."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.estimate import weighted_evidence
from bayeskit.models import from_bytes, to_bytes

WORDS = {
    "law": "the judge in the court asked for a vote and heard the jury",
    "sea": "a calm sea, wind and waves; the ship and the storm!",
    "art": "the painter and his brush: color, canvas and light",
}


def documents(n, seed=0, classes=("law", "sea", "art")):
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array(classes, dtype=object), n)
    common = ["it", "was", "and", "the", "of", "a", "to", "in", "that", "then", "there"]
    texts = [
        " ".join([*rng.choice(WORDS[label].split(), rng.integers(1, 6)), *rng.choice(common, 4)]) for label in labels
    ]
    return texts, labels


def fitted(n=300, **settings):
    return bk.TextClassifier("best", **settings).fit(*documents(n))


def test_halves_are_shown_and_sum_to_the_prediction():
    model = fitted(ngrams=(1, 2))
    texts, _ = documents(40, 5)
    scores = model.predict_joint_log_proba([*texts, "", "never seen"])
    for record, of_classes in zip(model.explain([*texts, "", "never seen"]), scores, strict=True):
        chosen, other = (model.tally_.classes.index(c) for c in (record.label, record.other))
        total = record.base + sum(evidence for _, _, evidence in record.words)
        assert total == pytest.approx(of_classes[chosen] - of_classes[other], abs=1e-9)
        assert [sum(parts) for parts in record.parts] == pytest.approx([e for _, _, e in record.words], abs=1e-12)
    np.testing.assert_array_equal(scores[-2:], np.tile(model.params_.log_prior, (2, 1)))


def test_values_are_of_length_one_and_runs_of_half():
    counts, ids, indptr = np.array([1, 3, 1, 2]), np.array([0, 1, 2, 0]), np.array([0, 3, 4, 4])
    x = weighted_evidence.linear_values(counts, ids, indptr, np.array([2.0, 1.0, 3.0]), np.array([False, False, True]))
    np.testing.assert_allclose([np.hypot(x[0], x[1]), x[2], x[3]], [1, 0.5, 1])
    assert x[0] / x[1] == pytest.approx(2 / (1 + np.log(3)))


def test_any_number_of_threads_gives_the_same_model():
    assert to_bytes(fitted(n_threads=1).set_params(n_threads=None)) == to_bytes(
        fitted(n_threads=3).set_params(n_threads=None)
    )


def test_the_parts_in_which_cells_are_worked_on_do_not_matter(monkeypatch):
    from bayeskit.estimate import word_weights

    whole = to_bytes(fitted())
    monkeypatch.setattr(word_weights, "CELLS", 64)
    assert to_bytes(fitted()) == whole


def test_it_is_more_certain_and_more_often_right_than_its_evidence_alone():
    rng = np.random.default_rng(1)  # classes that differ by which of two words goes with which: no sum of counts tells
    pairs = rng.integers(0, 2, (900, 6))
    texts = [" ".join(f"w{j}{bit}" for j, bit in enumerate(row)) for row in pairs]
    labels = np.where(pairs[:, 0] + 0.8 * pairs[:, 1] + 0.6 * pairs[:, 2] > 1.1, "b", "a")
    best, evidence = (bk.TextClassifier(r, ngrams=(1, 1)).fit(texts[:600], labels[:600]) for r in ("best", "weighted"))
    at = (np.arange(300), (labels[600:] == "b").astype(int))
    losses = [-np.log(model.predict_proba(texts[600:])[at]).mean() for model in (best, evidence)]
    assert losses[0] < losses[1]


def test_counts_move_and_the_linear_part_is_held():
    model = fitted()
    before, (texts, labels) = to_bytes(model), documents(50, 9)
    linear = model.linear_
    model.partial_fit([*texts, "a new word"], [*labels, "new class"])
    assert model.linear_ is linear
    assert model.predict_proba(["a new word"]).shape == (1, 4)
    model.forget([*texts, "a new word"], [*labels, "new class"])
    again = from_bytes(before)
    np.testing.assert_allclose(model.predict_proba(texts), again.predict_proba(texts), atol=1e-9)
    merged = again.merge(fitted(200))
    assert merged.tally_.n_rows == pytest.approx(500)
    assert merged.linear_.shares == linear.shares


def test_another_prior_moves_the_log_odds_by_its_own_and_nothing_else():
    model = fitted()
    texts, _ = documents(5, 3)
    prior = {"law": 0.2, "sea": 0.3, "art": 0.5}
    moved = model.with_prior(prior).predict_joint_log_proba(texts) - model.predict_joint_log_proba(texts)
    expected = np.log([prior[c] for c in model.classes_]) - model.params_.log_prior
    np.testing.assert_allclose(moved, np.tile(expected, (5, 1)), atol=1e-9)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["sun"], ["a"]),
        (["sun", "rain"], ["a", "a"]),
        (["sun", "rain"], ["a", "b"]),
        (["", ""], ["a", "b"]),
        (["", "sun", "rain", "sun"], ["a", "b", "c", "c"]),
        (["sun"] * 30 + ["rain"], ["a"] * 30 + ["b"]),
        (["sun"] * 20, ["a", "b"] * 10),
    ],
)
@pytest.mark.filterwarnings("ignore:there is one class only", "ignore:no document has a word")
def test_few_and_odd_documents_get_probabilities(texts, labels):
    model = bk.TextClassifier("best").fit(texts, labels)
    p = model.predict_proba(["sun", "rain", "", "never seen", "sun sun rain"])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    again = from_bytes(to_bytes(model))
    assert np.array_equal(again.predict_proba(["sun", ""]), model.predict_proba(["sun", ""]))


def test_weights_of_documents_count_and_none_is_no_document():
    texts, labels = documents(120)
    weights = np.resize([0.0, 1.0, 2.5, 0.25], 120)
    weighted = bk.TextClassifier("best").fit(texts, labels, sample_weight=weights)
    without = bk.TextClassifier("best").fit(
        [t for t, w in zip(texts, weights, strict=True) if w], labels[weights > 0], sample_weight=weights[weights > 0]
    )
    assert np.array_equal(weighted.predict_proba(texts), without.predict_proba(texts))
    assert np.isfinite(weighted.predict_proba(texts)).all()


def test_leave_one_out_is_absent_with_its_reason():
    with pytest.raises(AttributeError, match=r"no closed form.*cross_validate"):
        _ = fitted(60).leave_one_out_scores


@pytest.mark.parametrize("weight", [1e8, 1e12])
def test_documents_of_a_huge_weight_leave_the_linear_part_its_digits(weight):
    texts, labels = documents(400)
    labels[::9] = "art"  # not to be told apart, so that what is learned of one document takes back that of others
    heavy, large = (
        bk.TextClassifier("best", ngrams=(1, 1)).fit(texts, labels, sample_weight=np.full(400, w))
        for w in (weight, 1e5)
    )
    assert np.abs(heavy.linear_.table).max() < 2 * np.abs(large.linear_.table).max()
    assert heavy.linear_.log_loss == pytest.approx(large.linear_.log_loss, rel=0.1)
    assert np.isfinite(heavy.predict_proba(texts)).all()


def test_auto_is_best_of_many_documents_and_weighted_evidence_of_few():
    many, few = (bk.TextClassifier().fit(*documents(n)) for n in (600, 499))
    assert (many.recipe, many.recipe_.name, few.recipe_.name) == ("auto", "best", "weighted")
    again = from_bytes(to_bytes(many))
    assert again.recipe == "best"
    texts, labels = documents(20, 4)
    assert np.array_equal(many.predict_proba(texts), fitted(600).predict_proba(texts))
    assert np.array_equal(many.partial_fit(texts, labels).predict_proba(texts),
                          again.partial_fit(texts, labels).predict_proba(texts))  # fmt: skip
    assert not hasattr(many, "leave_one_out")
    assert hasattr(few, "leave_one_out")


def test_auto_is_best_of_hundreds_of_classes_and_weighted_evidence_beyond():
    rng = np.random.default_rng(0)
    for n_classes, expected in ((300, "best"), (301, "weighted")):
        codes = np.arange(2 * n_classes) % n_classes
        texts = [f"w{code} w{code + 1} {' '.join(rng.choice(['x', 'y', 'z'], 2))}" for code in codes]
        model = bk.TextClassifier(ngrams=(1, 1)).fit(texts, [f"class {code}" for code in codes])
        assert model.recipe_.name == expected
        assert model.predict_proba(texts[:3]).shape == (3, n_classes)


def ordered(n, share, seed):
    """Return documents of two classes, in some of which the order of two words tells the class."""
    rng, texts = np.random.default_rng(seed), []
    for i in range(n):
        words = [f"w{j}" for j in rng.integers(0, 40, 8)]
        if rng.random() < 0.6:
            words.append(f"t{i % 2 if rng.random() < 0.75 else 1 - i % 2}")
        if rng.random() < share:
            words += ["on", "off"] if i % 2 else ["off", "on"]
        texts.append(" ".join(words))
    return texts, [i % 2 for i in range(n)]


@pytest.mark.parametrize(("share", "longest"), [(0.0, 1), (0.08, 2), (0.2, 2)])
def test_pairs_that_help_a_little_are_read_if_documents_left_out_confirm_it(share, longest):
    texts, labels = ordered(1500, share, 0)
    model = bk.TextClassifier("best").fit(texts, labels)
    losses = model.candidates_["log loss"]
    gain = min(losses[2:]) / min(losses[:2])
    assert (gain < 0.9) == (share == 0.2)
    assert model.schema_.columns["text"].tokenizer.ngrams == (1, longest)
    if longest > 1:
        new, truth = ordered(1500, share, 1)
        words = bk.TextClassifier("best", ngrams=(1, 1)).fit(texts, labels)
        assert model.log_likelihood(new, truth).conditional > words.log_likelihood(new, truth).conditional


def test_weights_that_start_at_those_of_other_words_reach_the_same_loss():
    texts, labels = documents(400)
    training = bk.TextClassifier("weighted", smoothing=1.0)
    alone = {}
    for ngrams in ((1, 1), (1, 2)):
        losses = training.set_params(ngrams=ngrams).fit(texts, labels).candidates_["log loss"]
        alone |= {(str(ngrams), g): loss for g, loss in zip((1.0, 0.5), losses, strict=True)}
    after = bk.TextClassifier("best", pattern="words").fit(texts, labels).candidates_
    for ngrams, g, loss in zip(after["ngrams"], after["g"], after["log loss"], strict=True):
        # "weighted" also reads pairs that only one document has.
        assert loss == pytest.approx(alone[ngrams, g], rel=1e-2 if ngrams == "(1, 2)" else 1e-3)


def test_pairs_of_words_are_not_read_where_their_tables_would_be_too_large(monkeypatch):
    from bayeskit.models.text import weighted_evidence

    texts, labels = documents(200)
    pairs = [
        f"{a} {b}"
        for a, b in zip(np.where(labels == "law", "p", "q"), np.where(labels == "sea", "p", "q"), strict=True)
    ]
    texts = [f"{text} {pair}" for text, pair in zip(texts, pairs, strict=True)]
    monkeypatch.setattr(weighted_evidence, "LARGEST_TRIED", 10)
    model = bk.TextClassifier("best", characters="auto").fit(texts, labels)
    assert [name for name, _ in model.linear_.tried] == ["words"]


@pytest.mark.parametrize("n_documents", [30, 600])
def test_the_default_model_forgets_the_documents_that_it_learned(n_documents):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([f"w{i}" for i in range(40)], rng.integers(1, 12))) for _ in range(n_documents)]
    labels = np.array(["a", "b", "c"])[rng.integers(0, 3, n_documents)]
    model, gone = bk.TextClassifier().fit(texts, labels), np.flatnonzero(labels == "a")
    model.forget([texts[i] for i in gone], labels[gone])
    assert model.classes_.tolist() == ["b", "c"]
    assert model.tally_.n_rows == (labels != "a").sum()
    assert model.fixed_[-1] == ("linear weights" if n_documents > 500 else "weights of evidence")
