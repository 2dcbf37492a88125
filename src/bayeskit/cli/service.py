"""The web application of ``bayes serve``.

Scoring one row takes less time than handing it to a thread, so single rows are answered in the event loop; batches and
explanations take a thread, with a limit on their time. Logs and errors name columns and never hold values of rows.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import re
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from bayeskit import __version__
from bayeskit.cli import service_requests
from bayeskit.cli.served_model import Conflict, FileUnavailable, ServedModel
from bayeskit.cli.service_requests import ARROW, JSON, BadRequest, Limits
from bayeskit.cli.texts import is_text
from bayeskit.errors import BayesError, BayesWarning, with_article
from bayeskit.inner_model import reader_of

KEY = re.compile(r"[!-~]{1,200}")
SETTINGS = "BAYES_SERVE"  # environment variable by which the command tells its worker processes
log = logging.getLogger("bayeskit.serve")
ERROR = {
    "type": "object",
    "required": ["error", "hint"],
    "properties": {"error": {"type": "string"}, "hint": {"type": "string"}},
}
NUMBER, STRING, OBJECT = {"type": "number"}, {"type": "string"}, {"type": "object"}
SCALAR = {"type": ["string", "number", "boolean", "null"]}


def create_app(
    paths: Sequence[str | Path],
    token: str | None = None,
    limits: Limits | None = None,
    lock_timeout: float = 10.0,
) -> FastAPI:
    """Create the service of some model files.

    Parameters
    ----------
    paths : sequence of str or Path
        Model files; each is served under its name without folder and ending.
    token : str, optional
        Allows ``/learn`` and ``/forget`` to requests with ``Authorization: Bearer TOKEN``. None switches both off.
    limits : Limits, optional
        The most that one request may hold or take.
    lock_timeout : float, default=10.0
        Seconds to wait for another process that changes a model file.

    Returns
    -------
    fastapi.FastAPI
    """
    models: dict[str, ServedModel] = {}
    for path in map(Path, paths):
        if path.stem in models:
            raise BayesError(f"two models have the name {path.stem!r}", hint="rename one of the files")
        models[path.stem] = ServedModel(path, lock_timeout)
    service = Service(models, token, limits or Limits())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", BayesWarning)
        yield
        for served in models.values():
            await run_in_threadpool(served.close)

    app = FastAPI(
        title="bayeskit",
        version=__version__,
        description="Probabilities, explanations and updates of Bayesian models.",
        lifespan=lifespan,
    )
    app.add_middleware(_Observer, service=service)
    service.add_routes(app)
    app.add_exception_handler(BadRequest, _bad_request)
    app.add_exception_handler(BayesError, _bayes_error)
    app.add_exception_handler(HTTPException, _http_error)
    return app


def app_of_environment() -> FastAPI:
    """Create the service that the command has described in the environment, in a worker process."""
    settings = json.loads(os.environ[SETTINGS])
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    return create_app(settings["paths"], settings["token"], Limits(**settings["limits"]))


def _error(status: int, message: str, hint: str = "") -> JSONResponse:
    return JSONResponse({"error": message, "hint": hint}, status)


async def _bad_request(_: Request, problem: Any) -> JSONResponse:
    return _error(problem.status, problem.message, problem.hint)


async def _bayes_error(_: Request, problem: Any) -> JSONResponse:
    status = 409 if isinstance(problem, Conflict) else 503 if isinstance(problem, FileUnavailable) else 422
    return _error(status, problem.message, problem.hint)


async def _http_error(_: Request, problem: Any) -> JSONResponse:
    response = _error(problem.status_code, str(problem.detail))
    response.headers.update(problem.headers or {})
    return response


class Service:
    """The endpoints over some served models."""

    def __init__(self, models: Mapping[str, ServedModel], token: str | None, limits: Limits) -> None:
        self.models, self.token, self.limits = models, token, limits
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.rows: Counter[str] = Counter()

    def add_routes(self, app: FastAPI) -> None:
        """Add the endpoints and their documentation."""
        names = list(self.models)
        which = [{"name": "model", "in": "query", "schema": {"enum": names}, "required": len(names) > 1}]
        key = {
            "name": "Idempotency-Key",
            "in": "header",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{KEY.pattern}$"},
        }
        rows = self._row_schema(labeled=False)
        labeled = self._row_schema(labeled=True)
        unreadable = (400, 404, 413, 415, 422, 503)

        def post(
            path: str, endpoint: Any, body: Any, answer: Any, *, secured: bool = False, arrow: bool = True
        ) -> None:
            content = {JSON: {"schema": body}} | (
                {ARROW: {"schema": {"type": "string", "format": "binary"}}} if arrow else {}
            )
            extra: dict[str, Any] = {"parameters": which, "requestBody": {"required": True, "content": content}}
            statuses: tuple[int, ...] = unreadable
            if secured:
                extra |= {"parameters": [*which, key], "security": [{"token": []}]}
                statuses = (*unreadable, 401, 403, 409)
            described = {status: {"description": "Error", "content": {JSON: {"schema": ERROR}}} for status in statuses}
            described[200] = {"description": "Answer", "content": {JSON: {"schema": answer}}}
            app.post(path, openapi_extra=extra, responses=described, response_class=Response)(endpoint)  # type: ignore[arg-type]

        listed = {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array"}}}
        post("/predict", self.predict, rows, listed)
        post("/explain", self.explain, rows, listed)
        query = {
            "type": "object",
            "required": ["query"],
            "properties": {"query": STRING},
            "additionalProperties": False,
        }
        post("/ask", self.ask, query, OBJECT, arrow=False)
        changed = {"type": "object", "required": ["applied", "rows", "total", "fixed"]}
        post("/learn", self.learn, labeled, changed, secured=True)
        post("/forget", self.forget, labeled, changed, secured=True)
        app.get("/models")(self.list_models)
        app.get("/healthz", responses={503: {"description": "A model file is gone or damaged"}})(self.health)
        app.get("/metrics", response_class=PlainTextResponse)(self.metrics)
        app.get("/", response_class=HTMLResponse)(self.page)
        app.get("/pages/{name}", response_class=HTMLResponse, responses={404: {"description": "No such model"}})(
            self.page
        )
        self._document_token(app)

    def _document_token(self, app: FastAPI) -> None:
        """Describe the token in the OpenAPI document."""
        generate: Callable[[], dict[str, Any]] = app.openapi

        def documented() -> dict[str, Any]:
            document = generate()
            schemes = {"token": {"type": "http", "scheme": "bearer"}}
            document.setdefault("components", {})["securitySchemes"] = schemes
            return document

        app.openapi = documented  # type: ignore[method-assign]

    def _row_schema(self, labeled: bool) -> dict[str, Any]:
        """Return the JSON schema of the body: with one model, of its columns."""
        row: dict[str, Any] = {"type": "object", "additionalProperties": SCALAR}
        if len(self.models) == 1:
            (served,) = self.models.values()
            if is_text(served.model):
                row = {"type": "string"} if not labeled else row
            elif hasattr(reader_of(served.model), "schema_"):
                schema = reader_of(served.model).schema_
                columns: dict[str, Any] = dict.fromkeys(schema.columns, SCALAR)
                row = {"type": "object", "properties": columns, "additionalProperties": False}
                if labeled:
                    target = schema.target.name
                    columns[target] = {"type": ["string", "number", "boolean"]}
                    row["required"] = [target]
        rows = {"type": "array", "items": row, "minItems": 1}
        return {"type": "object", "required": ["rows"], "properties": {"rows": rows}, "additionalProperties": False}

    # -- endpoints -----------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        """Predict the class of each row, with its probability and those of all classes."""
        served = self._served(request)
        model, body, kind = served.model, await self._body(request), _content_type(request)
        rows = service_requests.read_rows(body, kind, model, self.limits)
        if isinstance(rows, dict):
            predicted, probabilities = service_requests.predictions(model, rows)
        else:
            predicted, probabilities = await self._in_thread(service_requests.predictions, model, rows)
        self.rows[served.name] += len(predicted)
        if ARROW in request.headers.get("accept", ""):
            return Response(service_requests.as_arrow(model, predicted, probabilities), media_type=ARROW)
        return JSONResponse(service_requests.as_json(model, predicted, probabilities))

    async def explain(self, request: Request) -> Response:
        """Explain each row: evidence that sums to the log odds of its class against the runner-up."""
        served = self._served(request)
        model = served.model
        rows = service_requests.read_rows(await self._body(request), _content_type(request), model, self.limits)
        return JSONResponse(await self._in_thread(service_requests.explanations, model, rows))

    async def ask(self, request: Request) -> Response:
        """Answer a query such as P(a = 1 | b = 2) of a network, a joint distribution or a classifier."""
        from bayeskit.cli.console import plain
        from bayeskit.network.ask import of_model
        from bayeskit.network.query import parse

        model = self._served(request).model
        if _content_type(request) != JSON:
            raise BadRequest(415, "a query comes as JSON", 'send {"query": "P(a | b)"}')
        body = service_requests.read_json(await self._body(request))
        if body.keys() != {"query"} or not isinstance(body["query"], str):
            raise BadRequest(422, "the body must have a query and nothing else", 'send {"query": "P(a | b)"}')
        answer = await self._in_thread(lambda: of_model(model, parse(body["query"])))
        return JSONResponse(plain(answer))

    async def learn(self, request: Request) -> Response:
        """Add rows with their classes to the model; the same key is applied once."""
        return await self._change(request, "learn")

    async def forget(self, request: Request) -> Response:
        """Remove rows with their classes from the model; the same key is applied once."""
        return await self._change(request, "forget")

    async def _change(self, request: Request, action: Any) -> Response:
        served = self._served(request)
        self._check_token(request)
        key = request.headers.get("idempotency-key", "")
        if not KEY.fullmatch(key):
            hint = "send a header Idempotency-Key that names these rows, 1 to 200 visible ASCII characters"
            raise BadRequest(422, "the request has no valid Idempotency-Key", hint)
        kind = _content_type(request)
        rows = service_requests.read_rows(await self._body(request), kind, served.model, self.limits, labeled=True)
        return JSONResponse(await self._within(asyncio.shield(asyncio.wrap_future(served.change(action, key, rows)))))

    async def list_models(self) -> Any:
        """List the models: kind, rows, classes and columns."""
        return {"models": [_describe(served) for served in self.models.values()]}

    async def health(self) -> Response:
        """Return 200 if all models are those of their files, else 503 with the reasons."""
        problems: dict[str, str] = {}
        for name, served in self.models.items():
            served.refresh()
            problem = served.problem if served.path.exists() else "the file is gone"
            problems |= {name: problem} if problem else {}
        status = "degraded" if problems else "ok"
        return JSONResponse({"status": status, "version": __version__, "problems": problems}, 503 if problems else 200)

    async def metrics(self) -> Response:
        """Return counters of this process in the text format of Prometheus."""
        lines = ["# TYPE bayes_requests_total counter"]
        for (path, status), count in sorted(self.requests.items()):
            lines.append(f'bayes_requests_total{{path="{path}",status="{status}"}} {count}')
        lines.append("# TYPE bayes_request_seconds_total counter")
        lines += [f'bayes_request_seconds_total{{path="{path}"}} {n:.6f}' for path, n in sorted(self.seconds.items())]
        lines.append("# TYPE bayes_rows_predicted_total counter")
        lines += [
            f"bayes_rows_predicted_total{{model={json.dumps(name)}}} {n}" for name, n in sorted(self.rows.items())
        ]
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    async def page(self, request: Request) -> Response:
        """Return the page of a model on which to try it; with several models, the list of their pages."""
        from bayeskit.report.html import escape

        named: str | None = request.path_params.get("name")
        if named is None and len(self.models) > 1:
            links = "".join(f'<li><a href="pages/{escape(n)}">{escape(n)}</a>' for n in self.models)
            return HTMLResponse(f"<!doctype html><meta charset=utf-8><title>Models</title><ul>{links}</ul>")
        name = next(iter(self.models)) if named is None else named
        if name not in self.models:
            raise BadRequest(404, f"there is no model {name[:80]!r}")
        model = self.models[name].model
        if not hasattr(model, "page"):
            raise BadRequest(404, f"{with_article(type(model).__name__)} has no page")
        return HTMLResponse((await self._in_thread(model.page)).html)

    # -- helpers -------------------------------------------------------------------------------------

    def _served(self, request: Request) -> ServedModel:
        """Return the model that a request names; the only one need not be named."""
        name = request.query_params.get("model")
        if name is None and len(self.models) == 1:
            return next(iter(self.models.values()))
        if name is None or name not in self.models:
            asked = "no model is named" if name is None else f"there is no model {name[:80]!r}"
            raise BadRequest(404, asked, f"add ?model= with one of {', '.join(self.models)}")
        return self.models[name]

    async def _body(self, request: Request) -> bytes:
        """Read the body up to its limit."""
        if _content_type(request) not in (JSON, ARROW):
            raise BadRequest(415, "the body is neither JSON nor Arrow", f"send Content-Type: {JSON} or {ARROW}")
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > self.limits.body:
                raise BadRequest(413, f"the body has more than {self.limits.body:,} bytes", "send several requests")
            parts.append(part)
        return b"".join(parts)

    def _check_token(self, request: Request) -> None:
        if self.token is None:
            raise BadRequest(403, "learning and forgetting are off", "start the service with a token")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), self.token.encode()):
            raise HTTPException(401, "a valid token is needed", {"WWW-Authenticate": "Bearer"})

    async def _in_thread(self, function: Any, *values: Any) -> Any:
        return await self._within(run_in_threadpool(function, *values))

    async def _within(self, work: Any) -> Any:
        """Wait for work up to the limit of time."""
        try:
            return await asyncio.wait_for(work, self.limits.seconds)
        except TimeoutError:
            message = f"the request takes longer than {self.limits.seconds:g} seconds"
            raise BadRequest(
                503, message, "send fewer rows; what is learned with the same key is applied once"
            ) from None

    async def observe(self, app: Any, scope: Any, receive: Any, send: Any) -> None:
        """Count and log each request; an unexpected error ends in a short answer and its traceback in the log."""
        start, statuses = time.perf_counter(), []

        async def send_observed(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                message = {**message, "headers": [*message["headers"], (b"x-content-type-options", b"nosniff")]}
            await send(message)

        try:
            await app(scope, receive, send_observed)
        except Exception:
            log.exception("unexpected error")
            if statuses:  # the answer has begun
                raise
            response = _error(500, "internal error", "the log of the service has the details")
            await response(scope, receive, send_observed)
        seconds, status = time.perf_counter() - start, statuses[0] if statuses else 0
        path = getattr(scope.get("route"), "path", "other")
        self.requests[path, status] += 1
        self.seconds[path] += seconds
        if log.isEnabledFor(logging.INFO):
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            entry = {"time": stamp, "method": scope["method"], "path": path, "status": status}
            log.info(json.dumps(entry | {"ms": round(seconds * 1000, 3)}))


class _Observer:
    """Middleware that shows each HTTP request to the service; cheaper than a function that takes a request."""

    def __init__(self, app: Any, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            await self.service.observe(self.app, scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _content_type(request: Request) -> str:
    return str(request.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _describe(served: ServedModel) -> dict[str, Any]:
    """Return what a client has to know of a model, as plain data."""
    from bayeskit.cli.console import plain

    model, reader = served.model, reader_of(served.model)
    tally = getattr(reader, "tally_", None)
    schema = getattr(reader, "schema_", None)
    columns = [] if schema is None or is_text(model) else list(schema.columns)
    described = {
        "name": served.name,
        "model": type(model).__name__,
        "rows": None if tally is None else tally.n_rows,
        "target": None if schema is None or schema.target is None else schema.target.name,
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "columns": columns,
        "reads": "documents" if is_text(model) else "rows",
        "history": [str(event) for event in served.history.events[-10:]],
    }
    return dict(plain(described))
