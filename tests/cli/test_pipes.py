"""Pipes are read like ``-``, wherever a file can stand; what cannot be read is told, and nothing hangs."""

import gzip
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.errors import BayesError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


@pytest.fixture(autouse=True)
def no_test_hangs():
    def stop(*_):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def pipe(tmp_path):
    """``pipe(data)``: the name of a pipe into which someone writes the bytes."""
    writers = []

    def made(data, name="pipe"):
        path = tmp_path / name
        os.mkfifo(path)

        def write():
            with suppress(BrokenPipeError):  # whoever reads had enough
                path.write_bytes(data)

        writers.append(threading.Thread(target=write, daemon=True))
        writers[-1].start()
        return path

    yield made
    for writer in writers:
        writer.join(10)
        assert not writer.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl"])
def test_a_pipe_in_any_format_gives_the_model_and_the_scores_of_the_file(bayes, here, pipe, ending):
    import json

    from pyarrow import parquet

    data = (here / "birds.csv").read_bytes()
    if ending == "csv.gz":
        data = gzip.compress(data)
    elif ending == "parquet":
        parquet.write_table(load_penguins(), "birds.parquet")
        data = (here / "birds.parquet").read_bytes()
    elif ending == "jsonl":
        data = "".join(json.dumps(row) + "\n" for row in load_penguins().to_pylist()).encode()
    words = ["-t", "species", "--role", "year=ignore", "--json"]
    whole = bayes("fit", "birds.csv", *words, "-o", "file.bayes").json
    piped = bayes("fit", pipe(data, "data"), *words, "-o", "pipe.bayes").json
    assert piped["leave_one_out"] == whole["leave_one_out"]
    assert bk.load("pipe.bayes").tally_ == bk.load("file.bayes").tally_


def test_models_and_rows_come_through_pipes(bayes, model, here, pipe):
    said = bayes("predict", model, "half.csv").out
    rows, kept = (here / "half.csv").read_bytes(), (here / model).read_bytes()
    assert bayes("predict", model, pipe(rows, "rows")).out == said
    assert bayes("predict", pipe(kept, "model"), "half.csv").out == said
    assert bayes("predict", pipe(kept, "one"), pipe(rows, "two")).out == said
    assert "173 " not in bayes("inspect", pipe(kept, "three")).err
    assert "344 + 172 = 516" in bayes("learn", pipe(kept, "four"), pipe(rows, "five"), "-o", "more.bayes").out
    told = bayes("learn", pipe(kept, "six"), "half.csv", code=1).err
    assert "six is a pipe: a model can be changed only in a file" in told
    assert "stronger" not in bayes("fit", pipe(rows, "seven"), "-t", "species").out
    (here / "six").read_bytes()


def test_standard_input_by_its_name_is_read_as_it_is_by_a_dash(here):
    """In a process of its own, since the name leads to its own input."""
    fork = multiprocessing.get_context("fork")

    def fit(source):
        os.dup2(source, 0)
        assert bk.NaiveBayes().fit_source("/dev/stdin", "play").tally_.n_rows == 14

    rows = (here / "tennis.csv").read_bytes()
    out, into = os.pipe()
    os.write(into, rows)  # which is less than a pipe holds
    os.close(into)
    with (here / "tennis.csv").open("rb") as file:
        for source in (out, file.fileno()):
            process = fork.Process(target=fit, args=(source,))
            process.start()
            process.join(30)
            assert process.exitcode == 0
    os.close(out)


def test_lines_of_a_pipe_are_documents(bayes, here, pipe):
    (here / "mail.csv").write_text("body,kind\ncheap pills,spam\nlunch at noon,ham\n")
    bayes("fit", "mail.csv", "--text", "body", "-t", "kind", "--recipe", "multinomial", "-o", "mail.bayes")
    assert "spam" in bayes("predict", "mail.bayes", pipe(b"cheap cheap pills\n", "lines")).out
    (here / "wide.txt").write_bytes("cheap pills\nlunch at nöon\n".encode("utf-16"))
    said = bayes("predict", "mail.bayes", "wide.txt", "--encoding", "utf-16").out
    assert [line.partition(",")[0] for line in said.splitlines()] == ["predicted", "spam", "ham"]
    told = bayes("predict", "mail.bayes", "wide.txt", "--encoding", "utf-8", code=1).err
    assert "wide.txt, line 1: the text is not utf-8. In utf-16 it would read" in told
    assert (
        "--encoding odd: there is no such encoding"
        in bayes("predict", "mail.bayes", "wide.txt", "--encoding", "odd", code=2).err
    )


MODELS = {
    "loop": "is a link that leads back to itself: correct the link, or name the file itself",
    "dangling": "is a link to nowhere, where nothing is: correct the link, or name the file itself",
    "folder": "is a folder: name a file in it",
    "socket": "is a socket, which cannot be read as a file: name a file or a pipe",
    "/dev/zero": "this is not bayeskit data",
    "/dev/null": "this is not bayeskit data",
    "~nobody-of-that-name/m.bayes": "there is no file",
    "birds.csv/m.bayes": "there is no file",
    "m" * 300: "there is no file",
    "a\0b": "zero character",
}


@pytest.fixture
def odd(here, model):
    """A folder with links, a socket and other things that are not files."""
    (here / "loop").symlink_to("loop")
    (here / "dangling").symlink_to("nowhere")
    (here / "folder").mkdir()
    end = socket.socket(socket.AF_UNIX)
    end.bind("socket")
    yield here
    end.close()


@pytest.mark.slow
def test_what_is_no_model_is_told_in_python_and_by_the_command(bayes, odd):
    for name, said in MODELS.items():
        with pytest.raises(BayesError) as problem:
            bk.load(name)
        assert said in str(problem.value)
        if "\0" not in name and len(name) < 255:
            assert said in bayes("inspect", name, code=1).err
            assert said.partition(":")[0] in bayes("learn", name, "birds.csv", code=1).err or "/dev" in name


@pytest.mark.slow
def test_what_is_no_data_is_told_in_python_and_by_the_command(bayes, model, odd):
    data = {**MODELS, "folder": "has no data files", "/dev/null": "is empty", "/dev/zero": "/dev/zero"}
    for name, said in data.items():
        said = said.replace("there is no file", "there is no file or folder")
        with pytest.raises(BayesError) as problem:
            bk.NaiveBayes().fit_source(name, "species")
        assert said in str(problem.value)
        if "\0" not in name and len(name) < 255:
            assert said in bayes("predict", model, name, code=1).err
            assert said in bayes("fit", name, "-t", "species", "-o", "new.bayes", code=1).err


def test_networks_and_costs_that_cannot_be_read_are_told(bayes, odd, model, pipe):
    (odd / "loop.bif").symlink_to("loop.bif")
    assert "leads back to itself" in bayes("ask", "loop.bif", "P(a = b)", code=1).err
    for name in ("loop", "folder", "socket", "dangling"):
        with pytest.raises(BayesError, match=name):
            bk.read_bif(name)
        with pytest.raises(BayesError, match=name):
            bk.read_costs(name)
    (odd / "bad.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BayesError, match=r"bad\.csv is not a cost file"):
        bk.read_costs("bad.csv")
    costs = b"class,Adelie,Chinstrap,Gentoo\nAdelie,0,1,1\nChinstrap,1,0,1\nGentoo,1,1,0\n"
    assert "decision" in bayes("predict", model, "half.csv", "--costs", pipe(costs, "costs")).out


def test_a_model_through_a_pipe_that_never_ends_is_bounded(pipe, monkeypatch):
    monkeypatch.setattr("bayeskit.storage.files.PIPE_LIMIT", 1 << 20)
    with pytest.raises(BayesError, match="may never end: save it to a file"):
        bk.load(pipe(b"BAYES\0" + bytes(1 << 21)))


@pytest.mark.slow
def test_a_pipe_that_nobody_writes_to_is_waited_for_and_can_be_interrupted(here):
    os.mkfifo("silent")
    for work in ("bk.load('silent')", "bk.NaiveBayes().fit_source('silent', 'y')"):
        code = f"import bayeskit as bk; bk.NaiveBayes; print('ready', flush=True); {work}"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(0.4)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert b"KeyboardInterrupt" in process.communicate(timeout=20)[1]


def test_notes_go_to_standard_error_and_leave_the_results_alone(bayes, here):
    (here / "sky.csv").write_text("sky,wind,play\nsun,weak,yes\nrain,strong,no\nsun,weak,yes\n")
    (here / "new.csv").write_text("sky,wind\nsun,strong\n")
    bayes("fit", "sky.csv", "-t", "play", "--smoothing", "0", "-o", "sky.bayes")
    told = bayes("predict", "sky.bayes", "new.csv")
    assert told.out.splitlines()[0] == "predicted,probability"
    assert len(told.out.splitlines()) == 2
    assert told.err.startswith("bayes: note: 1 row is impossible under every class")
