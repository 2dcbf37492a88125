"""Options of ``bayes fit`` that say something of one column: all its values, where its numbers are cut."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from bayeskit.cli.options import pairs

TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def domains_of(given: Sequence[str] | None, kinds: Mapping[str, str]) -> dict[str, list[Any]] | None:
    """``COLUMN=a,b,c`` texts as the setting ``domains``, values in the type of their column.

    >>> domains_of(["level=low,medium,high", "color=0,1,2", 'town="Rome, old",Ostia'], {"color": "integer"})
    {'level': ['low', 'medium', 'high'], 'color': [0, 1, 2], 'town': ['Rome, old', 'Ostia']}
    """
    domains = {}
    for name, text in pairs("--domain", given).items():
        values = next(csv.reader([text], skipinitialspace=True), [])
        if not values or not all(values):
            raise typer.BadParameter(f"{name}={text} names no values: write {name}=a,b,c", param_hint="--domain")
        domains[name] = [_of_kind(value, kinds.get(name, "string"), name) for value in values]
    return domains or None


def _of_kind(value: str, kind: str, name: str) -> Any:
    from bayeskit.data.vocabulary import canonical

    try:
        if kind == "boolean":
            return TRUTH[value.lower()]
        if kind in ("integer", "float"):
            return canonical(float(value))
    except (KeyError, ValueError):
        wanted = "true or false" if kind == "boolean" else "a number"
        raise typer.BadParameter(f"column {name!r} has no value {value!r}: {wanted}", param_hint="--domain") from None
    return value


def cuts_of(given: Sequence[str] | None) -> Any:
    """The setting ``cuts``: one for all columns, or a mapping from column to its own.

    >>> cuts_of(["mdl"]), cuts_of(["5"]), cuts_of(["frequency:4"]), cuts_of(["age=18,65", "size=width:3"])
    ('mdl', 5, ('frequency', 4), {'age': [18.0, 65.0], 'size': ('width', 3)})
    """
    if not given:
        return None
    for_all = [text for text in given if "=" not in text]
    if for_all and len(given) > 1:
        raise typer.BadParameter("give one for all columns, or COLUMN=… of each", param_hint="--cuts")
    if for_all:
        return _cut(for_all[0])
    return {name: _cut(text) for name, text in pairs("--cuts", given).items()}


def _cut(text: str) -> Any:
    """A way, a number of intervals, a way with a number, or points."""
    way, sign, number = text.partition(":")
    try:
        if sign:
            return (way, int(number))
        if "," in text or "." in text:
            return [float(part) for part in text.split(",") if part.strip()]
        return int(text)
    except ValueError:
        if sign or not text.isalpha():
            refusal = (
                f"{text!r} is no way to cut: give mdl, frequency, width, a number of intervals, or points such as 1,5"
            )
            raise typer.BadParameter(refusal, param_hint="--cuts") from None
        return text
