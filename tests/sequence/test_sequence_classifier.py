"""Classes of whole sequences: Bayes' rule over chains, exact in learning, forgetting, merging and leaving out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data.sequences import Sequences
from bayeskit.errors import BayesError, NotLearned, UndecidableWarning

WORDS = [list(w) for w in ("abab", "baba", "aabb", "bbaa", "abba", "ababab", "bb", "", "aab")]
KINDS = ["turns", "turns", "runs", "runs", "runs", "turns", "runs", "turns", "runs"]
WALKS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=6), st.sampled_from(["x", "y", "z"])
    ),
    min_size=2,
    max_size=8,
)


def parts(walks):
    return [walk for walk, _ in walks], [label for _, label in walks]


def learnable(walks):
    classes = {label for _, label in walks}
    return all(any(step for walk, label in walks if label == c for step in walk) for c in classes)


def test_bayes_rule_over_the_chains_of_the_classes():
    model = bk.SequenceClassifier(model=bk.MarkovChain(order=2)).fit(WORDS, KINDS)
    own = {c: [w for w, k in zip(WORDS, KINDS, strict=True) if k == c] for c in ("runs", "turns")}
    chains = {c: bk.MarkovChain(order=2, symbols=["a", "b"]).fit(words) for c, words in own.items()}
    asked = [list("abaa"), [], ["a", None, "b"], ["z"]]
    joint = np.column_stack([chain.log_likelihood(asked) for chain in chains.values()]) + np.log([5 / 9, 4 / 9])
    assert model.predict_joint_log_proba(asked) == pytest.approx(joint, rel=1e-12)
    posterior = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    assert model.predict_proba(asked) == pytest.approx(posterior, rel=1e-12)
    assert np.exp(model.predict_log_proba(asked)) == pytest.approx(posterior, rel=1e-12)
    assert model.predict(asked).tolist() == [["runs", "turns"][i] for i in posterior.argmax(axis=1)]
    assert np.exp(model.score_samples(asked)) == pytest.approx(np.exp(joint).sum(axis=1))
    assert model.score(WORDS, KINDS) == np.mean(model.predict(WORDS) == np.array(KINDS))
    assert model.predict_proba([[]])[0].tolist() == pytest.approx([5 / 9, 4 / 9])


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(WALKS, WALKS, st.integers(1, 2))
def test_chunks_are_the_whole_are_merged_and_forgotten_back(a, b, order):
    if not (learnable(a) and learnable(b)):
        return
    made = lambda walks: bk.SequenceClassifier(bk.MarkovChain(order=order)).fit(*parts(walks))  # noqa: E731
    one, two, both = made(a), made(b), made(a + b)
    asked = parts(a + b)[0]
    for other in (one + two, two + one, made(a).partial_fit(*parts(b)), made(a + b + a).forget(*parts(a))):
        assert other.classes_.tolist() == both.classes_.tolist()
        assert other.class_counts_.tolist() == both.class_counts_.tolist()
        assert other.predict_joint_log_proba(asked).tolist() == both.predict_joint_log_proba(asked).tolist()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    WALKS, st.sampled_from([0.5, 1.0, bk.BackOff(2.0)]), st.integers(1, 2), st.sampled_from(["empirical", "uniform"])
)
def test_leave_one_out_equals_refitting_without_the_sequence(walks, smoothing, order, prior):
    if not learnable(walks):
        return
    X, y = parts(walks)
    symbols = sorted({step for walk in X for step in walk if step})
    chain = bk.MarkovChain(order=order, smoothing=smoothing, symbols=symbols)
    found = bk.SequenceClassifier(bk.MarkovChain(order=order, smoothing=smoothing), prior).fit(X, y).leave_one_out(X, y)
    classes = sorted(set(y))
    for i in range(len(X)):
        rest = [(w, k) for j, (w, k) in enumerate(walks) if j != i]
        if not learnable(rest):
            continue
        refitted = bk.SequenceClassifier(chain, prior).fit(*parts(rest))
        expected = dict(zip(refitted.classes_.tolist(), refitted.predict_proba([X[i]])[0], strict=True))
        assert found.probabilities[i] == pytest.approx([expected.get(c, 0.0) for c in classes], abs=1e-9)


def test_leave_one_out_is_for_what_was_learned():
    model = bk.SequenceClassifier(bk.MarkovChain(smoothing="auto")).fit(WORDS, KINDS)
    assert "smoothing" in model.leave_one_out(WORDS, KINDS).held
    with pytest.raises(NotLearned, match="was not learned"):
        model.leave_one_out([list("bbbbbbbb")], ["turns"])
    with pytest.raises(NotLearned, match="never learned"):
        model.leave_one_out([list("ab")], ["jumps"])


@settings(max_examples=25, deadline=None)
@given(WALKS, WALKS)
def test_what_the_steps_say_sums_to_the_log_odds(walks, asked):
    if not learnable(walks) or len({k for _, k in walks}) < 2:
        return
    model = bk.SequenceClassifier(temperature=2.0).fit(*parts(walks))
    X = [*parts(asked)[0], []]
    log_proba = model.predict_log_proba(X)
    classes = model.classes_.tolist()
    for record, row, walk, said in zip(model.explain(X), log_proba, X, model.predict(X).tolist(), strict=True):
        odds = row[classes.index(record.predicted)] - row[classes.index(record.against)]
        total = record.prior_log_odds + sum(part.log_odds for part in record.contributions)
        assert total == pytest.approx(odds, abs=1e-9)
        assert (record.predicted, len(record.contributions)) == (said, len(walk))
    against = model.explain(X[:1], against=classes[0])[0]
    assert classes[0] in (against.predicted, against.against)


def test_an_impossible_sequence_is_settled_as_the_setting_says():
    data = [list("ab"), list("ba")], ["x", "y"]
    model = bk.SequenceClassifier(bk.MarkovChain(smoothing=0)).fit(*data)
    with pytest.warns(UndecidableWarning, match="1 row is impossible"):
        assert model.predict_proba([list("aa"), list("ab")]).tolist() == [[0.5, 0.5], [1.0, 0.0]]
    with pytest.warns(UndecidableWarning):
        assert np.isnan(model.set_params(undecidable="nan").predict_proba([list("aa")])).all()
    with pytest.raises(BayesError, match="impossible under every class"):
        model.set_params(undecidable="error").predict([list("aa")])


def test_ties_are_the_first_class_or_drawn_by_content():
    model = bk.SequenceClassifier(ties="random", random_state=3).fit([["a"], ["a"]], ["x", "y"])
    walks = [["a"] * k for k in range(1, 40)]
    drawn = model.predict(walks)
    assert {*drawn} == {"x", "y"}
    assert model.predict(walks[::-1]).tolist() == drawn[::-1].tolist()
    assert {*bk.SequenceClassifier().fit([["a"], ["a"]], ["x", "y"]).predict(walks)} == {"x"}


def test_a_frame_names_the_column_of_the_class():
    frame = {
        "id": np.repeat(range(len(WORDS) - 1), [len(w) for w in WORDS if w]),
        "letter": [x for w in WORDS for x in w],
        "kind": [k for w, k in zip(WORDS, KINDS, strict=True) for _ in w],
    }
    by_frame = bk.SequenceClassifier().fit(Sequences.of(frame, sequence="id"), "kind")
    lists = [w for w in WORDS if w], [k for w, k in zip(WORDS, KINDS, strict=True) if w]
    by_lists = bk.SequenceClassifier().fit(*lists)
    assert by_frame.target_ == "kind"
    assert by_frame.predict_proba(lists[0]).tolist() == by_lists.predict_proba(lists[0]).tolist()


@pytest.mark.slow
def test_tools_of_scikit_learn_and_our_own_take_it():
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, cross_val_score

    X, y = WORDS * 6, KINDS * 6
    model = bk.SequenceClassifier(bk.MarkovChain(order=1))
    assert is_classifier(model)
    assert "MarkovChain" not in repr(clone(model).fit(X, y).models_["runs"].tally_)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(model, {"model__order": [1, 2, 3]}, cv=3).fit(X, y)
    assert search.best_params_["model__order"] in (1, 2, 3)
    found = bk.cross_validate(model, X, y, folds=3)
    assert found.accuracy > 0.7
    assert found.n_rows == len(X)
    assert bk.CostSensitive(model, costs={"runs": {"turns": 5}}).fit(X, y).predict(X).shape == (len(X),)


def test_classes_may_have_models_of_their_own(tmp_path):
    model = bk.SequenceClassifier({"runs": bk.MarkovChain(order=2), "turns": bk.MarkovChain()}).fit(WORDS, KINDS)
    assert [chain.order for chain in model.models_.values()] == [2, 1]
    model.save(tmp_path / "m.bayes")
    assert bk.load(tmp_path / "m.bayes").predict_proba(WORDS).tolist() == model.predict_proba(WORDS).tolist()
    with pytest.raises(BayesError, match="model= has none for class 'jumps'"):
        model.partial_fit([["a"]], ["jumps"])


def test_a_file_holds_it_and_it_goes_on_learning(tmp_path):
    model = bk.SequenceClassifier(bk.MarkovChain(order=2, smoothing="back-off"), prior="uniform").fit(WORDS, KINDS)
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    assert again.predict_joint_log_proba(WORDS).tolist() == model.predict_joint_log_proba(WORDS).tolist()
    assert (again.target_, str(again)) == (model.target_, str(model))
    again.partial_fit([list("zz")], ["naps"])
    assert again.classes_.tolist() == ["naps", "runs", "turns"]
    assert again.forget([list("zz")], ["naps"]).predict_proba(WORDS).tolist() == model.predict_proba(WORDS).tolist()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "there are no sequences"),
        ([["a"]], None, "y is None"),
        ([["a"]], ["x", "y"], "1 sequences and 2 labels"),
        ([["a"], ["b"]], ["x", None], "sequence 2 has no label"),
        ([["a"], ["b"]], ["x", 1], "all strings or all numbers"),
        ([["a"], ["b"]], [0.5, 1.0], "Unknown label type: continuous"),
        ([["a"], []], ["x", "y"], "class 'y' are all empty"),
        ([[0.5], [1.5]], ["x", "y"], "class 'x': a step is 0.5"),
        (["ab", "ba"], ["x", "y"], "1 sequences and 2 labels.*a plain list is one sequence"),
        ([["a"], "ba"], ["x", "y"], "sequence 2 is a str"),
        ([["a"]], "kind", "no column 'kind'"),
    ],
)
def test_bad_data_is_refused_and_nothing_changes(X, y, message):
    model = bk.SequenceClassifier().fit(WORDS, KINDS)
    before = vars(model).copy()
    with pytest.raises(BayesError, match=message):
        model.fit(X, y)
    assert vars(model) == before


def test_bad_settings_are_refused():
    for settings_, message in (
        ({"model": bk.NaiveBayes()}, "give a MarkovChain"),
        ({"model": bk.MarkovChain(order=0)}, "order=0"),
        ({"prior": "often"}, "prior='often'"),
        ({"temperature": 0}, "temperature=0"),
        ({"ties": "last"}, "ties='last'"),
        ({"undecidable": "so what"}, "undecidable="),
    ):
        with pytest.raises(BayesError, match=message):
            bk.SequenceClassifier(**settings_).fit(WORDS, KINDS)
    with pytest.raises(BayesError, match="weight zero"):
        bk.SequenceClassifier().fit([["a"], ["b"]], ["x", "y"], sample_weight=[1, 0])


def test_forgetting_what_was_not_learned_is_refused():
    model = bk.SequenceClassifier().fit(WORDS, KINDS)
    before = model.predict_joint_log_proba(WORDS).tolist()
    for X, y, message in (
        ([list("ab")], ["jumps"], "class 'jumps' was learned never"),
        ([list("aaaa")], ["turns"], "nothing was changed"),
        (WORDS, KINDS, "leave the model without data"),
    ):
        with pytest.raises(BayesError, match=message):
            model.forget(X, y)
    assert model.predict_joint_log_proba(WORDS).tolist() == before


def test_it_can_what_its_models_can():
    for method in ("merge", "leave_one_out", "explain", "partial_fit", "forget"):
        assert hasattr(bk.SequenceClassifier(), method)
    with pytest.raises(AttributeError, match="SequenceClassifier has no learn_source: sequences are read whole"):
        _ = bk.SequenceClassifier().learn_source
    drawn, labels = bk.SequenceClassifier().fit(WORDS, KINDS).sample(50, 6, random_state=0)
    assert len(drawn) == len(labels) == 50
    assert {*labels} == {"runs", "turns"}
    assert bk.SequenceClassifier().fit(WORDS, KINDS).table()["sequences"] == [5, 4]


@pytest.mark.parametrize("folds", [None, 3])
def test_calibration_refuses_sequences(folds):
    with pytest.raises(BayesError, match="SequenceClassifier is a model of sequences") as refused:
        bk.Calibrated(bk.SequenceClassifier(), folds=folds).fit(WORDS, KINDS)
    assert "reliability" in refused.value.hint
