"""Classes of sequences by one hidden Markov model each: words of a made-up voice, symbols, mixed and missing cells."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import BayesError

SOUNDS = {"yes": [[0, 0], [2, 1], [0, 3]], "no": [[0, 3], [2, 1], [0, 0]], "yo": [[0, 0], [0, 3], [0, 3]]}
LEFT = bk.HiddenMarkovModel(n_states=3, transitions="left-to-right", n_starts=1, max_rounds=30)


def voices(n, seed):
    """Words said slower and faster, frame by frame."""
    rng = np.random.default_rng(seed)
    spoken, words = [], []
    for word, means in SOUNDS.items():
        for _ in range(n):
            spoken.append(np.vstack([rng.normal(mean, 0.7, (rng.integers(2, 7), 2)) for mean in means]))
            words.append(word)
    return spoken, words


@pytest.fixture(scope="module")
def model():
    return bk.SequenceClassifier(LEFT).fit(*voices(20, 0))


def test_words_are_told_apart_and_by_bayes_rule(model):
    spoken, words = voices(15, 1)
    assert model.score(spoken, words) > 0.9
    joint = np.column_stack([model.models_[word].log_likelihood(spoken) for word in sorted(SOUNDS)]) + np.log(1 / 3)
    assert model.predict_joint_log_proba(spoken) == pytest.approx(joint)
    posterior = np.exp(joint - joint.max(axis=1, keepdims=True))
    assert model.predict_proba(spoken) == pytest.approx(posterior / posterior.sum(axis=1, keepdims=True), abs=1e-12)


def test_what_the_frames_say_sums_to_the_log_odds(model):
    spoken, _ = voices(2, 2)
    log_proba, classes = model.predict_log_proba(spoken), model.classes_.tolist()
    for record, row, frames in zip(model.explain(spoken), log_proba, spoken, strict=True):
        odds = row[classes.index(record.predicted)] - row[classes.index(record.against)]
        assert record.prior_log_odds + sum(c.log_odds for c in record.contributions) == pytest.approx(odds, abs=1e-8)
        assert len(record.contributions) == len(frames)
    assert "step 1" in str(model.explain(spoken[:1]))


def test_missing_frames_and_empty_sequences_have_a_meaning(model):
    spoken, _ = voices(1, 3)
    silent = [np.full((4, 2), np.nan), spoken[0][:0]]
    assert model.predict_proba(silent) == pytest.approx(np.full((2, 3), 1 / 3))
    gaps = [np.where(np.arange(len(one))[:, None] == 1, np.nan, one) for one in spoken]
    assert np.isfinite(model.predict_joint_log_proba(gaps)).all()


def test_a_file_holds_it(model, tmp_path):
    model.save(tmp_path / "voices.bayes")
    again = bk.load(tmp_path / "voices.bayes")
    spoken, _ = voices(2, 4)
    assert again.predict_joint_log_proba(spoken).tolist() == model.predict_joint_log_proba(spoken).tolist()


def test_what_em_cannot_keep_is_not_there(model):
    for name in ("partial_fit", "forget", "merge", "leave_one_out"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"SequenceClassifier has no {name}: its models"):
            getattr(model, name)
    assert hasattr(bk.SequenceClassifier(), "partial_fit")


def test_a_symbol_that_a_class_never_shows_speaks_against_it():
    words = [list("aab"), list("ab"), list("ccb"), list("cb")]
    model = bk.SequenceClassifier(bk.HiddenMarkovModel(n_states=2)).fit(words, ["a", "a", "c", "c"])
    assert model.predict([list("ab"), list("cb")]).tolist() == ["a", "c"]
    assert all(one.schema_.columns["x0"].domain == ("a", "b", "c") for one in model.models_.values())
    assert model.predict_proba([list("zz")])[0] == pytest.approx([0.5, 0.5])


def test_mixed_columns_in_a_frame():
    rng = np.random.default_rng(0)
    frame = {"id": np.repeat(np.arange(20), 6), "sky": rng.choice(["sun", "rain"], 120).tolist()}
    label = np.repeat(np.arange(20) % 2, 6)
    frame["heat"] = rng.normal(size=120) + 3 * label * (np.arange(120) % 6 > 2)
    frame["label"] = np.where(label, "rises", "flat").tolist()
    sequences = bk.Sequences.of(frame, sequence="id")
    model = bk.SequenceClassifier(bk.HiddenMarkovModel(n_states=2)).fit(sequences, "label")
    rest, labels = sequences.of_sequence("label")
    assert model.score(rest, labels) > 0.85
    assert "heat" in model.explain(rest)[0].contributions[0].value


def test_a_column_that_does_not_vary_in_a_class_is_refused():
    data = [[1.0, 1.0], [1.0], [2.0, 3.0], [2.5]]
    with pytest.raises(BayesError, match="column 'x0' does not vary in the sequences of class 'flat'"):
        bk.SequenceClassifier(bk.HiddenMarkovModel(n_states=1)).fit(data, ["flat", "flat", "moves", "moves"])


def test_classes_may_have_other_numbers_of_states():
    models = {"yes": LEFT, "no": LEFT, "yo": bk.HiddenMarkovModel(n_states=2, n_starts=1, max_rounds=30)}
    model = bk.SequenceClassifier(models).fit(*voices(10, 5))
    assert [len(model.models_[word].states_) for word in ("no", "yes", "yo")] == [3, 3, 2]
    assert model.score(*voices(10, 6)) > 0.85
