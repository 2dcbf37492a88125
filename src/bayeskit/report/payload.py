"""Data of pages: of a classifier its scoring form, as exported to JSON, with counts and the controls of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.tokenizer import PATTERNS, Tokenizer
from bayeskit.data.text.tokens import word_runs
from bayeskit.errors import BayesError
from bayeskit.estimate.columns.coded import CodedColumns, Histogram
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.columns.kernel import KernelColumns
from bayeskit.estimate.columns.moments import PoissonColumns, StudentColumns
from bayeskit.estimate.columns.text import TextColumns
from bayeskit.estimate.emissions import (
    CategoricalEmission,
    GaussianEmission,
    MultivariateGaussianEmission,
    PoissonEmission,
)
from bayeskit.estimate.smoothing import Lidstone, as_smoothing
from bayeskit.explain.evidence import format_cell
from bayeskit.explain.nomogram import round_step
from bayeskit.export import scoring_form as terms
from bayeskit.export.json import json_model, numbers
from bayeskit.network.graph import bits
from bayeskit.printable import printable
from bayeskit.tolerance import TIE

MOST_WEIGHTS = 300_000  # words times classes of a page
MOST_CELLS = 200_000  # of the distinct rows of a full joint, and of a junction tree
MOST_POINTS = 30_000  # values of a kernel density
MOST_COPIES = 200  # of the states of a hidden Markov model
BLANK: dict[str, Any] = {"kind": "choice", "labels": [], "low": 0, "high": 1, "step": 1, "other": False}


class NoPage(BayesError):
    """The page cannot carry a model; its message is the reason."""


def classifier_payload(model: Any) -> dict[str, Any]:
    """Return the data of the page of a classifier; raise ``NoPage`` for a model that it cannot carry."""
    from bayeskit.models.full_joint import FullJointBayes

    naive = _naive_model(model)
    if naive is not None:
        form, written = _naive_form(model, naive)
    elif isinstance(model, FullJointBayes):
        form, written = _joint_form(model)
    elif hasattr(model, "_scoring_form"):
        form, written = _exported_form(model), {}
    else:
        raise NoPage(f"the score of {type(model).__name__} is not a sum over columns, so the page cannot compute it")
    listed = [*form["terms"], *written.values()]
    n_weights = sum(len(term["words"]) for term in listed if term["kind"] == "words") * len(form["classes"])
    if n_weights > MOST_WEIGHTS:
        raise NoPage(f"{n_weights:,} weights of words are more than a page holds ({MOST_WEIGHTS:,})")
    order = {name: i for i, name in enumerate((naive or model).schema_.used)}
    listed.sort(key=lambda term: order.get(term["column"], 0))
    columns: dict[str, dict[str, Any]] = {}
    for term in listed:
        for coding in term.get("columns", (term,)):
            columns.setdefault(coding["column"], _control(naive, coding))
        if term["kind"] == "words":
            if counted := _counted_words(model, naive, term["column"]):
                term["counted"] = counted
            term["tokenizer"] = _tokenizer((naive or model).schema_.columns[term["column"]].tokenizer)
            continue
        for coding in term.get("columns", (term, *term.get("parents", ()))):
            coding["n_codes"] = len(coding["values"] if "values" in coding else coding.get("cuts", ())) + (
                "cuts" in coding
            )
            coding.pop("values", None)
    form |= {"terms": listed, "classes": _labels(form["classes"]), "target": _label(form["target"])}
    renamed = dict(zip(columns, _labels(columns), strict=True))
    for name, column in columns.items():
        column["name"] = renamed[name]
    for term in listed:
        for coding in term.get("columns", (term, *term.get("parents", ()))):
            coding["column"] = renamed[coding["column"]]
    alpha = model.params_.alpha if isinstance(model, FullJointBayes) else _alpha(naive, listed)
    return {
        "form": form, "columns": list(columns.values()), "has_alpha": alpha is not None, "alpha": alpha,
        "unused": _labels(unused_columns(model)),
    }  # fmt: skip


def unused_columns(model: Any) -> list[str]:
    """Return the columns of a naive Bayes whose table holds no information about the class."""
    naive = _naive_model(model)
    return [] if naive is None else [name for name, table in naive.params_.tables.items() if not table.log_table.any()]


def network_payload(network: Any) -> dict[str, Any]:
    """Return the data of the page of a Bayesian network: its tables and its junction tree."""
    cost = network.cost()
    if cost.cells > MOST_CELLS:
        raise NoPage(f"its junction tree has {cost.cells:,} cells, and a page computes up to {MOST_CELLS:,}")
    tree, graph = network.tree, network._graph
    nodes = [
        {
            "name": name, "states": _labels(network.states[node]), "parents": list(graph.parents[v]),
            "table": network._tables[v].reshape(-1).tolist(),
        }
        for v, (node, name) in enumerate(zip(network.nodes, _labels(network.nodes), strict=True))
    ]  # fmt: skip
    cliques = [
        {"variables": variables, "separator": list(bits(separator)), "parent": parent}
        for variables, separator, parent in zip(
            tree.variables, tree.cliques.separators, tree.cliques.parents, strict=True
        )
    ]
    return {"nodes": nodes, "cliques": cliques}


def sequence_payload(model: Any) -> dict[str, Any]:
    """Return the data of the page of a hidden Markov model: its chain and its emissions."""
    start, moves = model.trellis_.log_chain
    if len(start) > MOST_COPIES:
        raise NoPage(f"it walks {len(start):,} copies of states, and a page computes up to {MOST_COPIES}")
    emissions, columns = [], {}
    for emission in model.parameters_.emissions:
        emissions.append(_emission(emission))
        for j, name in enumerate(emission.names):
            columns[name] = _emission_control(emission, j)
    order = [name for name in model.schema_.used if name in columns]
    renamed = dict(zip(order, _labels(order), strict=True))
    for data in emissions:
        data["columns"] = [renamed[name] for name in data["columns"]]
    return {
        "states": _labels(model.states_.tolist()), "owner": model.structure_.stays.owner.tolist(),
        "start": numbers(start), "moves": numbers(moves), "emissions": emissions,
        "columns": [columns[name] | {"name": renamed[name]} for name in order],
    }  # fmt: skip


def _emission(emission: Any) -> dict[str, Any]:
    """Return the parameters of the emission of some columns."""
    data: dict[str, Any] = {"kind": emission.kind, "columns": list(emission.names)}
    if isinstance(emission, CategoricalEmission):
        return data | {"scores": numbers(emission.log_table)}
    if isinstance(emission, GaussianEmission):
        mean, precision, constant = (part.tolist() for part in emission.normal_form)
        used = [emission.names[j] for j in emission.used]
        return data | {"columns": used, "mean": mean, "precision": precision, "constant": constant}
    if isinstance(emission, MultivariateGaussianEmission):
        varies = emission.used
        covariance = emission.covariance[:, varies][:, :, varies]
        names = [emission.names[j] for j in varies]
        return data | {"columns": names, "mean": emission.mean[:, varies].tolist(), "covariance": covariance.tolist()}
    if isinstance(emission, PoissonEmission):
        return data | {"rate": emission.rate.tolist()}
    return data | {"share": emission.probabilities.tolist()}


def _emission_control(emission: Any, j: int) -> dict[str, Any]:
    """Return how a cell of the j-th column of an emission is entered."""
    if isinstance(emission, CategoricalEmission):
        return BLANK | {"labels": _labels(emission.values), "other": emission.unseen != "error"}
    if isinstance(emission, (GaussianEmission, MultivariateGaussianEmission)):
        figures = emission.figures(j)
        reach = 3 * np.sqrt(figures["variance"])
        low, high = float((figures["mean"] - reach).min()), float((figures["mean"] + reach).max())
        step = round_step(low, high, 200)
        low, high = float(np.floor(low / step) * step), float(np.ceil(high / step) * step)
        return BLANK | {"kind": "number", "low": round(low, 12), "high": round(high, 12), "step": step}
    most = emission.rate[:, j].max() if isinstance(emission, PoissonEmission) else emission.mean_total
    return BLANK | {"kind": "number", "low": 0, "high": int(np.ceil(most + 4 * np.sqrt(most) + 1)), "step": 1}


def _naive_model(model: Any) -> Any:
    """Return the naive Bayes that scores the rows of a model, None if it is no such model."""
    from bayeskit.models.naive_bayes import NaiveBayes
    from bayeskit.models.wrappers.discriminative_weights import DiscriminativeWeights

    if isinstance(model, DiscriminativeWeights):
        return model._fitted()
    return model if isinstance(model, NaiveBayes) else None


def _naive_form(model: Any, naive: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the exported form of naive Bayes with counts, and the terms of columns that have no exported form."""
    from bayeskit.models.base.persistence import classifier_form

    powers, unused = getattr(model, "exponents_", {}), unused_columns(model)
    exported: list[terms.Term] = []
    written: dict[str, Any] = {}
    for kind in naive.params_.kinds:
        if isinstance(kind, CodedColumns):
            for name in kind.used:
                table = kind.tables[name]
                if name in unused:
                    continue
                cuts = table.cuts if isinstance(table, Histogram) else None
                coding = terms.Coding(name, () if cuts is not None else table.values, cuts, naive.unseen == "error")
                exported.append(terms.TableTerm(name, coding, table.log_table))
        elif isinstance(kind, (StudentColumns, PoissonColumns, KernelColumns)):
            written |= {name: _density(kind, name) for name in kind.used}
        else:
            exported += terms.column_terms(kind, naive.unseen == "error")
    form = json_model(classifier_form(naive, naive.params_.log_prior, exported))
    form["model"] = type(model).__name__
    tables = naive.params_.tables
    for term in form["terms"]:
        if term["kind"] == "table":
            table, family = tables[term["column"]], naive.tally_.families[term["column"]]
            pseudo = [None if np.isnan(a) else a for a in table.pseudo.tolist()]
            counts = family.counts.T.tolist()
            term["counts"] = {"counts": counts, "pseudo": pseudo, "power": float(powers.get(term["column"], 1.0))}
    if naive.prior == "empirical" and not powers:
        form["class_counts"] = naive.tally_.class_counts.tolist()
    return form, written


def _exported_form(model: Any) -> dict[str, Any]:
    """Return the exported form of a model, with the counts of columns given their parents."""
    form = json_model(model._scoring_form())
    for term in form["terms"]:
        if term["kind"] == "contexts":
            counts = model.params_.tables[term["column"]].contexts.counts
            term["levels"] = [level | {"counts": n.tolist()} for level, n in zip(term["levels"], counts, strict=True)]
    if hasattr(model, "tally_"):
        counts, base = model.tally_.class_counts, np.array(form["base"], dtype=float)
        if np.allclose(logspace.log(counts / counts.sum()), base, rtol=0, atol=TIE):
            form["class_counts"] = counts.tolist()
    return form


def _joint_form(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the form of the full joint: its counts of distinct rows."""
    from bayeskit.models.base.persistence import classifier_form

    params, roles = model.params_, model.schema_.columns
    if params.joint.cells.size > MOST_CELLS:
        raise NoPage(f"{len(params.joint.cells):,} distinct rows are more than a page holds")
    form = json_model(classifier_form(model, params.log_prior, []))
    columns = []
    for name in params.joint.columns:
        cuts = getattr(roles[name], "cuts", None)
        cells = {"values": list(params.values[name])} if cuts is None else {"cuts": list(cuts)}
        columns.append({"column": name, **cells, "refuses_unseen": model.unseen == "error"})
    term = {
        "kind": "joint", "column": "all columns", "columns": columns, "pseudo": params.alpha,
        "cells": params.joint.cells.tolist(), "counts": params.joint.counts.tolist(),
    }  # fmt: skip
    if model.prior == "empirical":
        form["class_counts"] = model.tally_.class_counts.tolist()
    return form, {"all columns": term}


def _counted_words(model: Any, naive: Any, name: str) -> dict[str, Any] | None:
    """Return counts and pseudo-counts of words whose scores are those of a multinomial."""
    if naive is not None:
        columns = naive.params_.of_kind(TextColumns)
        return {"counts": columns.counted[name].table().tolist(), "pseudo": columns.pseudo[name].tolist()}
    if model.recipe_.name != "multinomial":
        return None
    return {"counts": model.counted_.table().tolist(), "pseudo": model.params_.pseudo.tolist()}


def _tokenizer(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the settings of a tokenizer with the characters of words; raise NoPage where a page cannot follow it."""
    if tokenizer.pattern not in PATTERNS:
        raise NoPage("the page cuts texts by the named patterns, not by an expression or a function of one's own")
    if tokenizer.hash_bits is not None:
        raise NoPage("words counted in buckets have no names")
    return tokenizer.to_json() | {"runs": word_runs()}


def _density(kind: Columns, name: str) -> dict[str, Any]:
    """Return the term of a column whose density the export does not have."""
    from scipy.special import betaln

    if isinstance(kind, KernelColumns):
        bells = kind.densities[name].classes
        n_points = sum(len(b.points) for b in bells if b is not None)
        if n_points > MOST_POINTS:
            what = f"column {printable(repr(name))} has a kernel density of {n_points:,} values"
            raise NoPage(f"{what}, and a page holds {MOST_POINTS:,}")
        return {
            "kind": "kernel", "column": name,
            "points": [b.points.tolist() for b in bells if b is not None],
            "log_counts": [numbers(logspace.log(b.counts)) for b in bells if b is not None],
            "bandwidth": [b.bandwidth for b in bells if b is not None],
            "constant": [-b.log_scale for b in bells if b is not None],
            "power": 1.0 if kind.powers is None else float(kind.powers.get(name, 1.0)),
        }  # fmt: skip
    assert isinstance(kind, (StudentColumns, PoissonColumns))
    part = kind.parameters(name)
    power = 1.0 if kind.powers is None else float(kind.powers[name])
    figures = dict(part)
    if isinstance(kind, StudentColumns):
        width = np.sqrt(part["freedom"]) * part["scale"]
        constant = -betaln(0.5, part["freedom"] / 2) - logspace.log(width)
        figures = {k: part[k] for k in ("location", "freedom")} | {"width": width, "constant": constant}
    return {"kind": kind.kind, "column": name, "power": power, **{key: numbers(v) for key, v in figures.items()}}


def _control(naive: Any, term: dict[str, Any]) -> dict[str, Any]:
    """Return how a cell of a column is entered: one of its values, or a number of a range."""
    name = term["column"]
    blank = BLANK | {"name": name}
    if "words" in term:
        return blank | {"kind": "text"}
    if "values" in term:
        return blank | {"labels": _labels(term["values"]), "other": not term["refuses_unseen"]}
    low, high = 0.0, 1.0
    if "cuts" in term:
        cuts = term["cuts"]
        if cuts:
            margin = (cuts[-1] - cuts[0]) / max(len(cuts) - 1, 1) or abs(cuts[0]) or 1.0
            low, high = cuts[0] - margin, cuts[-1] + margin
    elif naive is not None:
        tails = np.quantile(naive._column_points(naive.params_, name, 200), [0.005, 0.995], axis=1)
        low, high = float(np.nanmin(tails)), float(np.nanmax(tails))
    else:
        # A linear term: the range in which its score changes by four.
        steepest = np.abs(term["slope"]).max()
        reach = 4 / steepest if steepest > 0 else 1.0
        low, high = term["center"] - reach, term["center"] + reach
    step = round_step(low, high, 200)
    low, high = float(np.floor(low / step) * step), float(np.ceil(high / step) * step)
    if term.get("kind") == "poisson":
        low, step = 0.0, max(round(step), 1)
    return blank | {"kind": "number", "other": False, "low": round(low, 12), "high": round(high, 12), "step": step}


def _alpha(naive: Any, listed: list[dict[str, Any]]) -> float | None:
    """Return the pseudo-count that every value of every column and every word has; None if there is no such number."""
    tables = naive.params_.tables if naive is not None else {}
    used = {as_smoothing(naive._setting_for("smoothing", name, naive.schema_)) for name in tables}
    alphas = {float(rule.alpha) if isinstance(rule, Lidstone) else None for rule in used}
    for term in listed:
        if term["kind"] == "words":
            alphas |= set(term["counted"]["pseudo"]) if "counted" in term else {None}
    return alphas.pop() if len(alphas) == 1 else None


def _label(value: Any) -> str:
    return printable(format_cell(value), keep="")


def _labels(values: Any) -> list[str]:
    """Return labels of values; equal ones get a number, so that a link tells them apart."""
    labels: list[str] = []
    for value in values:
        label, n = _label(value), 2
        while label in labels:
            label, n = f"{_label(value)} ({n})", n + 1
        labels.append(label)
    return labels
