"""Discretizer: numbers become intervals, learned from the classes or from the numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.arrow_arrays import is_arrow
from bayeskit.data.cells import numbers_of, raise_unusable
from bayeskit.data.frames import open_source
from bayeskit.data.reader import read_batch
from bayeskit.data.schema import Numeric, Schema, infer
from bayeskit.data.source import Source
from bayeskit.errors import BayesError
from bayeskit.estimate.cuts import check_cuts, labels, learn_cuts
from bayeskit.models.base.estimator import Transforms, as_wanted, feature_names, seed_of
from bayeskit.models.base.rules import one_of
from bayeskit.tables import Table
from bayeskit.typing import Array


@dataclass(eq=False, repr=False)
class Discretizer(Transforms):
    """Discretize numeric columns into right-closed intervals; missing cells stay missing.

    Parameters
    ----------
    cuts : str, int, tuple, sequence or mapping, default="mdl"
        "mdl" (by the classes; Fayyad and Irani, 1993), "frequency", "width" or "random", one of these with a number of
        intervals such as ``("frequency", 5)``, a number of intervals of equal width, or the cut points; a mapping gives
        some columns their own, and the others are cut by "mdl".
    output : {"labels", "codes"}, default="labels"
        "labels" replaces numbers by readable intervals and keeps all other columns, in a frame of pandas or polars if
        one was given, in an array of objects for a NumPy array, else in a ``Table``; "codes" returns an array of the
        numeric columns with the number of the interval from 0 on, NaN where missing.
    roles : str or mapping, default=None
        As for :class:`NaiveBayes`; only numeric columns are cut.
    random_state : int or generator, default=None
        Seed of "random".
    n_threads : int, default=None
        None for all cores. The result is the same for any number.

    Attributes
    ----------
    cuts_ : dict of str to tuple of float
        The cut points of each numeric column.
    schema_ : Schema
        Roles with cut points. As the ``schema`` of a classifier, it makes the model read raw numbers by these cuts.

    Examples
    --------
    >>> people = {"age": [20.0, 21, 22, 23, 24, 30, 31, 32, 33, 34], "sex": list("fmfmfmfmfm")}
    >>> tool = Discretizer().fit(people, ["no"] * 5 + ["yes"] * 5)
    >>> tool.cuts_
    {'age': (27.0,)}
    >>> print(tool.transform({"age": [19.0, None, 50.0], "sex": ["f", "f", "m"]}))
    age   sex
    ≤ 27  f
    –     f
    > 27  m
    """

    cuts: Any = "mdl"
    output: Literal["labels", "codes"] = "labels"
    roles: Any = None
    random_state: Any = None
    n_threads: int | None = None

    _fitted_attribute: ClassVar[str] = "schema_"
    _fit_takes: ClassVar[str] = "rows and classes"
    _reads_tables: ClassVar[bool] = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the cut points of the numeric columns.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or str, optional
            Classes, required for "mdl".
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        one_of("output", self.output, ("labels", "codes"))
        source = open_source(X, y, sample_weight)
        schema = infer(source.kinds, roles=self.roles, named=source.named)
        if schema.needed != schema.used:
            raise BayesError("a Discretizer cuts numbers: dates are numeric here (seconds since 1970), or ignored")
        chosen: dict[str, Any] = dict.fromkeys(schema.measured, self.cuts)
        if isinstance(self.cuts, Mapping):
            chosen = {**dict.fromkeys(chosen, "mdl"), **{schema.find(key): v for key, v in self.cuts.items()}}
        for spec in chosen.values():
            check_cuts(spec)
        extra = [name for name in chosen if name not in schema.measured]
        if extra:
            raise BayesError(f"column {extra[0]!r} has cuts but is not numeric (it is {schema.columns[extra[0]].name})")
        self.schema_: Schema = learn_cuts(schema, source, chosen, self._threads(), seed_of(self.random_state))
        self._set_features(list(schema.columns), source.named)
        return self

    @property
    def cuts_(self) -> dict[str, tuple[float, ...]]:
        """The cut points of each numeric column."""
        roles = self.schema_.columns.items()
        return {name: role.cuts for name, role in roles if isinstance(role, Numeric) and role.cuts is not None}

    def table(self, column: str | int | None = None) -> Table:
        """Return the intervals of one column, or their number for each column.

        Parameters
        ----------
        column : str or int, optional

        Returns
        -------
        Table
        """
        cuts = self.cuts_
        if column is not None:
            name = self.schema_.find(column)
            if name not in cuts:
                raise BayesError(f"column {name!r} is {self.schema_.columns[name].name}: only numbers have intervals")
            return Table({"interval": labels(cuts[name])})
        return Table({"column": list(cuts), "intervals": [len(c) + 1 for c in cuts.values()]})

    @as_wanted
    def transform(self, X: Any) -> Any:
        """Replace numbers by intervals.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        frame, Table or ndarray
            By the setting ``output``.
        """
        source = open_source(X)
        where = self.schema_.locate(list(source.kinds), source.named)
        coded = {name: [] for name in self.cuts_}  # type: dict[str, list[Array]]
        n_rows = 0
        for batch in source.batches():
            n_rows = batch.start + batch.n_rows
            roles = self.schema_.columns
            numbers = [numbers_of(batch.columns[where[name]], roles[name], name, batch.start) for name in coded]
            for name, x in zip(coded, numbers, strict=True):
                if np.isinf(x).any():
                    raise_unusable({name: x}, batch.start)
            points = [np.array(cuts, dtype=np.float64) for cuts in self.cuts_.values()]
            for parts, codes in zip(coded.values(), kernels.bin_codes(numbers, points, self._threads()), strict=True):
                parts.append(codes)
        if not n_rows:
            raise BayesError("there are no rows: Found array with 0 sample(s) while a minimum of 1 is required.")
        joined = {name: np.concatenate(parts) for name, parts in coded.items()}
        if self.output == "codes":
            out = np.empty((n_rows, len(joined)))
            for j, codes in enumerate(joined.values()):
                np.subtract(codes, 1.0, out=out[:, j])
                out[codes == 0, j] = np.nan
            return out
        at = [list(source.kinds).index(where[name]) for name in self.schema_.used]
        module = type(X).__module__.split(".")[0]
        if module == "pandas" and hasattr(X, "columns"):
            frame = X.iloc[:, at].copy()
            for name, codes in joined.items():
                frame.isetitem(self.schema_.used.index(name), self._names(name)[codes])
            return frame
        if isinstance(X, np.ndarray) and X.ndim == 2:
            cells = np.asarray(X)[:, at].astype(object)
            for name, codes in joined.items():
                cells[:, self.schema_.used.index(name)] = self._names(name)[codes]
            return cells
        labeled = self._labeled(source, where, joined)
        if module == "polars":
            import polars as pl

            return pl.DataFrame(labeled.arrow)
        # set_output cannot make a frame of a Table
        return labeled.to_pandas() if self._wanted() == "pandas" else labeled

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of the fit.

        Returns
        -------
        ndarray of str
        """
        columns = self.schema_.used if self.output == "labels" else list(self.cuts_)
        names = feature_names(self, input_features)
        return np.asarray(names[[list(self.schema_.columns).index(name) for name in columns]], dtype=object)

    def _names(self, name: str) -> npt.NDArray[np.object_]:
        """The cell of each code."""
        return np.array([None, *labels(self.cuts_[name])], dtype=object)

    def _labeled(self, source: Source, where: Mapping[str, str], joined: Mapping[str, Array]) -> Table:
        import pyarrow as pa

        columns: dict[str, Any] = {}
        batch = read_batch(source, [where[name] for name in self.schema_.used if name not in joined])
        for name in self.schema_.used:
            if name in joined:
                columns[name] = pa.array(self._names(name), pa.string()).take(pa.array(joined[name]))
                continue
            cells = batch.columns[where[name]]
            columns[name] = cells if is_arrow(cells) else pa.array(cells, from_pandas=True)
        return Table(columns)
