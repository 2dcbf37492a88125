"""TopicModel: what it finds, what it says of documents, and what it refuses."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import bayeskit
from bayeskit import BayesError, TokenCounter, Tokenizer, TopicModel
from bayeskit.errors import BayesWarning

TEXTS = ["ball goal match", "goal ball ball team", "vote law party", "law party vote vote"] * 6


@pytest.fixture(scope="module")
def fitted():
    return TopicModel(2, n_sweeps=60, keep_assignments=True).fit(TEXTS)


def bars(n_documents=600, length=100, seed=0):
    """Documents of ten topics, the rows and columns of a square of 5 by 5 words (Griffiths and Steyvers 2004)."""
    rng = np.random.default_rng(seed)
    squares = [np.zeros((5, 5)) for _ in range(10)]
    for i in range(5):
        squares[i][i] = squares[5 + i][:, i] = 0.2
    truth = np.array([square.ravel() for square in squares])
    shares = rng.dirichlet(np.full(10, 0.3), n_documents)
    counts = np.array([rng.multinomial(length, p) for p in shares @ truth])
    return csr_matrix(counts), truth, shares


@pytest.mark.slow
def test_bars_are_recovered():
    counts, truth, shares = bars()
    model = TopicModel(10, n_sweeps=300, random_state=1).fit(counts)
    distance = np.abs(model.topic_words_[:, None] - truth).sum(axis=2) / 2  # total variation
    own = distance.argmin(axis=1)
    assert sorted(own) == list(range(10))
    assert distance.min(axis=1).max() < 0.1
    assert np.abs(model.transform(counts)[:, np.argsort(own)] - shares).mean() < 0.03
    np.testing.assert_allclose(model.alpha_, 0.3, atol=0.12)


def test_topics_of_texts_are_told_apart(fitted):
    sport, politics = sorted(sorted(words) for words in fitted.top_words(3))
    assert sport == ["ball", "goal", "match"]
    assert politics == ["law", "party", "vote"]
    assert fitted.topic_shares_.sum() == pytest.approx(1)
    assert fitted.n_documents_ == 24
    assert fitted.n_tokens_ == 84
    assert fitted.topic_words_.sum(axis=1) == pytest.approx([1, 1])
    assert str(fitted).startswith("TopicModel: 7 columns") or "topic" in str(fitted)


@pytest.mark.slow
@pytest.mark.parametrize(("n_topics", "seed"), [(3, 0), (20, 1), (140, 2)])
def test_one_seed_gives_one_result_for_any_number_of_threads(n_topics, seed):
    counts, _, _ = bars(n_documents=1200)
    models = [
        TopicModel(n_topics, n_sweeps=4, random_state=seed, keep_assignments=True, n_threads=n).fit(counts)
        for n in (1, 2, 5)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].kept_documents().topics, other.kept_documents().topics)
        np.testing.assert_array_equal(models[0].alpha_, other.alpha_)
        np.testing.assert_array_equal(models[0].transform(counts[:50]), other.transform(counts[:50]))


def test_another_seed_gives_another_result():
    counts, _, _ = bars(n_documents=40)
    one, other = (TopicModel(3, n_sweeps=3, random_state=seed).fit(counts).components_ for seed in (0, 1))
    assert (one != other).any()


def test_a_document_alone_has_the_shares_that_it_has_among_others(fitted):
    among = fitted.transform([*TEXTS, "goal vote"])
    np.testing.assert_array_equal(fitted.transform(["goal vote"])[0], among[-1])
    np.testing.assert_array_equal(fitted.transform(["vote goal"])[0], among[-1])  # order of words says nothing


def test_shares_sum_to_one_and_words_decide(fitted):
    shares = fitted.transform(["ball ball goal match", "vote law party vote"])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    sport = int(shares[0].argmax())
    assert shares[0, sport] > 0.9
    assert shares[1, sport] < 0.1


def test_a_document_without_known_words_has_the_shares_of_the_prior(fitted):
    expected = fitted.alpha_ / fitted.alpha_.sum()
    for nothing in ["", "unheard of", "the and"]:
        np.testing.assert_allclose(fitted.transform([nothing])[0], expected, rtol=1e-12)
    assert fitted.transform([]).shape == (0, 2)


def test_counts_of_any_form_give_the_model_of_the_texts(fitted):
    counter = TokenCounter(stop_words="english")
    counts = counter.fit_transform(TEXTS)
    words = counter.get_feature_names_out()
    for form in (
        counts,
        csc_matrix(counts),
        counts.toarray(),
        counts.toarray().astype(float),
        counts.toarray().tolist(),
    ):
        model = TopicModel(2, n_sweeps=60).fit(form, words=words)
        np.testing.assert_array_equal(model.components_, fitted.components_)
        assert model.top_words(3) == fitted.top_words(3)
        np.testing.assert_array_equal(model.transform(form), fitted.transform(TEXTS))


def test_columns_of_a_frame_are_the_words():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"sun": [3, 2, 0], "rain": [0, 0, 4]})
    model = TopicModel(2, n_sweeps=5).fit(frame)
    assert model.words_.tolist() == ["sun", "rain"]
    assert TopicModel(2, n_sweeps=5).fit(frame.to_numpy()).words_.tolist() == ["x0", "x1"]
    named = TopicModel(2, n_sweeps=5).fit(frame.to_numpy()).name_words(["sun", "rain"])
    assert named.top_words() == model.top_words()


def frames_of(texts):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    return {
        "pandas": pd.DataFrame({"text": texts}),
        "categories": pd.DataFrame({"text": pd.Categorical(texts)}),
        "polars": pl.DataFrame({"text": texts}),
        "lazy": pl.LazyFrame({"text": texts}),
        "Arrow": pa.table({"text": texts}),
        "mapping": {"text": texts},
        "records": [{"text": text} for text in texts],
        "array": np.array(texts)[:, None],
        "series": pd.Series(texts),
    }


@pytest.mark.parametrize("form", list(frames_of([])))
def test_texts_in_the_one_column_of_a_table_are_the_texts(fitted, form):
    shares = fitted.transform(TEXTS)
    assert fitted.transform(frames_of(TEXTS)[form]).tolist() == shares.tolist()
    again = TopicModel(2, n_sweeps=60, keep_assignments=True).fit(frames_of(TEXTS)[form])
    assert again.components_.tolist() == fitted.components_.tolist()
    assert TopicModel(n_sweeps=20).choose_topics(frames_of(TEXTS)[form], [1, 2]).n_topics == 2


def test_of_a_table_with_several_columns_one_is_to_be_given(fitted):
    import pandas as pd

    with pytest.raises(BayesError, match="which column holds the texts"):
        fitted.transform(pd.DataFrame({"text": TEXTS, "year": 1999}))
    with pytest.raises(BayesError, match="which column holds the texts"):
        fitted.fit(np.array([TEXTS, TEXTS]).T)


def test_counts_in_any_table_are_counts_with_the_names_of_its_words():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    cells = {"ball": [2, 0, 1, 0] * 6, "vote": [0, 3, 0, 1] * 6}
    plain = TopicModel(2, n_sweeps=20).fit(np.column_stack(list(cells.values())), words=list(cells))
    sparse = pd.DataFrame(cells).astype(pd.SparseDtype("int64", 0))
    for table in (pd.DataFrame(cells), sparse, pl.DataFrame(cells), pa.table(cells), cells):
        model = TopicModel(2, n_sweeps=20).fit(table)
        assert model.words_.tolist() == ["ball", "vote"]
        assert model.components_.tolist() == plain.components_.tolist()
        guided = TopicModel(2, n_sweeps=20, seed_words={0: ["vote"]})
        assert guided.choose_topics(table, [2]).n_topics == 2


def test_shares_feed_a_classifier_in_a_pipeline():
    labels = [0, 0, 1, 1] * 6
    pipeline = make_pipeline(TokenCounter(), TopicModel(2, n_sweeps=40), LogisticRegression())
    assert pipeline.fit(TEXTS, labels).score(TEXTS, labels) == 1
    assert make_pipeline(TopicModel(2, n_sweeps=40), LogisticRegression()).fit(TEXTS, labels).score(TEXTS, labels) == 1
    model = TopicModel(3, seed_words=[["ball"]])
    assert clone(model).get_params() == model.get_params()
    frame = TopicModel(2, n_sweeps=3).set_output(transform="pandas").fit_transform(TEXTS)
    assert frame.columns.tolist() == ["topic0", "topic1"]
    fresh = TopicModel(2, n_sweeps=3)
    np.testing.assert_array_equal(fresh.fit_transform(TEXTS), fresh.transform(TEXTS))


def test_seed_words_guide_topics():
    model = TopicModel(2, n_sweeps=40, seed_words={1: ["ball"], 0: ["vote"]}).fit(TEXTS)
    assert "goal" in model.top_words(3)[1]
    assert "law" in model.top_words(3)[0]
    turned = TopicModel(2, n_sweeps=40, seed_words=[["goal"], ["law", "vote"]]).fit(TEXTS)
    assert "ball" in turned.top_words(3)[0]
    with pytest.warns(BayesWarning, match="no document has the seed words 'tennis'"):
        TopicModel(2, n_sweeps=2, seed_words=[["goal", "tennis"]]).fit(TEXTS)


def test_top_words_by_lift_leave_common_words_out():
    texts = ["the ball the goal the"] * 10 + ["the vote the law the"] * 10
    model = TopicModel(2, n_sweeps=80, tokenizer=Tokenizer()).fit(texts)
    assert all("the" in words for words in model.top_words(3))
    assert not any("the" in words for words in model.top_words(2, by="lift"))
    assert model.top_words(3, by="relevance", weight=1.0) == model.top_words(3)
    assert model.top_words(3, by="relevance", weight=0.0) == model.top_words(3, by="lift")
    word = model.topic(0, 1)[0]
    assert word.word == "the"
    assert word.lift == pytest.approx(1, abs=0.3)
    assert len(model.table(3)) == 2


def test_words_speak_for_the_topics_of_a_document(fitted):
    (told,) = fitted.explain(["goal goal vote law match"])
    assert told.n_words == 5
    assert sum(one.share for one in told.topics) == pytest.approx(1, abs=0.06)
    words = {word.word: one.topic for one in told.topics for word in one.words}
    assert words["goal"] == words["match"]
    assert words["vote"] == words["law"] != words["goal"]
    assert "goal ×2" in str(told)
    assert "no word that the model knows" in str(fitted.explain(["nothing"])[0])


def test_documents_are_sampled_from_the_story(fitted):
    drawn = fitted.sample(300, 20, random_state=0)
    assert [len(document) for document in drawn.documents] == [20] * 300
    again = fitted.sample(300, 20, random_state=0)
    assert again.documents == drawn.documents
    words = [word for document in drawn.documents for word in document]
    share = np.mean([word == "vote" for word in words])
    expected = float(fitted.alpha_ / fitted.alpha_.sum() @ fitted.topic_words_[:, fitted.words_.tolist().index("vote")])
    assert share == pytest.approx(expected, abs=0.03)
    assert {len(document) for document in fitted.sample(2, [3, 5]).documents} == {3, 5}


def test_the_number_of_topics_is_chosen_by_documents_held_out():
    chosen = TopicModel(n_sweeps=40).choose_topics(TEXTS * 3, range(1, 4))
    assert chosen.n_topics == 2
    assert chosen.table["n_topics"] == [1, 2, 3]
    assert chosen.table["perplexity"][0] > chosen.table["perplexity"][1]
    assert "2 topics" in str(chosen)
    counts, _, _ = bars(n_documents=60)
    assert TopicModel(n_sweeps=10).choose_topics(counts, [2]).n_topics == 2


def test_more_documents_are_learned_beside_those_before(fitted):
    model = TopicModel(2, n_sweeps=60).fit(TEXTS)
    before = model.components_.copy()
    model.partial_fit(["goal match ball ball unheard", "vote"])
    gained = model.components_ - before
    assert gained.sum() == pytest.approx(5)  # one word is not known
    sport = int(before[:, model.words_.tolist().index("goal")].argmax())
    assert gained[sport].sum() == pytest.approx(4)
    assert model.n_documents_ == 26
    assert (
        TopicModel(2, n_sweeps=60).partial_fit(TEXTS).top_words() == TopicModel(2, n_sweeps=60).fit(TEXTS).top_words()
    )


def test_the_likelihood_rises_and_is_reported():
    counts, _, _ = bars(n_documents=100)
    told = []
    model = TopicModel(10, n_sweeps=60, progress=lambda *step: told.append(step)).fit(counts)
    assert [step[0] for step in told] == sorted(step[0] for step in told)
    assert told[-1][:2] == (60, 60)
    assert told[-1][2] == model.log_likelihood_ > told[0][2]


def test_an_interrupt_ends_a_fit_and_leaves_the_model_as_it_was(fitted):
    def stop(sweep, of, log_likelihood):
        raise KeyboardInterrupt

    before = fitted.components_.copy()
    fitted.set_params(progress=stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            fitted.partial_fit(TEXTS)
    finally:
        fitted.set_params(progress=None)
    np.testing.assert_array_equal(fitted.components_, before)


def test_a_bar_is_shown_in_a_terminal(monkeypatch, capsys):
    from bayeskit import progress

    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    TopicModel(2, n_sweeps=20, progress=True).fit(TEXTS)
    assert "log likelihood a word -" in capsys.readouterr().err


# -- bad input --------------------------------------------------------------------------------------------------------


def test_more_topics_than_words_work():
    model = TopicModel(40, n_sweeps=5).fit(["sun rain", "rain wind"])
    assert model.topic_words_.shape == (40, 3)
    assert model.transform(["sun"]).shape == (1, 40)
    assert sorted({word for words in model.top_words(10) for word in words}) == ["rain", "sun", "wind"]
    assert min(len(words) for words in model.top_words(10)) == 0  # a topic that no word has


@pytest.mark.parametrize(
    ("X", "what"),
    [
        ([], "no documents"),
        (np.zeros((0, 3)), "no documents"),
        (["", "  "], "none of the 2 documents has a word"),
        (["the and of"], "stop words"),
        (np.zeros((2, 3)), "none of the 2 documents"),
        (np.zeros((2, 0)), "none of the 2 documents"),
        (["sun", None], "document 1 is missing"),
        ("sun and rain", "string object received"),
        ([[1, -2], [0, 1]], "count of word 1 in document 0 is -2"),
        ([[1.0, 0.0], [0.5, 1.0]], "count of word 0 in document 1 is 0.5"),
        ([[1.0, np.nan]], "is nan"),
        ([[1.0, np.inf]], "is inf"),
        ([[2.0**40]], "counts are whole numbers"),
        (np.array([["a", "b"]]), "which column holds the texts"),
        (np.array([[1 + 2j]]), "not a matrix of counts|whole numbers"),
        (7, "not an? int"),
    ],
)
def test_documents_that_cannot_be_learned_are_refused(X, what):
    with pytest.raises(BayesError, match=what):
        TopicModel(2, n_sweeps=2).fit(X)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_topics": 0}, {"n_topics": 2.5}, {"n_topics": 70_000}, {"n_topics": True}, {"n_sweeps": 0}, {"alpha": 0},
        {"alpha": [0.1]}, {"alpha": "off"}, {"alpha": np.nan}, {"alpha": [[1, 2]]}, {"alpha": {}}, {"beta": 0},
        {"beta": "x"}, {"exact": 1}, {"keep_assignments": "yes"}, {"tokenizer": "words"}, {"min_df": 0},
        {"max_df": 1.5}, {"max_features": 0}, {"seed_words": "ball"}, {"seed_words": {5: ["ball"]}},
        {"seed_words": [["nowhere"]]}, {"seed_words": [3]}, {"seed_weight": 0}, {"random_state": "x"},
        {"progress": 3}, {"n_threads": 0}, {"tokenizer": Tokenizer(hash_bits=4)}, {"memory_limit": 10},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(settings):
    model = TopicModel(**{"n_topics": 2, "n_sweeps": 2} | settings)
    with pytest.raises(BayesError):
        model.fit(TEXTS)
    assert not model.__sklearn_is_fitted__()


def test_questions_that_mean_nothing_are_refused(fitted):
    for ask in (
        lambda: fitted.transform(np.zeros((1, 3))),
        lambda: fitted.top_words(0),
        lambda: fitted.top_words(by="chance"),
        lambda: fitted.top_words(by="relevance", weight=2),
        lambda: fitted.topic(2),
        lambda: fitted.perplexity(TEXTS, method="harmonic"),
        lambda: fitted.perplexity([""]),
        lambda: fitted.coherence([""]),
        lambda: fitted.sample(-1),
        lambda: fitted.sample(1, 2.5),
        lambda: fitted.sample(3, [1, 2]),
        lambda: fitted.choose_topics(TEXTS, []),
        lambda: fitted.choose_topics(TEXTS, [0]),
        lambda: fitted.choose_topics(TEXTS[:1], [2]),
        lambda: fitted.choose_topics(TEXTS, [2], held_out=1.0),
        lambda: fitted.name_words(["a"]),
        lambda: TopicModel(2).fit(TEXTS, words=["a"]),
        lambda: TopicModel(2).fit([[1, 2]], words=["a"]),
        lambda: TopicModel(2, n_sweeps=2).fit([[1, 2]]).transform(TEXTS),
        lambda: TopicModel(2, seed_words=[["a"]]).fit([[1, 2]]),
    ):
        with pytest.raises(BayesError):
            ask()
    from sklearn.exceptions import NotFittedError

    for name in ("words_", "alpha_", "topic_words_", "n_tokens_"):
        with pytest.raises(NotFittedError):
            getattr(TopicModel(2), name)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.perplexity(TEXTS, method="left_to_right", n_particles=0),
        lambda model: model.perplexity(TEXTS, n_particles="many"),
        lambda model: model.explain(TEXTS[:1], n_words=-1),
        lambda model: model.explain(TEXTS[:1], least=None),
        lambda model: model.choose_topics(TEXTS, 5),
        lambda model: model.sample(1, 10**12),
    ],
)
def test_arguments_that_mean_nothing_are_refused_by_name(fitted, ask):
    with pytest.raises(BayesError):
        ask(fitted)


def test_a_model_of_other_topics_does_not_go_on(fitted):
    model = TopicModel(2, n_sweeps=2).fit(TEXTS).set_params(n_topics=3)
    with pytest.raises(BayesError, match="n_topics=2"):
        model.partial_fit(TEXTS)


def test_the_public_name_is_there():
    assert bayeskit.TopicModel is TopicModel


def test_exact_sampling_of_many_words_is_one_shard_and_one_document(monkeypatch):
    from bayeskit import kernels
    from bayeskit.topics import sampler

    calls = []
    draw = kernels.sample_topics

    def spy(*arguments):
        calls.append(arguments[10:12])
        return draw(*arguments)

    monkeypatch.setattr(sampler.kernels, "sample_topics", spy)
    counts, _, _ = bars(n_documents=600)
    for exact in (True, False):
        TopicModel(3, n_sweeps=1, exact=exact).fit(counts)
    TopicModel(3, n_sweeps=1).fit(counts[:5])
    assert calls == [(1, True), (2, False), (1, True)]


def test_perplexity_without_any_topic_is_that_of_shares_of_words():
    counts = csr_matrix(np.array([[30, 10], [30, 10]]))
    model = TopicModel(1, n_sweeps=2, beta=1e-3).fit(counts)
    first, second = (np.array([p, 1 - p]) for p in (0.75, 0.75))
    exact = np.exp(-(first * np.log(second)).sum())
    assert model.perplexity(counts, method="left_to_right", n_particles=2) == pytest.approx(exact, rel=1e-3)
    assert model.perplexity(counts) == pytest.approx(exact, rel=0.1)
    assert model.score(counts) == pytest.approx(-np.log(model.perplexity(counts)))


def test_left_to_right_equals_the_sum_over_all_topics():
    from math import lgamma

    counts, _, _ = bars(n_documents=80)
    model = TopicModel(2, n_sweeps=30, alpha=[0.4, 0.9]).fit(counts)
    document = np.zeros((1, 25), int)
    document[0, [0, 6, 12, 13]] = 1, 2, 1, 1
    tokens = np.repeat(np.arange(25), document[0])
    total, a = 0.0, model.alpha_
    for z in product((0, 1), repeat=len(tokens)):
        n = np.bincount(z, minlength=2)
        log_prior = lgamma(a.sum()) - lgamma(a.sum() + len(z)) + sum(lgamma(a[k] + n[k]) - lgamma(a[k]) for k in (0, 1))
        total += np.exp(log_prior) * np.prod(model.topic_words_[list(z), tokens])
    found = model.perplexity(document, method="left_to_right", n_particles=1000)
    assert np.log(found) * -len(tokens) == pytest.approx(np.log(total), abs=0.08)  # two standard errors
