"""Every record of results prints as a title and tables."""

import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example
from bayeskit.evaluate.compare import duel

TENNIS = load_worked_example("tennis")
INSECTS = {"length": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]}
LABELS = ["a"] * 3 + ["b"] * 3


@pytest.mark.parametrize(
    ("record", "lines"),
    [
        (bk.brier_parts([[1.0, 0.0], [0.0, 1.0]], [0, 1]), ["Decomposition of", "resolution (−)     0.5"]),
        (duel("nb", "tan", "accuracy", [0.1, 0.2, -0.1]), ["nb against tan by accuracy: 2 wins, 0 ties, 1 losses"]),
        (bk.mistake_probability(bk.NaiveBayes().fit(INSECTS, LABELS)), ["P(mistake) 0.00134", "from   to  decided"]),
        (bk.mistake_probability(bk.NaiveBayes().fit({"x": list("uvuvvv")}, LABELS)), ["value  decided"]),
        (bk.structure_score([("outlook", "play")], TENNIS), ["Score of a structure on 14 rows", "parameters"]),
        (bk.Costs.of({"ham": {"spam": 10}}, ["ham", "spam"]), ["spam"]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_record_prints_as_a_title_and_tables(record, lines):
    text = str(record)
    assert f"{type(record).__name__}(" not in text
    assert all(any(part in line for line in text.splitlines()) for part in lines), text
