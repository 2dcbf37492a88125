"""Evidence in a query is that of explain."""

import numpy as np
import pytest

from tests.export.test_scores import MODELS, scored, table_of, unanswered

pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install '.[sql]'")


@pytest.mark.parametrize("kind", ["naive", "missing is a value", "tan"])
def test_the_database_explains_as_the_model_does(database, kind):
    if database.dialect == "spark" and kind != "naive":
        pytest.skip("one model in Spark, whose queries take seconds")
    rows, labels = table_of()
    model = MODELS[kind]().fit(rows, labels)
    asked = rows.slice(0, 30)
    _, _, record = scored(database, model, asked, evidence=True)
    found = sorted(database.rows(record.query))
    start = 2 + len(model.classes_)
    for row, explanation, gap in zip(found, model.explain(asked), unanswered(model, asked), strict=True):
        if gap:
            assert set(row[1:]) == {None}
            continue
        assert row[start] == explanation.against
        parts = {part.column: part.log_odds for part in explanation.contributions}
        told = dict(zip(record.evidence, row[start + 1 :], strict=True))
        assert told == pytest.approx({name: parts[name] for name in told}, abs=1e-9)
        base = explanation.log_odds - sum(parts.values())
        assert np.isclose(base + sum(told.values()), explanation.log_odds)
