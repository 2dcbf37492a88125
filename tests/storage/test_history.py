"""The history of model files: events, batches that are refused twice, and hostile histories in a file."""

import pytest

import bayeskit as bk
from bayeskit.errors import BadFile, BayesError
from bayeskit.storage.history import MOST_EVENTS, Event, History

ROWS = {"sky": ["sun", "rain", "rain"]}, ["yes", "no", "no"]
MORE = {"sky": ["sun"]}, ["yes"]


def event(action="learn", source="a.csv", rows=1.0, batch=""):
    return Event(action, "2026-01-05T08:00:00Z", "0.3.0", source, rows, batch)


@pytest.fixture
def path(tmp_path):
    bk.NaiveBayes().fit(*ROWS).save(tmp_path / "sky.bayes")
    return tmp_path / "sky.bayes"


def test_a_saved_model_starts_a_history_and_updating_continues_it(path):
    with bk.updating(path, source="tuesday.csv") as model:
        model.partial_fit(*MORE)
    with bk.updating(path, batch="gone") as model:
        model.forget(*MORE)
    steps = [(e.action, e.source, e.rows, e.batch) for e in bk.read_history(path).events]
    assert steps == [("fit", "", 3.0, ""), ("learn", "tuesday.csv", 1.0, ""), ("forget", "", 1.0, "gone")]
    assert all(e.version == bk.__version__ and e.time.endswith("Z") for e in bk.read_history(path).events)


def test_the_history_is_of_the_file_and_not_of_the_model(path):
    other = path.with_name("other.bayes")
    bk.load(path).save(other)
    assert bk.load(other).tally_ == bk.load(path).tally_
    assert len(bk.read_history(other).events) == 1


def test_a_batch_is_refused_twice_and_the_file_stays(path):
    with bk.updating(path, batch="tuesday") as model:
        model.partial_fit(*MORE)
    before = path.read_bytes()
    with (
        pytest.raises(BayesError, match="batch 'tuesday' has been learned already"),
        bk.updating(path, batch="tuesday") as m,
    ):
        m.partial_fit(*MORE)
    assert path.read_bytes() == before
    with bk.updating(path, batch="tuesday") as model:
        model.forget(*MORE)
    with bk.updating(path, batch="tuesday") as model:  # it was forgotten, so it may be learned again
        model.partial_fit(*MORE)
    assert bk.load(path).tally_.n_rows == 4


def test_the_same_rows_under_another_name_are_refused():
    history = History().add(event(batch="a"), "5c2e")
    with pytest.raises(BayesError, match="batch 'b' has the rows of batch 'a'"):
        history.refuse_twice("learn", "b", "5c2e")
    with pytest.raises(BayesError, match="not the rows that were learned as batch 'a'"):
        history.refuse_twice("forget", "a", "beef")
    history.refuse_twice("learn", "b", "")  # a hash that is not known is equal to none
    history.refuse_twice("forget", "a", "5c2e")


def test_learning_forgotten_rows_again_undoes_the_forgetting():
    history = History().add(event("forget", batch="a"), "5c2e").add(event("learn", batch="b"), "5c2e")
    assert history.forgotten == {}
    history.refuse_twice("forget", "b", "5c2e")


def test_steps_of_one_service_are_added_up_and_the_latest_events_are_kept():
    history = History((event("fit", rows=9.0),))
    for _ in range(3):
        history = history.add(event(source="bayes serve"))
    assert [(e.source, e.rows) for e in history.events] == [("a.csv", 9.0), ("bayes serve", 3.0)]
    for i in range(MOST_EVENTS + 10):
        history = history.add(event(source=f"{i}.csv"))
    assert len(history.events) == MOST_EVENTS
    assert history.events[0].action == "fit"
    assert history.events[-1].source == f"{MOST_EVENTS + 9}.csv"


def test_models_that_learned_the_same_batch_cannot_be_merged():
    ours, theirs = History().add(event(batch="a"), "5c2e"), History().add(event(batch="b"), "5c2e")
    with pytest.raises(BayesError, match="both have learned batch 'b'"):
        ours.merge(theirs)
    assert ours.merge(History().add(event(batch="b"), "beef")).learned == {"a": "5c2e", "b": "beef"}


def test_a_history_is_written_and_read_again():
    history = History().add(event("fit")).add(event(batch='é, "x"'), "5c2e").add(event("forget", batch="z"), "")
    assert History.from_json(history.to_json()) == history


@pytest.mark.parametrize(
    "written",
    [
        None,
        [],
        {},
        {"events": 3},
        {"events": [["fit"]]},
        {"events": [["dance", "", "", "", 1.0, ""]]},
        {"events": [["fit", "", "", "", "1", ""]]},
        {"events": [], "learned": ["no hash"]},
        {"events": [], "learned": [3]},
    ],
)
def test_a_hostile_history_is_refused(written):
    with pytest.raises((BadFile, TypeError)):
        History.from_json(written)


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "x" * 201, "\x1b[2J"])
def test_names_of_batches_are_checked(path, name):
    with pytest.raises(BayesError, match="1 to 200 characters"), bk.updating(path, batch=name) as model:
        model.partial_fit(*MORE)
    assert len(bk.read_history(path).events) == 1
