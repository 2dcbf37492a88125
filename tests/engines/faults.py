"""Tasks that meet a fault while they count a part: in a file of their own, so that a worker can import them."""

import os
import signal
import time
from pathlib import Path


class Trouble:
    """A task that does something at a part's first trials, of which a file in a folder tells."""

    def __init__(self, task, folder, part, what):
        self.task, self.folder, self.part, self.what = task, str(folder), part, what

    def count(self, number, part):
        if number == self.part:
            tried = f"{self.folder}/{number}-{time.time_ns()}"
            before = len(list(Path(self.folder).iterdir()))
            Path(tried).touch()
            if self.what == "killed" and before < 1:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.what == "always killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.what == "executor killed" and before < 1:
                os.kill(executor_of(os.getpid()), signal.SIGKILL)
                time.sleep(60)  # until Spark ends this worker, too
            if self.what == "failed" and before < 2:
                raise OSError("the disk is gone for a moment")
            if self.what == "slow":
                time.sleep(0.5)
        return self.task.count(number, part)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.task, name)


def with_trouble(count, folder, what):
    """Return the counting method of an engine with a task that meets a fault at the second part."""
    return lambda engine, task, rows: count(engine, Trouble(task, folder, 1, what), rows)


def executor_of(pid):
    """The JVM of the executor that a Python worker serves, which is among those that started it."""
    while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid
