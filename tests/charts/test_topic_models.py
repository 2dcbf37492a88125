"""Topics of a model, of a document and their number are drawn from their records."""

import pytest

import bayeskit as bk
from tests.charts.drawn import check, head_of, rows_of

pytestmark = pytest.mark.slow
TEXTS = ["rain wind rain sun cloud", "ball team goal ball match", "rain sun wind", "team goal match ball"] * 6


def test_topics_draw_the_words_and_shares_that_their_records_hold(tmp_path):
    model = bk.TopicModel(2, 30, min_df=1, max_df=1.0, random_state=0).fit(TEXTS)
    table = model.table(4)
    drawn = rows_of(check(table.chart(), tmp_path))
    assert [row["word"] for row in drawn if row["class"] == 0] == [one.word for one in table.words[0]]
    shares = {row["name"]: row["number"] for row in rows_of(check(table.chart("shares"), tmp_path))}
    assert shares == pytest.approx(dict(zip((f"topic {k}" for k in table.topics), table.shares, strict=True)), rel=1e-4)
    with pytest.raises(bk.BayesError, match="'words' or their 'shares'"):
        table.chart("map")
    record = model.explain(["rain and wind"])[0]
    assert "2 known words" in head_of(check(record.chart(), tmp_path))
    choice = model.choose_topics(TEXTS, [1, 2, 3])
    assert f"best: {choice.n_topics}" in head_of(check(choice.chart(), tmp_path))
