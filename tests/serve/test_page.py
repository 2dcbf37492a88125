"""The page of the model at ``/`` of the service, in a browser."""

import socket
import threading

import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is in the extra serve")
pytest.importorskip("fastapi", reason="FastAPI is in the extra serve")

from bayeskit.cli.service import create_app  # noqa: E402


@pytest.fixture
def served(tmp_path):
    """The address of a service, and its model."""
    model = bk.NaiveBayes().fit(load_worked_example("tennis"), "play")
    model.save(tmp_path / "tennis.bayes")
    server = uvicorn.Server(uvicorn.Config(create_app([tmp_path / "tennis.bayes"]), log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/", model
        server.should_exit = True
        thread.join(30)


@pytest.mark.slow
def test_the_served_page_follows_clicks_and_asks_nobody_else(chromium, served):
    address, model = served
    page, asked, problems = chromium.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(address, wait_until="networkidle")

    def posterior():
        return [text.split() for text in page.locator("[aria-label=Posterior] .bar").all_inner_texts()]

    def expected(row):
        return [[c, f"{100 * p:.1f}%"] for c, p in zip(model.classes_, model.predict_proba(row)[0], strict=True)]

    row = dict.fromkeys(("outlook", "temperature", "humidity", "wind"))
    assert posterior() == expected(row)
    for column, value in {"outlook": "sunny", "humidity": "high", "wind": "strong"}.items():
        page.get_by_role("radio", name=value, exact=True).check()
        row[column] = value
        assert posterior() == expected(row)
    assert problems == []
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} <= {address, f"{address}favicon.ico"}
