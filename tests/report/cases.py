"""Random models with Python's answers as JSON, which ``npm test`` compares with those of the page.

Run as ``python -m tests.report.cases FILE``; ``make page`` does.
"""

import json
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

import bayeskit as bk
from tests.network.conftest import random_network
from tests.report import test_networks, test_pages, test_sequences
from tests.report.test_pages import coded, payload_of

CASES = 40


def plain(values):
    """Return numbers as lists, None for infinite ones."""
    return [[None if np.isinf(x) else x for x in row] for row in np.asarray(values).tolist()]


def classifiers():
    """Yield each kind of classifier of columns, with random rows and their log probabilities."""
    for name, model in test_pages.MODELS.items():
        model.fit(*test_pages.columns())
        table, _ = test_pages.columns(CASES, seed=1)
        payload = payload_of(model.page())
        rows = [coded(payload, table, i) for i in range(CASES)]
        yield {"name": name, "form": payload["form"], "rows": rows, "logs": plain(model.predict_log_proba(table))}


def documents():
    """Yield each kind of text classifier, with random documents and their log probabilities."""
    for name, settings in test_pages.TEXTS.items():
        model = bk.TextClassifier(**settings).fit(*test_pages.texts(120, 0))
        given, _ = test_pages.texts(CASES, 1)
        rows = [{"text": text or None} for text in given]
        logs = plain(model.predict_log_proba(given))
        yield {"name": name, "form": payload_of(model.page())["form"], "rows": rows, "logs": logs}


def networks():
    """Yield random networks, with random findings and their posteriors, None where they contradict each other."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        network, answers = random_network(seed, 3 + seed), []
        given, findings = zip(*(test_networks.random_findings(network, rng) for _ in range(8)), strict=True)
        for found in given:
            try:
                answers.append([list(states.values()) for states in network.posterior(found).values()])
            except bk.BayesError:
                answers.append(None)
        yield {**payload_of(network.page()), "findings": findings, "posteriors": answers}


def sequences():
    """Yield each kind of hidden Markov model, with random sequences and their posteriors."""
    for name, (columns, settings) in test_sequences.MODELS.items():
        rows, lengths, states = test_sequences.table(300, 0, columns)
        labels = None if "n_states" in settings else states
        model = bk.HiddenMarkovModel(undecidable="nan", **settings).fit(rows, labels, lengths)
        rows, lengths, _ = test_sequences.table(CASES, 1, columns)
        payload, starts = payload_of(model.page()), np.cumsum([0, *lengths])
        steps = [coded(payload, rows, i) for i in range(starts[-1])]
        logs = model.log_likelihood(rows, lengths).tolist()
        yield {
            "name": name, "model": payload, "steps": [steps[a:b] for a, b in pairwise(starts)],
            "logs": [None if np.isinf(x) else x for x in logs],
            "posteriors": [
                part.tolist() if np.isfinite(x) else None
                for part, x in zip(model.predict_proba(rows, lengths), logs, strict=True)
            ],
        }  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore", bk.UndecidableWarning)
    cases = {"rows": [*classifiers(), *documents()], "networks": [*networks()], "sequences": [*sequences()]}
    Path(sys.argv[1]).write_text(json.dumps(cases, allow_nan=False), encoding="utf-8")
