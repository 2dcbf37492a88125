"""``bayes serve``: serve models over HTTP."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path

from bayeskit.cli.options import argument, option
from bayeskit.errors import BayesError
from bayeskit.storage.files import NETWORK_ENDINGS


def command(
    models: list[str] = argument("MODEL...", "The .bayes files to serve."),
    *,
    port: int = option("--port", "PORT", "Port to listen on.", 8000, min=1, max=65535),
    host: str = option("--host", "ADDRESS", "Address to listen on; 0.0.0.0 for all.", "127.0.0.1"),
    workers: int = option("--workers", "N", "Number of processes.", 1, min=1, max=64),
    token_file: str | None = option(
        "--token-file", "FILE", "File with the token that allows /learn and /forget; without it, both are off."
    ),
    max_rows: int = option("--max-rows", "N", "Most rows of one request.", 100_000, min=1),
    max_bytes: int = option("--max-bytes", "N", "Most bytes of one request.", 16_000_000, min=1),
    seconds: float = option("--timeout", "SECONDS", "Longest time of one request.", 30.0, min=0),
) -> None:
    """Serve models over HTTP.

    The page of the model is at /, the documentation of all requests at /docs.
    A row that is acknowledged by /learn is in the model file, once, even if the
    service is killed. Needs the extra serve.

    \b
    Examples:
      bayes serve birds.bayes
      bayes serve birds.bayes mail.bayes --port 9000 --token-file token.txt
      curl -H 'Content-Type: application/json' -d '{"rows": [{"sex": "male"}]}' \\
        localhost:8000/predict
    """
    if networks := [path for path in models if Path(path).suffix.lower() in NETWORK_ENDINGS]:
        raise BayesError(
            f"{networks[0]} is a network, and only .bayes files are served:",
            hint='save it as one in Python, bayeskit.read_network(...).save("network.bayes")',
        )
    try:
        import uvicorn

        from bayeskit.cli.service import SETTINGS, create_app
    except ImportError as missing:
        raise BayesError.not_installed("models are served by FastAPI and uvicorn", missing, "serve") from None

    create_app(models)  # reports files that cannot be read before a port is taken
    limits = {"rows": max_rows, "body": max_bytes, "seconds": seconds}
    token = None if token_file is None else _read_token(token_file)
    os.environ[SETTINGS] = json.dumps({"paths": models, "token": token, "limits": limits})
    _check_port(host, port)
    uvicorn.run(
        "bayeskit.cli.service:app_of_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        timeout_graceful_shutdown=30,
    )


def _read_token(path: str) -> str:
    from bayeskit.storage.files import read_bytes

    token = read_bytes(path).decode("utf-8", "replace").strip()
    if not (16 <= len(token) <= 1000 and token.isascii() and token.isprintable()):
        raise BayesError(
            f"{path} holds no token: 16 to 1,000 visible ASCII characters",
            hint=f"make one with: openssl rand -hex 32 > {path}",
        )
    return token


def _check_port(host: str, port: int) -> None:
    """Raise an error if the port is in use or the address is none of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise BayesError(
                    f"port {port} of {host} is in use by another program", hint="choose another with --port"
                ) from None
            other = "port with --port" if isinstance(problem, PermissionError) else "address with --host"
            raise BayesError(
                f"{host}:{port} cannot be listened on: {problem.strerror}", hint=f"choose another {other}"
            ) from None
