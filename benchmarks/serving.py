"""One-row requests to ``bayes serve`` beside the same app around scikit-learn's GaussianNB, and batches as Arrow.

Twenty columns of numbers, one process each, keep-alive on loopback, the two services by turns, request by request.

    OMP_NUM_THREADS=1 python benchmarks/serving.py
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn import naive_bayes

import bayeskit as bk
from bayeskit.cli import service_requests as requests
from bayeskit.cli.service_requests import ARROW, JSON, Limits

COLUMNS = [f"x{i}" for i in range(20)]
ROUNDS, REQUESTS, BATCHES, ROWS = 5, 400, 30, 1_000
PEER = """
import sys, joblib, numpy as np, uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
model, app = joblib.load(sys.argv[1]), FastAPI()
@app.post("/predict")
async def predict(request: Request):
    rows = (await request.json())["rows"]
    p = model.predict_proba(np.array([[row[name] for name in model.names] for row in rows]))
    best = p.argmax(axis=1)
    return JSONResponse({"classes": model.classes_.tolist(), "rows": [
        {"predicted": model.classes_[b].item(), "probability": q[b], "all": q} for b, q in zip(best, p.tolist())]})
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
"""


def post(connection: http.client.HTTPConnection, body: bytes, kind: str) -> float:
    """Send one request; return its seconds."""
    start = time.perf_counter()
    connection.request("POST", "/predict", body, {"Content-Type": kind, "Accept": kind})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    return time.perf_counter() - start


def ready(port: int) -> http.client.HTTPConnection:
    """Return a connection to a service, once it answers."""
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/openapi.json")
            connection.getresponse().read()
            return connection
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"no service answers on port {port}")


def main() -> None:
    """Print p50 and p99 of both services, our share of a request, and the rows a second of batches."""
    import joblib

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5_000)
    X = rng.normal(size=(5_000, 20)) + y[:, None] * 0.3
    ours = bk.NaiveBayes(numeric="gaussian").fit(pa.table(dict(zip(COLUMNS, X.T, strict=True))), y)
    theirs = naive_bayes.GaussianNB().fit(X, y)
    theirs.names = COLUMNS
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in X[:REQUESTS].tolist()]
    bodies = [json.dumps({"rows": [row]}).encode() for row in rows]
    out = pa.BufferOutputStream()
    table = pa.table(dict(zip(COLUMNS, X[:ROWS].T, strict=True)))
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    with tempfile.TemporaryDirectory() as folder:
        ours.save(f"{folder}/ours.bayes")
        joblib.dump(theirs, f"{folder}/theirs.joblib")
        Path(folder, "peer.py").write_text(PEER)
        services = [
            [sys.executable, "-m", "bayeskit.cli", "serve", f"{folder}/ours.bayes", "--port", "8461"],
            [sys.executable, f"{folder}/peer.py", f"{folder}/theirs.joblib", "8462"],
        ]
        running = [subprocess.Popen(words, stderr=subprocess.DEVNULL) for words in services]
        try:
            connections = [ready(8461), ready(8462)]
            seconds: list[list[float]] = [[], []]
            for body in bodies * ROUNDS:
                for taken, connection in zip(seconds, connections, strict=True):
                    taken.append(post(connection, body, JSON))
            for name, taken in zip(("bayes serve", "GaussianNB"), seconds, strict=True):
                p50, p99 = np.percentile(taken, [50, 99]) * 1e6
                print(f"{name:12} one row: p50 {p50:,.0f} µs, p99 {p99:,.0f} µs")
            batch = out.getvalue().to_pybytes()
            fastest = min(post(connections[0], batch, ARROW) for _ in range(BATCHES))
            print(f"bayes serve  batches of {ROWS:,} rows as Arrow: {ROWS / fastest:,.0f} rows a second")
        finally:
            for process in running:
                process.terminate()
                process.wait()
    shares = []
    for body in bodies:
        start = time.perf_counter()
        read = requests.read_rows(body, JSON, ours, Limits())
        json.dumps(requests.as_json(ours, *requests.predictions(ours, read))).encode()
        shares.append(time.perf_counter() - start)
    print(f"our share of one row (parse, score, format): p50 {np.median(shares) * 1e6:,.0f} µs")


if __name__ == "__main__":
    main()
