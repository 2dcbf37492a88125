"""One table of sequences, one answer; and documents for topics: in every form, by every method that takes them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv

import bayeskit as bk

TOWNS, DAYS = 6, 5
RNG = np.random.default_rng(3)
COLUMNS = {
    "town": [f"town {i}" for i in range(TOWNS) for _ in range(DAYS)],
    "day": [DAYS - j for _ in range(TOWNS) for j in range(DAYS)],  # backwards: `order` puts them right
    "umbrella": RNG.choice(["yes", "no"], TOWNS * DAYS).tolist(),
    "sky": RNG.choice(["dry", "rain"], TOWNS * DAYS).tolist(),
    "coast": [("east", "west")[i % 2] for i in range(TOWNS) for _ in range(DAYS)],
}
ROWS = {"sequence": "town", "order": "day"}
DOCUMENTS = [" ".join(RNG.choice(["wine", "water", "stone", "grass", "the"], 6)) for _ in range(30)]


def frames(columns, folder):
    """Name of the form → the table."""
    table = pa.table(columns)
    path, parquet = folder / f"days{len(columns)}.csv", folder / f"days{len(columns)}.parquet"
    csv.write_csv(table, path)
    pl.DataFrame(columns).write_parquet(parquet)
    return {
        "dict of columns": columns,
        "records": table.to_pylist(),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "arrow": table,
        "path of CSV": str(path),
        "path of Parquet": parquet,
        "source": bk.open_source(path),
        "sequences": bk.Sequences.of(columns, **ROWS),
    }


def plain(value):
    """What was said, flat."""
    if isinstance(value, (list, tuple)):
        return [cell for part in value for cell in plain(part)]
    return np.asarray(value).ravel().tolist()


def agree(ways, shapes):
    for name, way in ways.items():
        expected = plain(way(next(iter(shapes.values()))))
        assert expected, name
        for form, X in shapes.items():
            said = plain(way(X))
            if isinstance(expected[0], float):
                np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-12, err_msg=f"{name}, {form}")
            else:
                assert said == expected, f"{name}, {form}"


def chosen(*names):
    return {name: COLUMNS[name] for name in ("town", "day", *names)}


def test_hidden_states_are_the_same_in_every_form(tmp_path):
    shapes = frames(chosen("umbrella", "sky"), tmp_path)
    settings = {"random_state": 0, "n_starts": 1, **ROWS}
    by_sky = bk.HiddenMarkovModel(**settings).fit(chosen("umbrella", "sky"), "sky")
    seen = frames(chosen("umbrella"), tmp_path)
    agree(
        {
            "fit": lambda X: bk.HiddenMarkovModel(**settings).fit(X, "sky").predict_proba(seen["dict of columns"]),
            "partial_fit": lambda X: bk.HiddenMarkovModel(**settings).partial_fit(X, "sky").transitions_,
            "forget": lambda X: by_sky.merge(by_sky).forget(X, "sky").transitions_,
        },
        {form: X for form, X in shapes.items() if form != "sequences"},
    )
    agree(
        {
            "fit, hidden": lambda X: bk.HiddenMarkovModel(2, **settings).fit(X).transitions_,
            "predict": by_sky.predict,
            "predict_proba": by_sky.predict_proba,
            "filter": by_sky.filter,
            "log_likelihood": by_sky.log_likelihood,
            "predict_next": by_sky.predict_next,
            "time_in_states": by_sky.time_in_states,
            "sample_paths": lambda X: by_sky.sample_paths(X, 2, random_state=1),
        },
        seen,
    )


def test_chains_and_classes_of_sequences_are_the_same_in_every_form(tmp_path):
    symbols, labeled = frames(chosen("umbrella"), tmp_path), frames(chosen("umbrella", "coast"), tmp_path)
    chain = bk.MarkovChain()
    of_coasts = bk.SequenceClassifier(**ROWS).fit(chosen("umbrella", "coast"), "coast")
    hidden = bk.SequenceClassifier(bk.HiddenMarkovModel(2, random_state=0, n_starts=1), **ROWS)

    def sequences(X):
        return X if isinstance(X, bk.Sequences) else bk.Sequences.of(X, **ROWS)

    agree(
        {
            "chain": lambda X: chain.fit(sequences(X)).log_likelihood(sequences(X)),
            "next": lambda X: chain.predict_next(sequences(X)),
            "predict": of_coasts.predict,
            "predict_proba": of_coasts.predict_proba,
            "score_samples": of_coasts.score_samples,
        },
        symbols,
    )
    agree(
        {
            "fit": lambda X: bk.SequenceClassifier(**ROWS).fit(X, "coast").predict_proba(symbols["arrow"]),
            "fit, hidden": lambda X: hidden.fit(X, "coast").predict_proba(symbols["arrow"]),
            "score": lambda X: of_coasts.score(X, "coast"),
            "leave_one_out": lambda X: of_coasts.leave_one_out(X, "coast").log_loss,
            "forget": lambda X: of_coasts.merge(of_coasts).forget(X, "coast").predict_proba(symbols["arrow"]),
        },
        labeled,
    )


def test_lists_of_steps_are_the_same_in_every_form():
    steps = [list("abba"), list("bab"), list("aab"), list("b")]
    cells, lengths = np.array([[c] for s in steps for c in s]), [len(s) for s in steps]
    shapes = {
        "lists": steps,
        "tuples": tuple(map(tuple, steps)),
        "arrays": [np.array(s) for s in steps],
        "arrow": pa.array(steps),
        "chunks": pa.chunked_array([steps[:1], steps[1:]]),
        "pandas": pd.Series(steps),
        "polars": pl.Series(steps),
        "with lengths": bk.Sequences.of(cells, lengths),
    }
    model = bk.HiddenMarkovModel(2, random_state=0, n_starts=1).fit(steps)
    agree(
        {
            "fit": lambda X: bk.HiddenMarkovModel(2, random_state=0, n_starts=1).fit(X).transitions_,
            "predict_proba": model.predict_proba,
            "chain": lambda X: bk.MarkovChain().fit(X).log_likelihood(steps),
            "classes": lambda X: bk.SequenceClassifier().fit(X, list("uvuv")).predict_proba(steps),
        },
        shapes,
    )


def test_topics_of_documents_are_the_same_in_every_form():
    """As a TokenCounter takes them; what has two axes holds counts."""
    shapes = {
        "list": DOCUMENTS,
        "tuple": tuple(DOCUMENTS),
        "numpy": np.array(DOCUMENTS),
        "objects": np.array(DOCUMENTS, dtype=object),
        "pandas": pd.Series(DOCUMENTS),
        "polars": pl.Series(DOCUMENTS),
        "arrow": pa.array(DOCUMENTS),
        "chunks": pa.chunked_array([DOCUMENTS[:9], DOCUMENTS[9:]]),
    }
    model = bk.TopicModel(2, n_sweeps=5, random_state=0).fit(DOCUMENTS)
    agree(
        {
            "fit": lambda X: bk.TopicModel(2, n_sweeps=5, random_state=0).fit(X).transform(DOCUMENTS),
            "transform": model.transform,
            "perplexity": model.perplexity,
            "coherence": model.coherence,
        },
        shapes,
    )
