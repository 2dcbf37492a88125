"""A service that is killed at random moments loses no acknowledged row and applies none twice."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import bayeskit as bk

httpx = pytest.importorskip("httpx", reason="httpx is in the dependency group dev")
pytest.importorskip("uvicorn", reason="uvicorn is in the extra serve")

KILLS = int(os.environ.get("BAYESKIT_KILLS", "25"))  # make soak-serve: 1,000
TOKEN = "a token of some length"


def learn_while_killed(port, client_number, stop, acknowledged, sent):
    """Send batches of 1 to 3 rows, each until it is acknowledged, until ``stop`` is set."""
    n = 0
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=5) as client:
        while not stop.is_set():
            key, n = f"{client_number}-{n}", n + 1
            rows = [{"who": key, "class": "yes"}] * (n % 3 + 1)
            sent[key] = len(rows)
            headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": key}
            while True:
                try:
                    answer = client.post("/learn", json={"rows": rows}, headers=headers)
                except httpx.TransportError:
                    continue
                if answer.status_code == 200:
                    acknowledged[key] = answer.json()
                    break
                assert answer.status_code == 503, answer.text


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_no_acknowledged_row_is_lost_and_none_is_applied_twice(tmp_path):
    path = tmp_path / "who.bayes"
    bk.NaiveBayes().fit({"who": ["nobody", "anybody"]}, ["no", "yes"]).save(path)
    script = Path(__file__).with_name("killed_service.py")
    command = [sys.executable, str(script), str(path), TOKEN, str(KILLS), "20260101"]
    acknowledged, sent, stop = {}, {}, threading.Event()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        port = int(service.stdout.readline())
        threads = [
            threading.Thread(target=learn_while_killed, args=(port, i, stop, acknowledged, sent)) for i in range(3)
        ]
        for thread in threads:
            thread.start()
        assert service.stdout.readline() == "done\n"
        stop.set()
        for thread in threads:
            thread.join()
        service.stdin.close()
        assert service.wait(30) == 0
    assert acknowledged.keys() == sent.keys()
    assert len(sent) > KILLS / 5  # the service did learn between the kills
    counts = dict(zip(*(bk.load(path).table("who")[name] for name in ("who", "count | yes")), strict=True))
    assert {key: counts.get(key) for key in sent} == sent
    history = bk.read_history(path)
    assert history.learned.keys() >= sent.keys()
    assert sum(event.rows for event in history.events) == 2 + sum(sent.values())
