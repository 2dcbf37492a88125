"""Serve a model file and kill the service again and again: ``killed_service.py MODEL TOKEN KILLS SEED``.

Prints the port, then ``done`` after the last kill; the last service runs until standard input is closed.
"""

import os
import random
import signal
import socket
import sys
import time


def start(listening, model, token):
    """Fork a process that serves, and wait until it answers; modules are imported once, before."""
    import httpx
    import uvicorn

    from bayeskit.cli.service import create_app

    process = os.fork()
    if not process:
        app = create_app([model], token)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])
        os._exit(0)
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{listening.getsockname()[1]}/healthz", timeout=5)
            return process
        except httpx.TransportError:
            time.sleep(0.01)


def main(model, token, kills, seed):
    """Start and kill the service."""
    import bayeskit as bk

    draw = random.Random(seed)
    bk.load(model).partial_fit({"who": ["anybody"]}, ["yes"])  # imports what learning needs
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listening.getsockname()[1], flush=True)
    for _ in range(kills):
        process = start(listening, model, token)
        time.sleep(draw.uniform(0, 0.2))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    process = start(listening, model, token)
    print("done", flush=True)
    sys.stdin.read()
    os.kill(process, signal.SIGTERM)
    os.waitpid(process, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
