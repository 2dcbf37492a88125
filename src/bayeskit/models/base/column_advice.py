"""What a person should know of the columns and classes of a fit: other roles, spikes, columns that fell silent."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bayeskit.data.advice import advice, by_role, numbers_as_text, of_memory, together
from bayeskit.data.frames import MemorySource
from bayeskit.data.schema import Schema, declared_roles
from bayeskit.data.source import Batch, Narrowing, Source, first_rows
from bayeskit.errors import AdviceWarning, BayesWarning
from bayeskit.remedy import Remedy, Setting
from bayeskit.tolerance import NOISE

ROWS = 20  # on fewer nothing is advised
SEVERAL = 5  # values of a class that are hardly equal by chance


def advise(source: Source, schema: Schema, roles: Any, decided: Iterable[str], has_told: Callable[[str], bool]) -> None:
    """Warn of columns that may be meant otherwise, with the ``roles=`` that would say so; not of ``decided`` ones."""
    if roles is not None and not isinstance(roles, Mapping):
        return
    declared = {*decided, *declared_roles(roles, source.kinds, schema)}
    undeclared = [name for name in schema.used if schema.input_of(name) not in declared]
    sentences = []
    if source.named and source.target in schema.used:
        reason = f"column {source.target!r} has the name of the target and is learnt from"
        sentences.append(
            by_role(source.target, reason, "if it is the target, pass its name as y, or, to leave it out", "ignore")
        )
    batch = first_rows(source) if undeclared else None
    if batch is not None:
        if source.named:
            texts = [name for name in undeclared if _is_text(name, source, batch)]
            noticed = advice(batch, schema.restrict(undeclared), texts)
        else:
            noticed = numbers_as_text(batch, schema, undeclared)
        sentences += [one if isinstance(source, Narrowing) else of_memory(one) for one in noticed]
    for sentence in together(sentences):
        if not has_told(str(sentence)):
            warnings.warn(sentence, stacklevel=5)


def _is_text(name: str, source: Source, batch: Batch) -> bool:
    """Whether someone has said that a column is no number: categories of a frame, types of a file."""
    if not isinstance(source, MemorySource):
        return name in (getattr(source, "types", None) or {})
    return str(getattr(batch.columns[name], "type", "")).startswith("dictionary")


def advise_spikes(model: Any, source: Source) -> None:
    """Warn of numbers that are one and the same in a whole class, by the tally: a Gaussian leans on such a column."""
    tally, roles = model.tally_, model.roles
    open_roles = model.schema is None and (roles is None or isinstance(roles, Mapping))
    if not source.named or not open_roles or tally.n_rows < ROWS:
        return
    declared = declared_roles(roles, source.kinds, tally.schema)
    total = tally.moments.pooled().squared_deviations()
    constant = (tally.moments.squared_deviations() <= NOISE * total) & (tally.moments.n >= SEVERAL) & (total > 0)
    spikes = [
        (name, int(np.argmax(constant[:, j])))
        for j, name in enumerate(tally.moment_columns)
        if name not in declared and constant[:, j].any()
    ]
    batch = first_rows(source) if spikes else None
    if batch is not None:  # one sentence a column is enough
        spikes = [spike for spike in spikes if next(advice(batch, tally.schema.restrict([spike[0]])), None) is None]
    if not spikes:
        return
    (name, c), others = spikes[0], [repr(other) for other, _ in spikes[1:]]
    more = f", and so {'is' if len(others) == 1 else 'are'} {', '.join(others)} within some class" if others else ""
    value = tally.moments.mean()[c, tally.moment_columns.index(name)]
    role = "categorical" if hasattr(model, "numeric") else "ignore"
    numbers, them = ("their numbers", "them") if others else ("its numbers", "it")
    purpose = f"if {numbers} are codes, pass" if role == "categorical" else f"to leave {them} out, pass"
    warning = AdviceWarning(
        f"column {name!r} is constant within class {tally.classes[c]!r} ({value:.6g}){more}: the model leans on {them}",
        Setting("variance_floor", model.variance_floor, clause=" as far as {} lets it", without=" heavily"),
        f"; {purpose} ",
        Remedy("roles", {spike: role for spike, _ in spikes}),
        culprit=name,
    )
    if not model._has_told(str(warning)):
        warnings.warn(warning, stacklevel=5)


def tell_lost(model: Any, before: Any) -> None:
    """Warn of columns that spoke before more rows came and no longer do: a class came without a number in them."""
    tally, known, now = model.tally_, getattr(before, "silent", ()), getattr(model.params_, "silent", ())
    for name in (*tally.summed, *tally.values):
        if name in known or name not in now:
            continue
        which = "a class"
        if name in tally.summed:
            measured = tally.moments_of([name]).n[:, 0]
            which = f"class {tally.classes[np.argmax((measured <= 0) & (tally.class_counts > 0))]!r}"
        warnings.warn(
            f"column {name!r} is left out from now on, for all classes: {which} has rows but no number in it. Learn "
            "rows of that class with numbers, or forget those without.",
            BayesWarning,
            stacklevel=5,
        )


def tell_one_class(model: Any) -> None:
    """Warn of a model that puts every row in one and the same class."""
    if len(model.classes_) == 1:
        label = model.classes_.tolist()[0]
        sentence = f"there is one class only ({label!r}): every row will be put in it"
        warnings.warn(sentence, BayesWarning, stacklevel=4)
