"""JointDistribution: the probability of every combination of values; every query is a sum over cells.

Formula: P(E ∣ C) as a sum over cells
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayeskit import logspace
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.reader import read_block
from bayeskit.data.schema import NO_TARGET, TYPES, Categorical, Numeric, Schema, as_domain, infer
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value, declared_first, positions
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, BayesWarning, QueryError, SchemaMismatch, format_setting
from bayeskit.estimate.cuts import labels
from bayeskit.estimate.information import NATS_IN_A_BIT, entropy, information_of_cells
from bayeskit.estimate.smoothing import MLE, Dirichlet, Lidstone, as_smoothing, probabilities
from bayeskit.nearest import nearest
from bayeskit.network import persistence
from bayeskit.network.answers import Distribution, conditional_table
from bayeskit.network.junction_tree import draw_columns
from bayeskit.network.learning import collect, open_rows
from bayeskit.network.query import ColumnComparison, Domain, ProbabilityQuery, Statement, parse, parse_statement
from bayeskit.network.variable_elimination import MEMORY_LIMIT, check_cost
from bayeskit.printable import printable
from bayeskit.storage.model_file import Saved, save_new
from bayeskit.tables import ROWS, Grid, Readable, Sheet, Table
from bayeskit.tally.counts import Joints
from bayeskit.tally.plan import Plan
from bayeskit.tolerance import OFF_ONE, SLACK, SUMS_TO_ONE
from bayeskit.typing import Bools, Floats, Ints


class Combinations(Sequence[tuple[Value, ...]]):
    """Lazy sequence of all combinations of values."""

    def __init__(self, values: Mapping[str, Sequence[Value]]) -> None:
        self.values = list(values.values())

    def __len__(self) -> int:
        return prod(len(column_values) for column_values in self.values)

    def __getitem__(self, at: Any) -> Any:
        at, cells = range(len(self))[at], []
        for column_values in reversed(self.values):
            at, i = divmod(at, len(column_values))
            cells.append(column_values[i])
        return tuple(reversed(cells))


class CodedRows(NamedTuple):
    """All rows of a source: codes (0 is missing) and floats by column, with sorted values."""

    values: dict[str, tuple[Value, ...]]
    codes: dict[str, Ints]
    floats: dict[str, Floats]


def read_coded_rows(source: Source, schema: Schema) -> CodedRows:
    """Read all rows of a source, column by column."""
    encoder = Encoder(schema, grow=True)
    block = read_block(encoder, source)
    values, codes = {}, {}
    for name in schema.coded:
        met = encoder.vocabularies[name].values
        values[name] = declared_first((), met)
        codes[name] = np.append(0, positions(met, values[name]) + 1)[block.codes[name].astype(np.int64)]
    return CodedRows(values, codes, {name: block.floats[name] for name in schema.measured})


def categorical_roles(roles: Any, kinds: Mapping[str, Any]) -> Any:
    """Return roles in which undeclared columns are categorical."""
    if roles is None:
        return "categorical"
    if not isinstance(roles, Mapping):
        return roles
    by_type = {TYPES.get(key) for key in roles if isinstance(key, type)}
    return {name: "categorical" for name, kind in kinds.items() if kind not in by_type} | dict(roles)


def enumerate_cells(values: Mapping[str, Sequence[Value]]) -> dict[str, Ints]:
    """Return the code of each variable in every combination, the last variable varying fastest.

    >>> {name: codes.tolist() for name, codes in enumerate_cells({"a": "xy", "b": "uvw"}).items()}
    {'a': [0, 0, 0, 1, 1, 1], 'b': [0, 1, 2, 0, 1, 2]}
    """
    left, right, codes = 1, prod(len(states) for states in values.values()), {}
    for name, states in values.items():
        right //= len(states)
        codes[name] = np.tile(np.repeat(np.arange(len(states)), right), left)
        left *= len(states)
    return codes


if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork


class Independence(NamedTuple):
    """Mutual information I(a; b | given) in nats; for counted rows the G test: 2 n I, degrees of freedom, p-value."""

    mutual_information: float
    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None


class JointDistribution(Readable, Drawable):
    """Joint distribution P(x_1, …, x_n) as a list of cells: values of all variables and their probability.

    Cells of probability zero need not be listed, so a hundred columns are fine if few combinations occur. Use
    :meth:`from_table`, :meth:`from_data` or :meth:`from_network`.

    Parameters
    ----------
    values : dict
        Values of each variable.
    codes : dict
        Position of the value of each variable in every cell, arrays of shape (n_cells,).
    p : ndarray of shape (n_cells,)
        Probability of each cell.
    n_rows : float, optional
        Number of rows, if they were counted.
    cuts : dict, optional
        Cut points of the variables whose values are intervals.

    Attributes
    ----------
    variables : tuple of str

    Examples
    --------
    >>> weather = JointDistribution.from_table({"sky": ["sun", "sun", "rain"], "wet": [True, False, True],
    ...                                         "probability": [0.1, 0.6, 0.3]})
    >>> round(weather.probability("P(sky = rain | wet)"), 9)
    0.75
    >>> weather.n_parameters_                                   # 2 · 2 − 1
    3
    """

    def __init__(
        self,
        values: Mapping[str, Sequence[Value]],
        codes: Mapping[str, Ints],
        p: Floats,
        n_rows: float | None = None,
        cuts: Mapping[str, tuple[float, ...]] | None = None,
    ) -> None:
        self.values = {name: tuple(listed) for name, listed in values.items()}
        self.variables = tuple(self.values)
        self.codes = {name: np.asarray(codes[name], dtype=np.int64) for name in self.variables}
        self.p = p
        self.n_rows = n_rows
        self.cuts = dict(cuts or {})

    # -- construction --------------------------------------------------------------------------------

    @classmethod
    def from_table(cls, data: Any, probability: str | None = None, count: str | None = None) -> JointDistribution:
        """Build from a table with a column per variable and a column of probabilities or counts.

        Probabilities within 1e-3 of summing to one are normalized with a warning; counts are divided by their total.

        Parameters
        ----------
        data : table
        probability : str, optional
            Column of probabilities, by default "probability".
        count : str, optional
            Column of counts, by default "count" if there is no "probability".

        Returns
        -------
        JointDistribution

        Raises
        ------
        BayesError
            If a probability is missing, negative or infinite, or if the probabilities do not sum to one.

        Examples
        --------
        >>> coin = JointDistribution.from_table({"side": ["heads", "tails"], "count": [3, 1]})
        >>> coin.probability("P(side = heads)")
        0.75
        """
        source = open_source(data)
        names = list(source.kinds)
        number = probability or count or next((n for n in ("probability", "count") if n in names), None)
        if number not in names:
            wanted, hint = number or "probability", "name the column that holds them, probability=… or count=…"
            raise SchemaMismatch(f"there is no column {wanted!r} ({nearest(wanted, names)})", hint=hint)
        is_count = count is not None or (probability is None and number == "count")
        rest = [name for name in names if name != number]
        if not rest:
            raise SchemaMismatch(f"there is no column beside {number!r}: a distribution is over at least one variable")
        cells = read_coded_rows(source, Schema({n: Numeric() if n == number else Categorical() for n in names}))
        weights = cells.floats[number]
        for what, bad in (
            ("not a number", np.isnan(weights)),
            ("negative", weights < 0),
            ("infinite", np.isinf(weights)),
        ):
            if bad.any():
                row = int(np.argmax(bad))
                raise BayesError(f"row {row} has the {number} {weights[row]}, which is {what}")
        for name in rest:
            if not cells.codes[name].all():
                raise BayesError(f"row {int(np.argmin(cells.codes[name]))} has no value of {name!r}: fill it in")
        total = float(weights.sum())
        if not total > 0 or (not is_count and abs(total - 1) > SLACK):
            hint = f"correct the table, or pass {format_setting('count', number)} if these are counts"
            raise BayesError(f"the column {number!r} sums to {total:.9g}, not to one", hint=hint)
        if not is_count and abs(total - 1) > OFF_ONE:
            warnings.warn(f"the probabilities sum to {total:.9g}; they were normalized", BayesWarning, stacklevel=2)
        p = weights if abs(total - 1) <= SUMS_TO_ONE else weights / total
        codes = {name: cells.codes[name] - 1 for name in rest}
        whole = cls({name: cells.values[name] for name in rest}, codes, p, total if is_count else None)
        return whole.marginal(*rest)

    @classmethod
    def from_data(
        cls,
        data: Any,
        smoothing: Any = 0,
        *,
        roles: Any = None,
        domains: Mapping[str, Iterable[Any]] | None = None,
        engine: Any = None,
        memory_limit: int = MEMORY_LIMIT,
    ) -> JointDistribution:
        """Estimate the distribution as relative frequencies of rows.

        Rows with a missing cell are skipped with a warning.

        Parameters
        ----------
        data : table
            Numbers are values like any other. A Spark or Dask frame is counted where it is.
        smoothing : float, str or smoothing, default=0
            Any smoothing above zero lists all possible combinations.
        roles : dict, optional
            Leave columns out ("ignore") or cut numbers.
        domains : dict, optional
            Values of columns.
        engine : Processes, Spark or Dask, optional
            Where to count, as for :meth:`NaiveBayes.fit_source`.
        memory_limit : int, default=4 GiB

        Returns
        -------
        JointDistribution

        Examples
        --------
        >>> JointDistribution.from_data({"a": [0, 0, 1], "b": [0, 1, 1]}).probability("P(a = 1 | b = 1)")
        0.5
        """
        source = open_rows(data, engine=engine)
        schema = infer(source.kinds, roles=categorical_roles(roles, source.kinds), named=source.named)
        schema = schema.replace({schema.find(n): Categorical(as_domain(v, n)) for n, v in (domains or {}).items()})
        schema = replace(schema, target=NO_TARGET)
        names = tuple(schema.coded)
        tally = collect(source, schema, Plan(families=names, joints=(names,)), memory_limit)
        counted_together = tally.statistics[Joints.kind]
        assert isinstance(counted_together, Joints)
        joint = counted_together.tables[names]
        complete = (joint.cells > 0).all(axis=1)
        counts = joint.counts[complete, 0]
        if not complete.any():
            raise BayesError("there is no row without a missing cell, so nothing can be counted")
        n = counts.sum().item()
        if not complete.all():
            skipped = f"{tally.n_rows - n} of {tally.n_rows} rows have a missing cell and were left out"
            warnings.warn(skipped, BayesWarning, stacklevel=2)
        codes = dict(zip(names, joint.cells[complete].T.astype(np.int64) - 1, strict=True))
        cuts = {n: r.cuts for n in names if isinstance(r := schema.columns[n], Numeric) and r.cuts is not None}
        values = {n: labels(cuts[n]) if n in cuts else tally.space.values[n] for n in names}
        counted = cls(values, codes, counts / n, n, cuts).marginal(*names)
        rule = as_smoothing(smoothing)
        return counted if rule in (MLE(), Lidstone(0), Dirichlet(1)) else counted._smoothed(rule, memory_limit)

    @classmethod
    def from_network(cls, network: BayesianNetwork) -> JointDistribution:
        """Return the joint distribution of all nodes of a network.

        Parameters
        ----------
        network : BayesianNetwork

        Returns
        -------
        JointDistribution

        Raises
        ------
        TooLarge
            If the list of all combinations exceeds the network's memory limit.
        """
        _check_cells(network.states, 4, network.memory_limit)
        table, log_scale = network._joint_table(range(len(network.nodes)), {})
        dense = table.reshape(-1) * float(logspace.exp(log_scale))
        return cls(network.states, enumerate_cells(network.states), dense, None, network.cuts)

    def _smoothed(self, rule: Any, memory_limit: int = MEMORY_LIMIT) -> JointDistribution:
        """Smooth the counts of all possible combinations."""
        counts = np.zeros((1, _check_cells(self.values, 2, memory_limit)))
        counts[0, self._cell_numbers(self.variables)] = self.p * float(self.n_rows or 1)
        counts = np.rint(counts) if self.n_rows == int(self.n_rows or 0) else counts
        p = probabilities(counts, rule.pseudo_counts(Combinations(self.values), counts))[0]
        return JointDistribution(self.values, enumerate_cells(self.values), p, self.n_rows, self.cuts)

    # -- persistence ---------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the distribution to a ``.bayes`` file for :func:`bayeskit.load`.

        Parameters
        ----------
        path : str or Path
        """
        save_new(path, self._to_saved())

    def _to_saved(self) -> Saved:
        """Return the content of a model file."""
        persistence.check_class(self, JointDistribution)
        return persistence.joint_content(self)

    @classmethod
    def _of_saved(cls, saved: Saved) -> JointDistribution:
        """Restore the distribution from a file."""
        return cls(*persistence.joint_parts(saved.wrapped()))

    # -- queries -------------------------------------------------------------------------------------

    def probability(self, query: str) -> float:
        """Return P(event | condition) of a query such as ``"P(sky = rain | wet)"``.

        Parameters
        ----------
        query : str

        Returns
        -------
        float
        """
        question = parse(query)
        question.check_asks_probability()
        known, p, total = self._where(question)
        return min(1.0, float(p[self._holds(question, question.event)[known]].sum()) / total)

    def distribution(self, query: str) -> Distribution:
        """Return the distribution of a variable, for a query such as ``"P(sky | wet)"`` or ``"E(eyes | …)"``.

        Parameters
        ----------
        query : str

        Returns
        -------
        Distribution

        Examples
        --------
        >>> dice = JointDistribution.from_table({"eyes": [1, 2, 3, 4, 5, 6], "count": [1] * 6})
        >>> dice.distribution("E(eyes | eyes > 3)").mean
        5.0
        """
        question = parse(query)
        name = question.queried_variable("variable")
        known, p, total = self._where(question)
        if question.asks == "E":
            question.check_numbers(self._domains[name])
        shares = np.bincount(self.codes[name][known], weights=p, minlength=len(self.values[name])) / total
        return Distribution(name, self.values[name], shares)

    def _where(self, question: ProbabilityQuery) -> tuple[Bools | slice, Floats, float]:
        """Return the cells that match the condition, their probabilities and the sum."""
        question.check_columns(self.variables)
        known = self._holds(question, question.condition) if question.condition is not None else slice(None)
        p = self.p[known]
        total = float(p.sum())
        if total == 0:
            raise question.impossible_condition_error()
        return known, p, total

    def given(self, condition: str | Mapping[str, Any]) -> JointDistribution:
        """Return the conditional distribution given a statement.

        Parameters
        ----------
        condition : str or dict
            ``"sky = sun and not wet"``, or ``{"sky": "sun"}``.

        Returns
        -------
        JointDistribution
        """
        matching = self._matching(condition)
        total = float(self.p[matching].sum())
        if total == 0:
            raise QueryError(f"the condition {condition} has probability 0, so nothing can be said given it")
        return self._restrict(matching, total)

    def marginal(self, *names: str | Sequence[str]) -> JointDistribution:
        """Return the distribution of some variables, the others summed out.

        Parameters
        ----------
        *names : str or sequence of str

        Returns
        -------
        JointDistribution
        """
        chosen = [self._find(name) for name in _all_names(names)]
        if not chosen:
            raise BayesError("name at least one variable to keep")
        cell = self._cell_numbers(chosen)
        _, first, which = np.unique(cell, return_index=True, return_inverse=True)
        p: Floats = np.bincount(which, weights=self.p).astype(np.float64)
        codes = {name: self.codes[name][first] for name in chosen}
        cuts = {name: cut for name, cut in self.cuts.items() if name in chosen}
        return JointDistribution({name: self.values[name] for name in chosen}, codes, p, self.n_rows, cuts)

    def conditional(self, target: str, *given: str | Sequence[str]) -> Table:
        """Return P(target | given), one row per possible combination of the given variables.

        Parameters
        ----------
        target : str
        *given : str or sequence of str

        Returns
        -------
        Table
        """
        target, known = self._find(target), [self._find(name) for name in _all_names(given)]
        both = self.marginal(*known, target)
        _, first, context = np.unique(both._cell_numbers(known), return_index=True, return_inverse=True)
        n, n_states = len(first), len(self.values[target])
        check_cost(16 * n * n_states, MEMORY_LIMIT, f"the table of {target!r} in {n:,} contexts")
        table = np.zeros((n, n_states))
        table[context, both.codes[target]] = both.p
        can = table.sum(axis=1) > 0
        table = table[can] / table[can].sum(axis=1, keepdims=True)
        given_values = {name: [self.values[name][i] for i in both.codes[name][first[can]]] for name in known}
        return conditional_table(target, self.values[target], given_values, table)

    def expectation(
        self, of: str | Callable[[dict[str, Any]], Any], given: str | Mapping[str, Any] | None = None
    ) -> float:
        """Return the mean of a numeric variable, or of a function of the columns.

        Parameters
        ----------
        of : str or callable
            A function takes a dict of arrays by column.
        given : str or dict, optional
            Condition, as in :meth:`given`.

        Returns
        -------
        float

        Examples
        --------
        >>> dice = JointDistribution.from_table({"eyes": [1, 2, 3, 4, 5, 6], "count": [1] * 6})
        >>> dice.expectation("eyes"), dice.expectation("eyes", "eyes > 3"), dice.expectation(lambda c: c["eyes"] ** 2)
        (3.5, 5.0, 15.166666666666666)
        """
        here = self if given is None else self.given(given)
        if callable(of):
            numbers = np.asarray(of({name: np.array(here._listed(name)) for name in here.variables}), dtype=np.float64)
        else:
            domain = self._domains[self._find(of)]
            if not domain.numeric or domain.cuts is not None:
                raise QueryError(f"{of!r} has no mean, for its values are not numbers: {list(self.values[of])[:6]}")
            numbers = np.array(self.values[of], dtype=np.float64)[here.codes[of]]
        return float(np.sum(here.p * numbers))

    def entropy(self, *names: str | Sequence[str], given: Sequence[str] | str = (), bits: bool = False) -> float:
        """Return H(names | given) = −Σ P ln P(names | given), of all variables by default.

        Parameters
        ----------
        *names : str or sequence of str
        given : str or sequence of str, optional
        bits : bool, default=False
            Return bits instead of nats.

        Returns
        -------
        float
        """
        other = _names(given)
        chosen = [n for n in (_all_names(names) or self.variables) if n not in other]
        if not chosen:
            return 0.0
        nats = entropy(self.marginal(*chosen, *other).p) - (entropy(self.marginal(*other).p) if other else 0.0)
        return max(0.0, nats) / (NATS_IN_A_BIT if bits else 1.0)

    def mutual_information(
        self, a: str | Sequence[str], b: str | Sequence[str], given: Sequence[str] | str = (), bits: bool = False
    ) -> float:
        """Return I(a; b | given) = Σ P(a, b, g) ln P(a, b | g) / P(a | g) P(b | g).

        Parameters
        ----------
        a, b : str or sequence of str
        given : str or sequence of str, optional
        bits : bool, default=False
            Return bits instead of nats.

        Returns
        -------
        float
            Zero for independent variables.

        Examples
        --------
        >>> bits = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "xor": [0, 1, 1, 0], "count": [1] * 4}
        >>> xor = JointDistribution.from_table(bits)
        >>> xor.mutual_information("a", "xor"), round(xor.mutual_information("a", "xor", given="b", bits=True), 9)
        (0.0, 1.0)
        """
        left, right, known = _names(a), _names(b), _names(given)
        every = self.marginal(*dict.fromkeys([*left, *right, *known]))
        every = every._restrict(every.p > 0)
        both, of_a, of_b = (
            every._cell_numbers(list(dict.fromkeys([*group, *known]))) for group in ([*left, *right], left, right)
        )
        nats = information_of_cells(every.p, both, of_a, of_b, every._cell_numbers(known) if known else None)
        return nats / (NATS_IN_A_BIT if bits else 1.0)

    def independence(self, a: str, b: str, given: Sequence[str] | str = ()) -> Independence:
        """Test the independence of a and b given others; for counted rows with the G test.

        Parameters
        ----------
        a, b : str
        given : str or sequence of str, optional

        Returns
        -------
        Independence
        """
        information = self.mutual_information(a, b, given)
        contexts = prod(len(self.values[g]) for g in _names(given))
        freedom = (len(self.values[a]) - 1) * (len(self.values[b]) - 1) * contexts
        if self.n_rows is None:
            return Independence(information, None, freedom, None)
        from scipy.special import chdtrc

        statistic = 2 * self.n_rows * information
        return Independence(information, statistic, freedom, float(chdtrc(freedom, statistic)) if freedom else 1.0)

    def argmax(self, given: str | Mapping[str, Any] | None = None) -> tuple[dict[str, Value], float]:
        """Return the most probable combination of values and its probability; ties go to the first.

        Parameters
        ----------
        given : str or dict, optional

        Returns
        -------
        values : dict
        probability : float
        """
        here = self if given is None else self.given(given)
        at = int(np.argmax(here.p))
        return {name: self.values[name][here.codes[name][at]] for name in self.variables}, float(here.p[at])

    def sample(self, n: int, random_state: Any = None) -> Table:
        """Draw rows from the distribution.

        Parameters
        ----------
        n : int
        random_state : int, optional

        Returns
        -------
        Table
        """
        drawn = draw_columns(self.p[None], np.zeros(n, dtype=np.int64), np.random.default_rng(random_state))
        return Table({name: [self.values[name][i] for i in self.codes[name][drawn]] for name in self.variables})

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters of a full table: Π values − 1."""
        return prod(len(listed) for listed in self.values.values()) - 1

    @property
    def n_cells(self) -> int:
        """Number of listed combinations."""
        return len(self.p)

    def table(self) -> Table:
        """Return the list of cells.

        Returns
        -------
        Table
        """
        columns: dict[str, Any] = {name: self._listed(name) for name in self.variables}
        return Table(columns | {"probability": self.p.tolist()})

    @property
    def sheet(self) -> Sheet:
        """Variables and first cells, for display."""
        first = {name: self._listed(name, ROWS) for name in self.variables} | {"probability": self.p[:ROWS].tolist()}
        return Sheet(repr(self)[1:-1], (Grid(first, more=max(self.n_cells - ROWS, 0)),))

    def __repr__(self) -> str:
        names = ", ".join(self.variables[:8]) + (", …" if len(self.variables) > 8 else "")
        return printable(f"<JointDistribution of {names}: {self.n_cells} cells>", keep="")

    # -- internals -----------------------------------------------------------------------------------

    @cached_property
    def _domains(self) -> dict[str, Domain]:
        return {name: Domain(name, self.values[name], self.cuts.get(name)) for name in self.variables}

    def _restrict(self, cells: Bools, total: float = 1.0) -> JointDistribution:
        """Return the distribution of some cells, whose probabilities sum to ``total``."""
        codes = {name: column[cells] for name, column in self.codes.items()}
        rows = None if self.n_rows is None else self.n_rows * total
        return JointDistribution(self.values, codes, self.p[cells] / total, rows, self.cuts)

    def _listed(self, name: str, n: int | None = None) -> list[Value]:
        """Return the value of a variable in each cell, or in the first n."""
        return [self.values[name][i] for i in self.codes[name][:n]]

    def _find(self, name: str) -> str:
        if not isinstance(name, str) or name not in self.values:
            raise SchemaMismatch(f"there is no variable {name!r}: {nearest(name, self.variables)}")
        return name

    def _matching(self, condition: str | Mapping[str, Any]) -> Bools:
        if isinstance(condition, str):
            question = parse_statement(condition)
            return self._holds(question, question.event)
        held = np.ones(self.n_cells, dtype=bool)
        for name, value in condition.items():
            known = self.values[self._find(name)]
            if value not in known:
                raise QueryError(f"{name!r} has no value {value!r}: {nearest(value, known)}")
            held &= self.codes[name] == known.index(value)
        return held

    def _holds(self, question: ProbabilityQuery, statement: Statement) -> Bools:
        question.check_columns(self.variables)

        def leaf(comparison: ColumnComparison) -> Bools:
            return question.values_where(comparison, self._domains[comparison.column])[self.codes[comparison.column]]

        return statement.evaluate(leaf)

    def _cell_numbers(self, names: Sequence[str]) -> Ints:
        """Number the cells by their values of some variables."""
        cell = np.zeros(self.n_cells, dtype=np.int64)
        fits = prod(len(self.values[name]) for name in names) < 2**62
        for name in names:
            cell = cell * len(self.values[name]) + self.codes[name]
            if not fits:  # too many for int64: renumber at every step
                cell = np.unique(cell, return_inverse=True)[1]
        return cell


def _check_cells(values: Mapping[str, Sequence[Value]], columns: int, memory_limit: int) -> int:
    """Return the number of combinations; raise an error if they and some columns exceed the memory limit."""
    n = prod(map(len, values.values()))
    check_cost(8 * n * (columns + len(values)), memory_limit, "the list of every combination of values")
    return n


def _all_names(names: Sequence[str | Sequence[str]]) -> list[str]:
    """Flatten names given one by one or in lists."""
    return [name for some in names for name in _names(some)]


def _names(names: Sequence[str] | str) -> list[str]:
    return list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
