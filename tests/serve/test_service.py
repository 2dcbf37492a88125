"""The service: answers equal to those of the model, bad requests, learning that is applied once."""

import asyncio
import json
import os
import socket
import threading
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.cli import main
from bayeskit.datasets import load_penguins
from bayeskit.storage.files import lock_file

httpx = pytest.importorskip("httpx", reason="httpx is in the dependency group dev")
pytest.importorskip("fastapi", reason="FastAPI is in the extra serve")

from bayeskit.cli.service import create_app  # noqa: E402
from bayeskit.cli.service_requests import ARROW, Limits  # noqa: E402

TOKEN = "a token of some length"
ROW = {"island": "Dream", "sex": "male", "body_mass_g": 4000}
LABELED = {**ROW, "species": "Adelie"}
BIRDS = load_penguins().drop_columns(["year"])
pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


class Client:
    """A synchronous client of a service in this process."""

    def __init__(self, app):
        self.app = app

    def request(self, method, path, **settings):
        async def ask():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app=self.app), base_url="http://test") as client:
                return await client.request(method, path, **settings)

        return asyncio.run(ask())

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, rows, key=None, token=TOKEN, **settings):
        headers = {} if key is None else {"Idempotency-Key": key}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        return self.request("POST", path, json={"rows": rows}, headers=headers, **settings)

    def raw(self, path, body, kind="application/json"):
        return self.request("POST", path, content=body, headers={"Content-Type": kind})


@pytest.fixture
def path(tmp_path):
    bk.NaiveBayes().fit(BIRDS, "species").save(tmp_path / "birds.bayes")
    return tmp_path / "birds.bayes"


@pytest.fixture
def client(path):
    return Client(create_app([path], TOKEN))


def stream(table):
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue().to_pybytes()


# -- answers -------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model(client, path):
    model, rows = bk.load(path), [ROW, {"sex": None}, {"body_mass_g": 5500.5}]
    wanted = [model.predict_proba(row)[0].tolist() for row in rows]
    for asked in ([rows[0]], rows):
        answer = client.post("/predict", asked).json()
        assert answer["classes"] == model.classes_.tolist()
        for got, all_of_it in zip(answer["rows"], wanted, strict=False):
            assert got["all"] == pytest.approx(all_of_it, abs=1e-15)
            assert got["predicted"] == answer["classes"][int(np.argmax(all_of_it))]
            assert got["probability"] == max(got["all"])


def test_rows_without_a_column_are_all_missing(client, path):
    (prior,) = bk.load(path).predict_proba({"sex": None})
    for rows in ([{}], [{}, {}]):
        answer = client.post("/predict", rows).json()
        assert [row["all"] for row in answer["rows"]] == [pytest.approx(prior)] * len(rows)
        assert client.post("/explain", rows).status_code == 200


def test_arrow_rows_get_an_arrow_answer(client, path):
    birds = BIRDS.drop_columns(["species"])
    headers = {"Content-Type": ARROW, "Accept": ARROW}
    answer = client.request("POST", "/predict", content=stream(birds), headers=headers)
    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.column_names == ["predicted", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
    proba = np.column_stack([table[name].to_numpy() for name in table.column_names[1:]])
    np.testing.assert_array_equal(proba, bk.load(path).predict_proba(birds))


def test_evidence_sums_to_the_log_odds(client):
    (row,) = client.post("/explain", [ROW]).json()["rows"]
    assert row["base"] + sum(part["log_odds"] for part in row["evidence"]) == pytest.approx(row["log_odds"])


def test_documents_are_strings(tmp_path):
    texts = ["cheap pills now", "meeting at noon", "cheap watches", "lunch at noon"]
    bk.TextClassifier("multinomial").fit(texts, ["spam", "ham", "spam", "ham"]).save(tmp_path / "mail.bayes")
    client = Client(create_app([tmp_path / "mail.bayes"], TOKEN))
    assert client.post("/predict", ["cheap pills", "noon"]).json()["rows"][0]["predicted"] == "spam"
    assert client.post("/explain", ["cheap pills"]).json()["rows"][0]["evidence"][0]["word"] in ("cheap", "pills")
    learned = client.post("/learn", [{"text": "pills", "class": "spam"}], key="1").json()
    assert (learned["applied"], learned["total"]) == (True, 5)
    assert client.post("/predict", [{"text": "no string"}]).status_code == 422


def test_a_network_answers_queries(tmp_path):
    network = bk.BayesianNetwork([("rain", "wet")], {"rain": 0.2, "wet": {True: 0.9, False: 0.1}})
    network.save(tmp_path / "rain.bayes")
    client = Client(create_app([tmp_path / "rain.bayes"]))
    answer = client.request("POST", "/ask", json={"query": "P(rain = True | wet = True)"})
    assert answer.json()["probability"] == pytest.approx(0.18 / 0.26)
    assert client.request("POST", "/ask", json={"query": "P(("}).status_code == 422
    assert client.post("/predict", [{"rain": True}]).status_code == 422


def test_several_models_are_named(path, tmp_path):
    bk.NaiveBayes().fit({"sky": ["sun", "rain"]}, ["yes", "no"]).save(tmp_path / "sky.bayes")
    client = Client(create_app([path, tmp_path / "sky.bayes"]))
    assert client.post("/predict?model=sky", [{"sky": "sun"}]).json()["rows"][0]["predicted"] == "yes"
    assert client.post("/predict", [ROW]).status_code == 404
    assert client.post("/predict?model=moon", [ROW]).status_code == 404
    assert [m["name"] for m in client.get("/models").json()["models"]] == ["birds", "sky"]
    assert 'href="pages/sky"' in client.get("/").text


def test_the_page_is_served(client):
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "Content-Security-Policy" in answer.text


def test_metrics_count_requests_and_rows(client):
    client.post("/predict", [ROW, ROW])
    client.get("/nothing/<script>")
    lines = client.get("/metrics").text.splitlines()
    assert 'bayes_requests_total{path="/predict",status="200"} 1' in lines
    assert 'bayes_requests_total{path="other",status="404"} 1' in lines
    assert 'bayes_rows_predicted_total{model="birds"} 2' in lines


# -- bad requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"[", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b'{"rows": [{"body_mass_g": NaN}]}', 400, "NaN"),
        (b"3", 422, "not a JSON object"),
        (b"{}", 422, "must have rows"),
        (b'{"rows": []}', 422, "must have rows"),
        (b'{"rows": [{}], "x": 1}', 422, "nothing else"),
        (b'{"rows": [3]}', 422, "row 0 is not a JSON object"),
        (b'{"rows": [{}, {"wings": 2}]}', 422, "row 1 has column 'wings'"),
        (b'{"rows": [{"sex": ["male"]}]}', 422, "column 'sex': no plain value"),
        (b'{"rows": [{"body_mass_g": "heavy"}]}', 422, "body_mass_g"),
        (b'{"rows": [{"body_mass_g": 1e999}]}', 422, "body_mass_g"),
    ],
)
def test_a_bad_body_gets_an_error_with_its_place(client, body, status, said):
    answer = client.raw("/predict", body)
    assert (answer.status_code, answer.json().keys()) == (status, {"error", "hint"})
    assert said in answer.json()["error"]


def test_other_kinds_of_bodies_are_refused(client):
    assert client.raw("/predict", b"a,b", "text/csv").status_code == 415
    assert client.raw("/predict", b"ARROW1 or not", ARROW).status_code == 400


def test_limits(path):
    client = Client(create_app([path], TOKEN, Limits(body=1_000, rows=2, cells=5)))
    assert client.post("/predict", [ROW] * 3).status_code == 413
    assert client.post("/predict", [ROW] * 2).status_code == 413
    assert client.raw("/predict", b" " * 2_000).status_code == 413
    assert client.raw("/predict", stream(BIRDS.slice(0, 3)), ARROW).status_code == 413
    assert client.post("/predict", [ROW]).status_code == 200


# -- learning ------------------------------------------------------------------------------------------


def test_the_same_key_is_applied_once(client, path):
    first, second = (client.post("/learn", [LABELED], key="1").json() for _ in range(2))
    assert (first["applied"], second["applied"], second["total"]) == (True, False, 345)
    assert client.post("/learn", [LABELED, LABELED], key="1").status_code == 409
    assert client.post("/forget", [LABELED], key="2").json()["total"] == 344
    assert bk.load(path).tally_ == bk.NaiveBayes().fit(BIRDS, "species").tally_


def test_a_change_that_takes_too_long_does_not_stop_later_ones(path):
    client = Client(create_app([path], TOKEN, Limits(seconds=0.2)))
    with lock_file(path, 5):
        assert client.post("/learn", [LABELED], key="1").status_code == 503
    client = Client(client.app)
    for _ in range(50):
        if (answer := client.post("/learn", [LABELED], key="2")).status_code == 200:
            break
    assert answer.status_code == 200
    assert client.post("/learn", [LABELED], key="1").json()["total"] == 346


def test_an_empty_row_of_a_model_with_dates_is_all_missing(tmp_path):
    days = {"when": [date(2026, 1, 1 + i) for i in range(20)], "sky": ["sun", "rain"] * 10}
    bk.NaiveBayes(roles={"when": "weekday"}).fit(days, ["yes", "no"] * 10).save(tmp_path / "days.bayes")
    assert Client(create_app([tmp_path / "days.bayes"])).post("/predict", [{}]).status_code == 200


def test_learning_needs_the_token_and_a_key(client, path):
    assert client.post("/learn", [LABELED], key="1", token="wrong").status_code == 401
    assert client.post("/learn", [LABELED], key="1", token=None).status_code == 401
    assert client.post("/learn", [LABELED]).status_code == 422
    assert Client(create_app([path])).post("/learn", [LABELED], key="1").status_code == 403
    assert client.post("/learn", [ROW], key="1").status_code == 422
    assert bk.load(path).tally_.n_rows == 344


def test_a_refused_change_leaves_the_file_and_the_others(client, path):
    before = path.read_bytes()
    assert client.post("/forget", [{"island": "Atlantis", "species": "Adelie"}], key="1").status_code == 422
    assert path.read_bytes() == before


def test_many_at_once_equal_one_fit(client, path):
    answers = []
    threads = [
        threading.Thread(target=lambda i=i: answers.append(client.post("/learn", [LABELED], key=f"k{i % 20}")))
        for i in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {200}
    assert sum(answer.json()["applied"] for answer in answers) == 20
    assert bk.load(path).tally_.n_rows == 364


def test_a_change_of_the_file_is_seen_and_two_services_share_it(client, path):
    other = Client(create_app([path], TOKEN))
    other.post("/learn", [LABELED], key="1")
    assert client.get("/models").json()["models"][0]["rows"] == 345
    assert client.post("/learn", [LABELED], key="1").json()["applied"] is False


def test_a_file_that_is_damaged_or_gone(client, path):
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert client.post("/predict", [ROW]).status_code == 200  # by the last model that the file held
    assert client.get("/healthz").status_code == 503
    assert client.post("/learn", [LABELED], key="1").status_code == 503
    path.unlink()
    assert "gone" in client.get("/healthz").text
    path.write_bytes(content)
    assert client.get("/healthz").status_code == 200
    assert client.post("/learn", [LABELED], key="1").status_code == 200


def test_unexpected_errors_show_no_traceback(client, monkeypatch):
    monkeypatch.setattr("bayeskit.cli.service_requests.predictions", lambda *_: 1 / 0)
    answer = client.post("/predict", [ROW])
    assert (answer.status_code, answer.json()["error"]) == (500, "internal error")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_in_use_ends_the_command(path, monkeypatch, capsys, workers):
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: pytest.fail("the service has started"))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        monkeypatch.setattr("sys.argv", ["bayes", "serve", str(path), "--port", port, "--workers", workers])
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code == 1
    message = f"bayes: port {port} of 127.0.0.1 is in use by another program: choose another with --port\n"
    assert capsys.readouterr().err == message


def test_an_address_of_another_machine_ends_the_command(path, monkeypatch, capsys):
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: pytest.fail("the service has started"))
    monkeypatch.setattr("sys.argv", ["bayes", "serve", str(path), "--host", "203.0.113.9"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert "choose another address with --host" in capsys.readouterr().err


def test_the_log_holds_no_values(client, caplog):
    with caplog.at_level("INFO", "bayeskit.serve"):
        client.post("/predict", [{"island": "a secret"}])
    entries = [json.loads(record.getMessage()) for record in caplog.records if record.name == "bayeskit.serve"]
    assert [(entry["path"], entry["status"]) for entry in entries] == [("/predict", 200)]
    assert "secret" not in caplog.text


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_the_openapi_document_describes_every_endpoint(client):
    document = client.get("/openapi.json").json()
    assert {"/predict", "/explain", "/ask", "/learn", "/forget", "/models", "/healthz", "/metrics"} <= document[
        "paths"
    ].keys()
    body = document["paths"]["/learn"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]["rows"]["items"]["required"] == ["species"]
    assert document["paths"]["/learn"]["post"]["security"] == [{"token": []}]
