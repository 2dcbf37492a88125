"""Laws of soft labels: counts of rows with class probabilities are fractional counts of each class."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayeskit as bk

N_CLASSES = 3
MODELS = [
    bk.NaiveBayes(numeric="gaussian"),
    bk.NaiveBayes(numeric="kernel"),
    bk.NaiveBayes(numeric="histogram", cuts="mdl"),
    bk.NaiveBayes(numeric="auto"),
    bk.TAN(),
    bk.TAN(cuts=3, smoothing=1.0),
    bk.AODE(),
    bk.KDB(),
    bk.FullJointBayes(smoothing=1),
    bk.NetworkClassifier(edges=[("a", "b")]),
]
RECIPES = ["multinomial", "set_of_words", "complement", "wcnb", "wnb", "tfidf", "twcnb"]


def draw_table(seed):
    """Return columns, documents and class probabilities of 30 rows."""
    rng = np.random.default_rng(seed)
    table = {"a": rng.choice(["u", "v", "w"], 30), "b": rng.choice(["p", "q"], 30), "x": rng.normal(size=30).round(2)}
    texts = [" ".join(rng.choice(list("abcdef"), 4)) for _ in range(30)]
    soft = rng.dirichlet(np.full(N_CLASSES, 0.6), 30)
    soft[rng.random(soft.shape) < 0.2] = 0.0
    soft[soft.sum(axis=1) == 0, 0] = 1.0
    return table, texts, soft / soft.sum(axis=1, keepdims=True)


def fresh(model):
    return type(model)(**model.get_params())


@pytest.mark.parametrize("model", MODELS, ids=repr)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=5)
@given(st.integers(0, 2**32))
def test_probabilities_of_zero_and_one_are_labels(model, seed):
    table, _, soft = draw_table(seed)
    labels = soft.argmax(axis=1)
    labels[:N_CLASSES] = range(N_CLASSES)  # a class of a matrix that no row has is a class all the same
    crisp = np.eye(N_CLASSES)[labels]
    one, other = fresh(model).fit(table, crisp), fresh(model).fit(table, labels)
    assert one.tally_.classes == other.tally_.classes
    assert one.predict_log_proba(table) == pytest.approx(other.predict_log_proba(table), abs=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=5)
@given(st.integers(0, 2**32), st.booleans())
def test_probabilities_are_the_weights_of_repeated_rows(model, seed, has_weights):
    table, _, soft = draw_table(seed)
    weights = np.random.default_rng(seed).integers(1, 4, 30).astype(float) if has_weights else None
    repeated = {name: np.repeat(cells, N_CLASSES) for name, cells in table.items()}
    shares = (soft * (1.0 if weights is None else weights[:, None])).ravel()
    one = fresh(model).fit(table, soft, weights)
    other = fresh(model).fit(repeated, np.tile(np.arange(N_CLASSES), 30), shares)
    assert one.predict_log_proba(table) == pytest.approx(other.predict_log_proba(table), abs=1e-9)


@pytest.mark.parametrize("recipe", RECIPES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=5)
@given(st.integers(0, 2**32))
def test_documents_have_fractional_counts(recipe, seed):
    _, texts, soft = draw_table(seed)
    one = bk.TextClassifier(recipe, pattern="words1").fit(texts, soft)
    repeated = [text for text in texts for _ in range(N_CLASSES)]
    other = bk.TextClassifier(recipe, pattern="words1").fit(repeated, np.tile([0, 1, 2], 30), soft.ravel())
    assert one.predict_joint_log_proba(texts) == pytest.approx(other.predict_joint_log_proba(texts), abs=1e-9)
    word, c = str(one.words_[0]), 1
    by_hand = sum(p[c] * text.split().count(word) for p, text in zip(soft, texts, strict=True))  # Σ n_id P(c | d)
    total = sum(p[c] * len(text.split()) for p, text in zip(soft, texts, strict=True))
    if recipe == "multinomial":
        log_p = one.predict_joint_log_proba([word, ""])[:, c]
        assert np.exp(log_p[0] - log_p[1]) == pytest.approx((by_hand + 1) / (total + len(one.words_)))


def test_soft_labels_are_learned_and_forgotten_and_name_their_classes():
    table, _, soft = draw_table(0)
    frame = pd.DataFrame(soft, columns=["low", "middle", "high"])
    model = bk.NaiveBayes(numeric="gaussian").fit(table, frame)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    share = {label: frame[label].sum() / 30 for label in frame}
    assert model.table()["P(class)"] == pytest.approx([share[label] for label in ["high", "low", "middle"]])
    part = {name: cells[:10] for name, cells in table.items()}
    again = fresh(model).fit(table, frame).partial_fit(part, frame[:10]).forget(part, frame[:10])
    assert again.predict_log_proba(table) == pytest.approx(model.predict_log_proba(table), abs=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        lambda table, soft: bk.SubclassBayes().fit(table, soft),
        lambda table, soft: bk.BayesClassifier().fit(table, soft),
        lambda table, soft: bk.LogisticRegression().fit(table, soft),
        lambda table, soft: bk.NBTree().fit(table, soft),
        lambda table, soft: bk.NetworkClassifier().fit(table, soft),
        lambda table, soft: bk.AODE(weights="log-linear").fit(table, soft),
        lambda table, soft: bk.KDB(selective=True).fit(table, soft),
        lambda table, soft: bk.NaiveBayes().tune(table, soft),
        lambda table, soft: bk.Calibrated(bk.NaiveBayes()).fit(table, soft),
        lambda table, soft: bk.NaiveBayes().fit(table, soft).leave_one_out(table, soft),
        lambda table, soft: bk.NaiveBayes().fit(table, soft).diagnose(table, soft),
        lambda table, soft: bk.TextClassifier().fit(table["a"].tolist(), soft),
    ],
)
def test_what_needs_one_label_per_row_says_so(use):
    table, _, soft = draw_table(1)
    with pytest.raises(bk.BayesError, match="one label"):
        use(table, soft)
