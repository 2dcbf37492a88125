"""Where documents in their words take too much memory, all are counted and weights are fitted on a drawn part."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.data.text.word_list import WordLimits
from bayeskit.errors import AdviceWarning, BadFile, TooLarge
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.text import documents as text_documents
from bayeskit.models.text.documents import BoundedReader

SUBJECTS = {"law": "judge court vote jury", "sea": "calm wind waves ship", "art": "painter brush color canvas"}
COMMON = [f"common{i}" for i in range(60)]
LIMIT = 600_000  # bytes, of documents that take some two million


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    monkeypatch.setattr(text_documents, "LEAST_SAMPLE", 100)


def documents(n=900, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array(list(SUBJECTS), dtype=object), n)
    words = [rng.choice(SUBJECTS[label].split(), rng.integers(1, 4)) for label in labels]
    return [" ".join([*some, *rng.choice(COMMON, 18), f"n{rng.integers(50)}"]) for some in words], labels


def drawn(recipe="best", limit=LIMIT, **settings):
    model = bk.TextClassifier(recipe, memory_limit=limit, **settings)
    with pytest.warns(AdviceWarning, match=r"all 900 documents are counted, and weights are fitted on \d+ of them"):
        return model.fit(*documents())


def test_all_documents_are_counted_and_weights_are_fitted_on_some():
    model, whole = drawn(ngrams=(1, 1)), bk.TextClassifier("best", ngrams=(1, 1)).fit(*documents())
    assert 200 < model.linear_.n_drawn < 600
    assert whole.linear_.n_drawn is None
    assert model.tally_ == whole.tally_
    assert list(model.words_) == list(whole.words_)
    np.testing.assert_allclose(model.linear_.idf, whole.linear_.idf)
    texts, labels = documents(300, 1)
    assert (model.predict(texts) == labels).mean() > 0.95
    probabilities = model.predict_proba([*texts, "", "never seen"])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.abs(probabilities - whole.predict_proba([*texts, "", "never seen"])).mean() < 0.02


def test_what_is_said_names_the_figure_and_the_limit():
    with pytest.warns(AdviceWarning, match=r"all take 2\.\d+ MB, more than memory_limit=600 kB.*give memory_limit="):
        bk.TextClassifier("best", memory_limit=LIMIT).fit(*documents())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.TextClassifier("best", memory_limit=3e6).fit(*documents())


def test_runs_of_words_are_tried_on_the_documents_drawn():
    texts, labels = documents()
    rng = np.random.default_rng(3)  # only which word follows which tells the classes
    pairs = [("up down", "left right")[label == "law"] if bit else ("down up", "right left")[label == "law"]
             for label, bit in zip(labels, rng.integers(0, 2, len(labels)), strict=True)]  # fmt: skip
    texts = [f"{pair} {pair} {text.split()[-1]}" for pair, text in zip(pairs, texts, strict=True)]
    texts = [t.replace("up down", "up so down") if i % 2 else t for i, t in enumerate(texts)]
    with pytest.warns(AdviceWarning, match="drawn at random"):
        model = bk.TextClassifier("best", memory_limit=LIMIT).fit(texts, labels)
    assert set(model.candidates_["ngrams"]) == {"(1, 1)", "(1, 2)"}


def test_threads_and_parts_do_not_matter(monkeypatch):
    one, three = drawn(n_threads=1), drawn(n_threads=3)
    assert to_bytes(one.set_params(n_threads=None)) == to_bytes(three.set_params(n_threads=None))
    monkeypatch.setattr("bayeskit.models.text.documents.PART_BYTES", 500)
    monkeypatch.setattr(text_documents, "PART_BYTES", 300)
    assert to_bytes(drawn(n_threads=1).set_params(n_threads=None)) == to_bytes(one)


@pytest.mark.parametrize("recipe", ["weighted", "fast", "auto"])
def test_weighted_evidence_draws_too(recipe):
    model = drawn(recipe, ngrams=(1, 1))
    whole = bk.TextClassifier(recipe, ngrams=(1, 1)).fit(*documents())
    assert model.tally_ == whole.tally_
    texts, labels = documents(300, 1)
    assert (model.predict(texts) == labels).mean() > 0.95


@pytest.mark.parametrize("recipe", ["tfidf", "twcnb", "nbsvm"])
def test_recipes_that_need_every_document_refuse(recipe):
    with pytest.raises(
        TooLarge, match=r"900 documents in their words take .* kB, more than memory_limit=600 kB"
    ) as why:
        bk.TextClassifier(recipe, memory_limit=LIMIT).fit(*documents())
    assert 'or recipe="auto"' in str(why.value)


def test_limits_on_words_are_those_of_all_documents():
    limits = {"min_df": 30, "max_df": 0.7, "max_features": 15}
    model, whole = drawn(ngrams=(1, 1), **limits), bk.TextClassifier("best", ngrams=(1, 1), **limits).fit(*documents())
    assert list(model.words_) == list(whole.words_)
    assert model.tally_ == whole.tally_
    assert model.counted_.pruned
    pairs = drawn(ngrams=None, min_df=30)
    assert pairs.counted_.totals("documents").min() >= 30


@pytest.mark.parametrize(
    ("limit", "settings"),
    [(6e5, {"hash_bits": 6}), (1.5e6, {"characters": (3, 4)}), (1e6, {"pattern": "char", "ngrams": (1, 2)})],
)
def test_buckets_and_runs_of_characters_are_drawn_too(limit, settings):
    model, whole = drawn(limit=limit, **settings), bk.TextClassifier("best", **settings).fit(*documents())
    texts, labels = documents(300, 1)
    assert (model.predict(texts) == labels).mean() > (whole.predict(texts) == labels).mean() - 0.1
    again = from_bytes(to_bytes(model))
    assert np.array_equal(again.predict_proba(texts), model.predict_proba(texts))


def test_weights_of_documents_count(monkeypatch):
    texts, labels = documents()
    weights = np.resize([0.0, 1.0, 2.5], len(texts))
    with pytest.warns(AdviceWarning, match="all 600 documents are counted"):
        model = bk.TextClassifier("best", memory_limit=LIMIT).fit(texts, labels, weights)
    assert model.tally_.n_rows == pytest.approx(weights.sum())


def test_a_file_keeps_how_many_were_drawn():
    model = drawn()
    again = from_bytes(to_bytes(model))
    assert again.linear_.n_drawn == model.linear_.n_drawn
    state = model._state_to_save()
    for number in ("many", -1, True, 2.5):
        state.header["drawn"] = number
        with pytest.raises(BadFile, match="is not a number of documents"):
            model.recipe_.from_state(state, model.tally_)


def test_what_does_not_fit_even_so_is_refused_before_it_is_taken():
    with pytest.raises(
        TooLarge, match=r"words of 3 classes and 100 documents take .*kB to fit, more than memory_limit"
    ):
        bk.TextClassifier("best", memory_limit=200_000).fit(*documents())
    model = bk.TextClassifier("best").fit(*documents())
    before = to_bytes(model)
    with pytest.raises(TooLarge):
        model.set_params(memory_limit=200_000).fit(*documents())
    assert to_bytes(model.set_params(memory_limit=4e9)) == before


def test_texts_over_the_limit_are_refused_while_they_are_read(tmp_path):
    texts, labels = documents()
    folder = tmp_path / "corpus"
    for label in SUBJECTS:
        (folder / label).mkdir(parents=True)
    for i, (text, label) in enumerate(zip(texts[:60], labels, strict=False)):
        (folder / label / f"{i}.txt").write_text(text)
    with pytest.raises(TooLarge, match=r"the texts take more than memory_limit=1 kB.*multinomial"):
        bk.TextClassifier("best", memory_limit=1000).fit_source(folder)
    bk.TextClassifier("multinomial", memory_limit=1e6).fit_source(folder)


def test_cells_are_known_before_they_are_held():
    read = text_documents.read_documents(text_documents.documents_source(*documents(50)))
    from bayeskit.data.text.tokenizer import Tokenizer
    from bayeskit.data.text.tokens import count_documents

    words, pairs = Tokenizer("words_and_punctuation"), Tokenizer("words_and_punctuation", (1, 2))
    rich = Tokenizer("words_and_punctuation", (1, 2), characters=(3, 5))
    for tries in ([words], [words, pairs], [words, pairs, rich], [rich]):
        reader = BoundedReader(read, tries, WordLimits(), None, 1)
        sizes = reader.measure(tries)
        cells = np.diff(count_documents(read.texts, tries[-1]).indptr)
        assert (sizes.cells >= cells).all()
        assert sizes.cells.sum() < 2.5 * cells.sum()  # runs that words share stand there twice
        taken = float(reader.document_bytes(sizes.cells.sum(), 50))
        assert not replace(reader, memory_limit=taken).surely_fits(tries[-1])


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 60e6])
def test_a_fit_takes_no_more_than_is_said(limit):
    """In a process of its own, by what the system counts, less the parts of fixed size."""
    import subprocess
    import sys

    script = """
import sys, warnings; import numpy as np; import pyarrow as pa; import bayeskit as bk
from bayeskit.data.text.word_list import WordLimits
from bayeskit.models.text.documents import BoundedReader
from bayeskit.models.text.documents import read_documents, documents_source
from bayeskit.data.text.tokenizer import Tokenizer
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
words = np.array([f"w{i}" for i in range(30000)], dtype=object)
texts = pa.array([" ".join(words[(30000 * rng.random(60) ** 3).astype(int)]) for _ in range(30000)])
labels = rng.integers(0, 3, 30000)
def peak(): return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")) * 1024
bk.TextClassifier("best", n_threads=1).fit(texts[:600], labels[:600])
tries = [Tokenizer("words_and_punctuation"), Tokenizer("words_and_punctuation", (1, 2))]
limit = float(sys.argv[1])
reader = BoundedReader(read_documents(documents_source(texts, labels)), tries, WordLimits(), None, 1)
allowed = limit or reader.bytes_needed(reader.measure(tries))
del reader
before = peak()
model = bk.TextClassifier("best", n_threads=1, memory_limit=limit or 4e9).fit(texts, labels)
print(model.linear_.n_drawn, (peak() - before) / 1e6, allowed / 1e6)
assert peak() - before < allowed + 60e6
assert (model.linear_.n_drawn is None) == (limit == 0)
"""
    done = subprocess.run([sys.executable, "-c", script, str(limit or 0)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
