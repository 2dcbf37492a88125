"""Settings of a topic model, refused where they mean nothing."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.errors import BayesError
from bayeskit.models.base.settings import seed_of, whole_number
from bayeskit.topics.document_prior import LEAST, MOST
from bayeskit.topics.sampler import check_progress
from bayeskit.topics.seed_words import seed_lists

MOST_TOPICS = 65_535  # as in native/bindings/topics.cpp
MOST_SWEEPS = 1_000_000
SMALLEST_BETA, LARGEST_BETA = 1e-5, 1e3


def check_settings(model: Any) -> None:
    """Refuse settings that mean nothing."""
    whole_number("n_topics", model.n_topics, 1, MOST_TOPICS)
    whole_number("n_sweeps", model.n_sweeps, 1, MOST_SWEEPS)
    whole_number("seed_weight", model.seed_weight, 1, 1_000_000)
    _check_alpha(model.alpha, model.n_topics)
    if not _is_number(model.beta) or not SMALLEST_BETA <= model.beta <= LARGEST_BETA:
        raise BayesError(f"beta={model.beta!r}: give a number from {SMALLEST_BETA:g} to {LARGEST_BETA:g}")
    for name in ("keep_assignments", "exact"):
        if not isinstance(getattr(model, name), (bool, np.bool_)):
            raise BayesError(f"{name}={getattr(model, name)!r}: give True or False")
    if model.tokenizer is not None and not isinstance(model.tokenizer, Tokenizer):
        raise BayesError(f"tokenizer={model.tokenizer!r}: give a Tokenizer, or None")
    if model.tokenizer is not None and model.tokenizer.hash_bits is not None:
        raise BayesError("topics are known by their words: a tokenizer with hash_bits has none")
    _check_limits(model)
    seed_of(model.random_state) if not isinstance(
        model.random_state, np.random.RandomState | np.random.Generator
    ) else None
    seed_lists(model.seed_words, model.n_topics)
    check_progress(model.progress)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_alpha(alpha: Any, n_topics: int) -> None:
    if isinstance(alpha, str):
        if alpha != "auto":
            raise BayesError(f'alpha={alpha!r}: give "auto", a number, or one for each topic', culprit=alpha)
        return
    try:
        given = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_topics):
        raise BayesError(f"alpha has the shape {given.shape}: give one number, or one for each of {n_topics} topics")
    if isinstance(alpha, bool) or not ((given >= LEAST) & (given <= MOST)).all():
        raise BayesError(f'alpha={alpha!r}: give "auto", or numbers from {LEAST:g} to {MOST:g}', culprit=alpha)


def _check_limits(model: Any) -> None:
    for name in ("min_df", "max_df"):
        limit = getattr(model, name)
        share = isinstance(limit, float) and 0 <= limit <= 1
        if not share and (isinstance(limit, (float, bool)) or not isinstance(limit, Integral) or limit < 1):
            raise BayesError(f"{name}={limit!r}: give a number of documents from 1 on, or a share from 0.0 to 1.0")
    if model.max_features is not None:
        whole_number("max_features", model.max_features, 1, 2**31)
