"""The page of a fitted model: a form whose posterior the browser computes, and the tables of the model."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayeskit.errors import BayesError
from bayeskit.explain.overview import SCORES_HINT
from bayeskit.report.html import document, escape
from bayeskit.report.payload import classifier_payload, network_payload, sequence_payload, unused_columns
from bayeskit.storage.files import write_file
from bayeskit.tables import Sheet

MOST_TABLES = 40  # tables of columns that stand on the page
ANSWER = "the browser computes the posterior, and no data leaves this file."


class ModelPage:
    """A self-contained HTML page; a notebook shows it in a frame.

    Attributes
    ----------
    html : str
        The whole document.
    no_form : str
        Why the page has no form; empty if it has one.
    """

    def __init__(self, content: str, no_form: str = "") -> None:
        self.html, self.no_form = content, no_form

    def __repr__(self) -> str:
        return f"<page of {len(self.html.encode()):,} bytes>"

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:900px;border:0" sandbox="allow-scripts" title="page of the model"'
        return f'<iframe {frame} srcdoc="{html.escape(self.html)}"></iframe>'


def model_page(model: Any, path: str | Path | None = None) -> ModelPage:
    """Return the page of a fitted model; write it if a path is given."""
    from bayeskit.network.network import BayesianNetwork
    from bayeskit.sequence.hidden_markov import HiddenMarkovModel

    if isinstance(model, BayesianNetwork):
        page = _page(model, "network", network_payload, _network_heading)
    elif isinstance(model, HiddenMarkovModel):
        model._check_is_fitted()
        page = _page(model, "sequence", sequence_payload, _sequence_heading)
    else:
        model._check_is_fitted()
        page = _page(model, "classifier", classifier_payload, _classifier_heading)
    if path is not None:
        write_file(path, page.html.encode())
    return page


def _page(
    model: Any, component: str, payload_of: Callable[[Any], dict[str, Any]], heading: Callable[[Any, Any], list[str]]
) -> ModelPage:
    """Return a page with a component, or with the reason why there is none, and the tables of the model."""
    name, payloads, no_form = type(model).__name__, {}, ""
    try:
        payload = payload_of(model)
    except BayesError as problem:
        no_form = problem.message
        parts = [f"<h1>{escape(name)}</h1>", f'<p class="lead">This page has no form: {escape(no_form)}.</p>']
    else:
        payloads["payload-1"] = payload
        parts = [
            *heading(model, payload),
            '<noscript><p class="note">The form needs JavaScript; the tables below do not.</p></noscript>',
            f'<div data-bayeskit="{component}" data-payload="payload-1"></div>',
        ]
    parts.append(model_tables(model))
    return ModelPage(document(f"{name}: bayeskit", parts, payloads), no_form)


def _classifier_heading(model: Any, payload: dict[str, Any]) -> list[str]:
    n = len(payload["columns"])
    return [
        f"<h1>A model of <bdi>{escape(payload['form']['target'])}</bdi></h1>",
        f'<p class="lead">{type(model).__name__} of {n:,} column{"" if n == 1 else "s"}. Choose values: {ANSWER}</p>',
    ]


def _network_heading(network: Any, payload: dict[str, Any]) -> list[str]:
    n = len(payload["nodes"])
    lead = f"{n:,} node{'' if n == 1 else 's'}. Click a state to observe it: {ANSWER}"
    return ["<h1>A Bayesian network</h1>", f'<p class="lead">{lead}</p>']


def _sequence_heading(model: Any, payload: dict[str, Any]) -> list[str]:
    n = len(payload["states"])
    lead = f"{n:,} hidden state{'' if n == 1 else 's'}. Click observations: {ANSWER}"
    return ["<h1>A hidden Markov model</h1>", f'<p class="lead">{lead}</p>']


def _tables_of(model: Any) -> list[str]:
    """Return the names of the tables of a model that its overview does not have."""
    from bayeskit.models.ensemble.classifier import BayesClassifier

    if hasattr(model, "nodes"):
        return list(model.nodes)
    if hasattr(model, "transitions_"):
        return ["start", "transitions", *model.schema_.used]
    if isinstance(model, BayesClassifier) or not hasattr(model, "schema_") or not hasattr(model, "table"):
        return []
    unused = unused_columns(model)
    return [name for name in model.schema_.used if name not in unused]


def model_tables(model: Any) -> str:
    """Return the tables of the model, which need no script."""
    overview = model._overview() if hasattr(model, "_overview") else model.sheet
    # The overview of a hidden Markov model repeats the tables below; the hint how to score a model is for programmers.
    repeats = hasattr(model, "transitions_")
    kept = () if repeats else tuple(part for part in overview.parts if not str(part).startswith(SCORES_HINT))
    shown = Sheet(overview.title, kept).html
    parts = [f'<div class="scroll" tabindex="0">{shown}</div>']
    names = _tables_of(model)
    tables: list[str] = []
    for name in names[:MOST_TABLES]:
        try:
            made = model.telling_words() if hasattr(model, "telling_words") else model.table(name)
        except (BayesError, TypeError):  # a model without tables of single columns
            break
        tables.append(
            f'<div><h3><bdi>{escape(name)}</bdi></h3><div class="scroll" tabindex="0">{made._repr_html_()}</div></div>'
        )
    if tables:
        parts.append(f'<div class="tables">{"".join(tables)}</div>')
    if 0 < len(tables) < len(names):
        parts.append(f'<p class="note">The tables of {len(names) - len(tables):,} more columns are left out.</p>')
    content = f"<details open><summary>Tables of the model</summary>{''.join(parts)}</details>"
    return f'<section class="figures card">{content}</section>'
