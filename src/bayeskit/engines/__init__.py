"""Engines: from a source and a plan to a tally, on this machine or where the data lives.

A worker imports :mod:`bayeskit.engines.local` and what it stands on, and no model: names are imported when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.lazy import lazy_names

if TYPE_CHECKING:
    from bayeskit.engines.dask import Dask as Dask
    from bayeskit.engines.databases import sql as sql
    from bayeskit.engines.processes import Processes as Processes
    from bayeskit.engines.spark import Spark as Spark

_HOMES = {
    "Dask": "dask",
    "Processes": "processes",
    "Spark": "spark",
    "sql": "databases",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
