"""Read, change and write of a model file is one step: nothing is lost, nobody is refused, the dead hold nobody up."""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import bayeskit as bk
from bayeskit.cli import main
from bayeskit.errors import BadFile, BayesError, Locked
from bayeskit.storage import files as storage_files

ROUNDS = 200
posix = pytest.mark.skipif(os.name != "posix", reason="there is no fork here")


@pytest.fixture
def model(tmp_path):
    """A file of two rows."""
    path = tmp_path / "m.bayes"
    bk.NaiveBayes().fit({"x": ["a", "b"]}, ["p", "q"]).save(path)
    return path


def row(label="p"):
    return {"x": ["a"]}, [label]


def learn_in_rounds(path, barrier, label):
    for _ in range(ROUNDS):
        barrier.wait(60)
        with bk.updating(path) as model:
            model.partial_fit(*row(label))


def counts(path):
    tally = bk.load(path).tally_
    return dict(zip(tally.classes, tally.class_counts.tolist(), strict=True))


@pytest.mark.slow
@posix
def test_two_hundred_pairs_of_writers_lose_nothing(model):
    (model.parent / "link.bayes").symlink_to(model)  # another name of the same file
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(2)
    paths = (model, model.parent / "link.bayes")
    writers = [
        fork.Process(target=learn_in_rounds, args=(path, barrier, label))
        for path, label in zip(paths, "pq", strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert counts(model) == {"p": 1 + ROUNDS, "q": 1 + ROUNDS}
    assert sorted(file.name for file in model.parent.iterdir()) == ["link.bayes", "m.bayes"]


def test_threads_of_one_process_wait_for_each_other(model):
    def work():
        for _ in range(10):
            with bk.updating(model) as mine:
                mine.partial_fit(*row())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts(model) == {"p": 41, "q": 1}


def command(*words):
    """``bayes`` in a process of its own, which has loaded all it needs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background ignore it
    sys.argv = ["bayes", *map(str, words)]
    main()


@pytest.fixture
def command_is_loaded(monkeypatch, tmp_path):
    """What a command imports is there before it is run in many processes."""
    (tmp_path / "rows.csv").write_text("x,class\na,p\nb,q\n")
    bk.NaiveBayes().fit_source(tmp_path / "rows.csv", "class").save(tmp_path / "one.bayes")
    monkeypatch.setattr(sys, "argv", ["bayes", "learn", *(str(tmp_path / name) for name in ("one.bayes", "rows.csv"))])
    main()
    monkeypatch.setattr(sys, "argv", sys.argv)


@pytest.mark.slow
@posix
def test_ten_pairs_of_commands_lose_nothing_and_none_is_refused(model, command_is_loaded):
    fork = multiprocessing.get_context("fork")
    rows = model.parent / "rows.csv"
    bk.NaiveBayes().fit_source(rows, "class").save(model)
    for i in range(10):
        words = ("merge", model, model.parent / "one.bayes", "-o", model) if i % 3 == 2 else ("learn", model, rows)
        bk.NaiveBayes().fit_source(rows, "class").save(model.parent / "one.bayes")
        pair = [fork.Process(target=command, args=words) for _ in range(2)]
        for one in pair:
            one.start()
        for one in pair:
            one.join(60)
        assert [one.exitcode for one in pair] == [0, 0]
        assert bk.load(model).tally_.n_rows == 2 + 4 * (i + 1)
    pair = [fork.Process(target=command, args=("forget", model, rows)) for _ in range(2)]
    for one in pair:
        one.start()
    for one in pair:
        one.join(60)
    assert [one.exitcode for one in pair] == [0, 0]
    assert bk.load(model).tally_.n_rows == 38


@pytest.fixture
def holder(model):
    """A process that has the lock."""
    fork = multiprocessing.get_context("fork")
    held = fork.Event()

    def hold():
        with bk.updating(model) as mine:
            mine.partial_fit(*row())
            held.set()
            time.sleep(60)

    process = fork.Process(target=hold)
    process.start()
    assert held.wait(30)
    yield process
    process.kill()
    process.join()


@posix
def test_a_writer_killed_while_it_holds_the_lock_does_not_block_the_next(model, holder):
    holder.kill()
    holder.join()
    start = time.monotonic()
    with bk.updating(model, timeout=5) as mine:
        mine.partial_fit(*row())
    assert time.monotonic() - start < 2
    assert counts(model) == {"p": 2, "q": 1}
    assert [file.name for file in model.parent.iterdir()] == ["m.bayes"]


@posix
def test_after_the_timeout_nothing_is_written(model, holder):
    before = model.read_bytes()
    with pytest.raises(Locked, match=r"changed by another process, .*within 0\.2 seconds; nothing was written"):
        bk.updating(model, timeout=0.2).__enter__()
    assert model.read_bytes() == before
    assert bk.load(model).tally_.n_rows == 2  # reading waits for nobody
    other = bk.NaiveBayes().fit({"x": ["a"] * 5 + ["b"]}, ["p"] * 5 + ["q"])
    saving = threading.Thread(target=other.save, args=(model,))
    saving.start()
    time.sleep(0.3)
    assert model.read_bytes() == before  # a model that replaces another one waits, too
    holder.kill()
    saving.join(10)
    assert bk.load(model).tally_.n_rows == 6


def test_an_error_inside_writes_nothing_and_lets_go(model):
    before = model.read_bytes()
    with pytest.raises(BayesError, match="no label"), bk.updating(model) as mine:
        mine.partial_fit(*row()).partial_fit({"x": ["a"]}, [None])
    assert model.read_bytes() == before
    with bk.updating(model, timeout=0) as mine:
        with pytest.raises(BayesError, match="by this thread"), bk.updating(model):
            pass
        mine.save(model)  # inside, no lock is waited for
    assert [file.name for file in model.parent.iterdir()] == ["m.bayes"]


def test_what_is_no_file_is_not_changed(model, tmp_path):
    with pytest.raises(BadFile, match="there is no file"), bk.updating(tmp_path / "no.bayes"):
        pass
    with pytest.raises(BadFile, match="is a folder"), bk.updating(tmp_path):
        pass
    with pytest.raises(BayesError, match="seconds to wait"), bk.updating(model, timeout=-1):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["m.bayes"]


@posix
def test_links_in_the_place_of_the_lock_are_not_followed(model):
    side = model.parent / ".m.bayes.lock"
    precious = model.parent / "precious.txt"
    precious.write_text("mine")
    side.symlink_to(precious)
    with (
        pytest.raises(BayesError, match=r"lock \.m\.bayes\.lock cannot be opened .* remove the lock"),
        bk.updating(model),
    ):
        pass
    side.unlink()
    side.hardlink_to(precious)
    with bk.updating(model):
        pass
    assert precious.read_text() == "mine"


def as_nobody(work, *arguments):
    """What the error says when someone without rights does it, in a process of its own."""
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()

    def child():
        if os.geteuid() == 0:
            os.seteuid(65534)
        try:
            work(*arguments)
            there.send("no error")
        except BayesError as problem:
            there.send(str(problem))

    process = fork.Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == 0
    return here.recv()


@posix
def test_a_folder_that_cannot_be_written_in_is_told():
    def change(path):
        with bk.updating(path) as mine:
            mine.partial_fit(*row())

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = bk.NaiveBayes().fit({"x": ["a", "b"]}, ["p", "q"])
        model.save(folder / "m.bayes")
        folder.chmod(0o555)
        try:
            for told in (as_nobody(change, folder / "m.bayes"), as_nobody(model.save, folder / "m.bayes")):
                assert "cannot be changed: nothing can be written in its folder" in told
                assert "Permission denied" in told
                assert "change a copy" in told
            assert "new.bayes cannot be written: Permission denied" in as_nobody(model.save, folder / "new.bayes")
            (folder / "m.bayes").chmod(0)
            assert "cannot be read: Permission denied. Ask its owner" in as_nobody(bk.load, folder / "m.bayes")
        finally:
            folder.chmod(0o755)


def test_waiting_is_reported_once(model, monkeypatch):
    monkeypatch.setattr(storage_files, "NOTICE_AFTER", 0.05)
    told = []
    held = threading.Event()
    done = threading.Event()

    def hold():
        with storage_files.lock_file(model):
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    threading.Timer(0.3, done.set).start()
    with storage_files.lock_file(model, 10, lambda: told.append(1)):
        pass
    thread.join(10)
    assert told == [1]


@pytest.mark.slow
@posix
def test_an_interrupt_ends_the_waiting(model, holder):
    waits = multiprocessing.get_context("fork").Process(target=command, args=("learn", model, "-"))
    waits.start()
    time.sleep(1)
    os.kill(waits.pid, signal.SIGINT)
    waits.join(10)
    assert waits.exitcode == 130


def test_files_with_the_longest_names_have_locks_too(tmp_path):
    model = bk.NaiveBayes().fit({"x": ["a", "b"]}, ["p", "q"])
    path = tmp_path / ("ü" * 124 + ".bayes")
    model.save(path)
    with bk.updating(path) as mine:
        mine.partial_fit(*row())
    assert bk.load(path).tally_.n_rows == 3
