"""Requests that schemathesis makes from the OpenAPI document: every answer is one that the document describes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.datasets import load_penguins

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is in the dependency group dev")
pytest.importorskip("fastapi", reason="FastAPI is in the extra serve")

from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

from bayeskit.cli.service import create_app  # noqa: E402

TOKEN = "a token of some length"
PATHS = ["/predict", "/explain", "/ask", "/learn", "/forget", "/models", "/healthz", "/metrics", "/", "/pages/{name}"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def described(tmp_path):
    birds = load_penguins().drop_columns(["year"])
    bk.NaiveBayes().fit(birds, "species").save(tmp_path / "birds.bayes")
    return schemathesis.openapi.from_asgi("/openapi.json", create_app([tmp_path / "birds.bayes"], TOKEN))


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_described(described, path):
    made = []
    modes = schemathesis.GenerationMode
    operations = [result.ok() for result in described.get_all_operations()]
    (operation,) = [one for one in operations if one.path == path]

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in (modes.POSITIVE, modes.NEGATIVE))))
    def ask(case):
        made.append(case)
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {TOKEN}"}
        # The document does not say what a model refuses: classes of another type, queries with a syntax error.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    ask()
    assert made
