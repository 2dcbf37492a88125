"""A kill at any point leaves the old or the new file, whole: tried by killing."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import bayeskit as bk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no way to kill here"),
]

WORKER = """
import sys, bayeskit as bk
from bayeskit.storage.model_file import write_file
one, two = (open(p, "rb").read() for p in sys.argv[2:])
print("ready", flush=True)
while True:
    write_file(sys.argv[1], two)
    write_file(sys.argv[1], one)
"""


@pytest.fixture
def files(tmp_path):
    """A model of some size, and the rows that it is to learn."""
    rng = np.random.default_rng(0)
    names = [f"value {i:05}" for i in range(20_000)]
    rows = {"a": names * 2, "b": [names[i] for i in rng.integers(0, 20_000, 40_000)]}
    labels = [f"class {i}" for i in rng.integers(0, 9, 40_000)]
    model = bk.NaiveBayes(roles="categorical").fit({**rows, "y": labels}, "y")
    model.save(tmp_path / "m.bayes")
    lines = "".join(f"new {i},{names[i]},class {i % 9}\n" for i in range(3_000))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + lines)
    return tmp_path


def test_a_writer_killed_at_random_leaves_a_whole_file(files):
    target, one, two = files / "m.bayes", files / "one.bayes", files / "two.bayes"
    one.write_bytes(target.read_bytes())
    model = bk.load(target).learn_source(files / "rows.csv")
    model.save(two)
    whole = {one.read_bytes(), two.read_bytes()}
    draw, seen = random.Random(1), set()
    for _ in range(4):
        command = [sys.executable, "-c", WORKER, str(target), str(one), str(two)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        for _ in range(12):  # looked at while it is being written
            time.sleep(draw.random() * 0.02)
            assert target.read_bytes() in whole
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        found = target.read_bytes()
        assert found in whole
        seen.add(found)
        assert bk.load(target).tally_.n_rows in (40_000, 43_000)


def test_learn_killed_at_random_leaves_the_old_or_the_new_model(files):
    target = files / "m.bayes"
    before = target.read_bytes()
    command = [sys.executable, "-m", "bayeskit.cli", "learn", str(target), str(files / "rows.csv")]
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    took = time.monotonic() - start
    both = [bk.load(target).tally_]
    assert both[0].n_rows == 43_000
    target.write_bytes(before)
    both.append(bk.load(target).tally_)
    draw = random.Random(2)
    for i in range(5):
        target.write_bytes(before)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * (0.6 + 0.4 * draw.random() if i % 2 else draw.random()))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert bk.load(target).tally_ in both
