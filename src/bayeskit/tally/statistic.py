"""What a statistic is: something that counts blocks of rows by class, adds up, and can be taken away again.

A new statistic is one class, registered by name; see docs/add_a_statistic.md for one that is written step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from bayeskit.errors import BayesError
from bayeskit.memory import Need
from bayeskit.remedy import OtherModel, Setting
from bayeskit.tally.plan import Request
from bayeskit.tally.space import Recoding, Space
from bayeskit.typing import Array, Bools

if TYPE_CHECKING:
    from bayeskit.tally.block_counts import BlockCounts
    from bayeskit.tally.tally import Tally

Parts = tuple[dict[str, Any], list[Array]]


class Statistic(Protocol):
    """All columns of one kind. Arrays are in the codes of the tally's space, classes and slots of values.

    The methods up to :meth:`from_parts` are each statistic's own; those after it have a default.
    """

    kind: ClassVar[str]
    sets: ClassVar[bool] = False  # True where it counts sets of columns, and not each alone
    gaps: ClassVar[bool] = False  # True where its arrays may hold NaN for a missing cell
    of_classes: ClassVar[bool] = False  # True where it counts the classes themselves, and no column
    local: ClassVar[bool] = False  # True where it holds rows, which only an engine on this machine can count

    @property
    def request(self) -> Request:
        """What asks for this."""
        ...

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Nothing counted: neutral under :meth:`plus`."""
        ...

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """What a block holds, whether its rows have labels or belong to classes by shares."""
        ...

    def recode(self, recoding: Recoding) -> Self:
        """The same counts in other codes; what is new has none."""
        ...

    def plus(self, other: Self) -> Self:
        """All rows of both sides, which have the same codes; columns may stand in another order."""
        ...

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """This side without the other; :class:`NotLearnt` names what cannot have been among it."""
        ...

    def as_float(self) -> Self:
        """The same as sums of weights."""
        ...

    def agrees(self, other: Self) -> bool:
        """The same but for what sums in another order may differ by."""
        ...

    def restrict(self, names: Sequence[str]) -> Self | None:
        """The same for these columns alone; None where nothing is left."""
        ...

    def to_parts(self) -> Parts:
        """(plain header, arrays): what a file holds."""
        ...

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """What :meth:`to_parts` wrote, every shape and number checked; :class:`BadFile` for anything else."""
        ...

    @classmethod
    def alone(cls, request: Request) -> Sequence[str]:
        """Coded columns whose values this wants counted by class: all statistics' in one pass."""
        return ()

    @classmethod
    def needs(cls, request: Request, space: Space) -> Need | None:
        """The memory that counting takes, known before it is taken."""
        return None

    def takes(self) -> Need | None:
        """The memory that was taken, where it was not known before."""
        return None

    def seen(self, column: str) -> Bools | None:
        """Which values of a coded column some row shows; None where this does not know."""
        return None

    def check(self, tally: Tally) -> None:
        """Refuse, with :class:`BadFile`, what cannot stand beside the other statistics of a file."""
        return

    def check_sums(self) -> None:
        """Refuse sums that overflowed while rows were counted."""
        return


_KINDS: dict[str, type[Statistic]] = {}
S = TypeVar("S", bound=type[Statistic])


def register(statistic: S) -> S:
    """Make a statistic known by its kind, to plans and to files. Nothing is imported because a file says so."""
    if _KINDS.setdefault(statistic.kind, statistic) is not statistic:
        raise BayesError(f"another statistic is registered as {statistic.kind!r}")
    return statistic


def check_movable(plan: Iterable[Request]) -> None:
    """Refuse a plan that asks for rows, which stay on this machine, before another engine is asked to count."""
    held = [request.kind for request in plan if statistic_of(request.kind).local]
    if held:
        raise BayesError(
            f"the {held[0]} themselves are asked for, which only this machine can hold: ",
            Setting("engine", clause="fit without {}"),
            ", or use a model that needs counts alone, such as ",
            OtherModel("NaiveBayes"),
        )


def statistic_of(kind: str, refuse: Callable[[str], BayesError] = BayesError) -> type[Statistic]:
    """The statistic that is registered under a name."""
    if kind not in _KINDS:
        raise refuse(f"there is no statistic {kind!r} (known: {', '.join(sorted(_KINDS))})")
    return _KINDS[kind]
