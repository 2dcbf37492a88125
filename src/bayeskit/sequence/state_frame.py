"""From settings to a frame: which columns states emit and how, and what moves they are allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from bayeskit.data.schema import Schema
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.estimate.emissions.emission import Emission, Scale
from bayeskit.estimate.emissions.joint_normals import JointNormals
from bayeskit.estimate.emissions.normals import Normals, SpreadPrior
from bayeskit.estimate.emissions.rates import CountShares, Rates
from bayeskit.estimate.emissions.symbols import Symbols
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.state_moves import MoveRules, stays_of
from bayeskit.models.base.settings import one_of
from bayeskit.sequence.state_beliefs import StateFrame

NUMERIC = ("gaussian", "poisson", "multinomial")
COVARIANCE = ("diagonal", "spherical", "full", "tied")


class FrameSettings(Protocol):
    """What a model was told of its states."""

    states: Any
    smoothing: Any
    transition_smoothing: float
    start_smoothing: float
    numeric: Any
    covariance: str
    variance_floor: float
    variance_weight: float
    mean_weight: float
    start: Any
    transitions: Any
    min_stay: Any
    unseen: str


def check_frame(settings: FrameSettings) -> None:
    """Refuse settings that mean nothing."""
    one_of("covariance", settings.covariance, COVARIANCE)
    one_of("unseen", settings.unseen, ("ignore", "smooth", "error"))
    for kind in settings.numeric.values() if isinstance(settings.numeric, Mapping) else [settings.numeric]:
        one_of("numeric", kind, NUMERIC)
    amounts = settings.smoothing.values() if isinstance(settings.smoothing, Mapping) else [settings.smoothing]
    amount_names = ("transition_smoothing", "start_smoothing", "variance_floor", "variance_weight", "mean_weight")
    named = [
        *(("smoothing", amount) for amount in amounts),
        *((name, getattr(settings, name)) for name in amount_names),
    ]
    for name, amount in named:
        if not is_number(amount) or not 0 <= amount < np.inf:
            raise BayesError(f"{name}={amount!r}: give a number, 0 or more", culprit=amount)


def state_frame(
    settings: FrameSettings,
    schema: Schema,
    states: Sequence[Value],
    values: Mapping[str, Sequence[Value]],
    scales: Mapping[str, Scale],
) -> StateFrame:
    """The frame of columns with these roles, symbols and scales."""
    names = {
        kind: [n for n in schema.measured() if _setting(settings.numeric, n, schema, "gaussian") == kind]
        for kind in NUMERIC
    }
    emissions: list[Emission] = [
        Symbols((name,), tuple(values.get(name, ())), _setting(settings.smoothing, name, schema, 1.0), settings.unseen)
        for name in schema.coded()
    ]
    prior = SpreadPrior(settings.variance_floor, settings.variance_weight, settings.mean_weight)
    if columns := tuple(names["gaussian"]):
        if settings.covariance in ("full", "tied"):
            emissions.append(JointNormals(columns, scales, prior, settings.covariance == "tied"))
        else:
            emissions.append(Normals(columns, scales, prior, settings.covariance == "spherical"))
    if columns := tuple(names["poisson"]):
        emissions.append(Rates(columns, scales))
    if columns := tuple(names["multinomial"]):
        total = sum(scales[name].mean for name in columns)
        emissions.append(CountShares(columns, _setting(settings.smoothing, columns[0], schema, 1.0), total))
    stays = stays_of(settings.min_stay, states)
    order = _order(settings.states, states)
    rules = MoveRules.of(settings.start, settings.transitions, order)
    back = [order.index(state) for state in states]
    rules = MoveRules(rules.fixed_start[back], rules.fixed[np.ix_(back, back)], rules.ties[np.ix_(back, back)])
    return StateFrame(rules, stays, tuple(emissions), settings.transition_smoothing, settings.start_smoothing)


def _order(declared: Any, states: Sequence[Value]) -> list[Value]:
    """The states as the settings list them: that is the order of left to right, and of rows of transitions."""
    if declared is None:
        return list(states)
    listed = [state for state in declared if state in states]
    return [*listed, *(state for state in states if state not in listed)]


def _setting(setting: Any, name: str, schema: Schema, default: Any) -> Any:
    """A setting that columns may have for themselves."""
    if not isinstance(setting, Mapping):
        return setting
    return {schema.find(key): value for key, value in setting.items()}.get(name, default)
