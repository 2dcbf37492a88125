"""The document of every page: text is escaped, one script is allowed by its hash, and nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from bayeskit.printable import printable

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def escape(text: object) -> str:
    """Return text for HTML, with control characters and marks of direction made visible.

    >>> escape("<b>'x'")
    '&lt;b&gt;&#x27;x&#x27;'
    """
    return html.escape(printable(str(text), keep=""))


def embed_json(data: Any) -> str:
    """Return data as JSON that cannot end the script element that holds it.

    >>> embed_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, code in _ESCAPES.items():
        text = text.replace(character, code)
    return text.encode("utf-8", "replace").decode()


def document(
    title: str, parts: Sequence[str], payloads: Mapping[str, Any] | None = None, *, large: bool = False
) -> str:
    """Return a self-contained HTML document.

    Parameters
    ----------
    title : str
        Plain text; it is escaped here.
    parts : sequence of str
        HTML fragments of the body, escaped by the caller. An element ``<div data-bayeskit="classifier"
        data-payload="one">`` becomes a component with the payload of that name.
    payloads : mapping, optional
        JSON data by the id of its element. Without payloads the document has no script.
    large : bool, default=False
        Large type, for a projector.

    Returns
    -------
    str
    """
    script, style = _asset("page.js"), _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    size = ' class="large"' if large else ""
    data = [
        f'<script type="application/json" id="{html.escape(name)}">{embed_json(payload)}</script>'
        for name, payload in (payloads or {}).items()
    ]
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en"{size}>\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>",
            *parts,
            "</main>",
            *data,
            *([f"<script>{script}</script>"] if data else []),
            "</body>\n</html>\n",
        ]
    )


@cache
def _asset(name: str) -> str:
    return (files("bayeskit.report") / "assets" / name).read_text(encoding="utf-8")
