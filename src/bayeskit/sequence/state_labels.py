"""What is known of the states of positions: labels, some of them missing, and which sequences have them throughout."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.schema import as_classes
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, Vocabulary, sort_values
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.state_moves import MoveRules
from bayeskit.sequence.lattice import Observed
from bayeskit.typing import Bools, Ints

UNSEEN = -2  # a label that is no state
SEVERAL = 8  # of what is listed


@dataclass(frozen=True, eq=False)
class StateLabels:
    """The code of each position's state, −1 where it is hidden, None where all are.

    ``whole`` marks the sequences without a hidden one.
    """

    sequences: Sequences
    codes: Ints | None
    whole: Bools

    @classmethod
    def of(cls, sequences: Sequences, states: Sequence[Value]) -> StateLabels:
        """The labels of sequences; one that names no state is refused."""
        if sequences.labels is None:
            return cls(sequences, None, sequences.lengths == 0)
        codes = sequences.coded(sequences.labels, Vocabulary(states), name="state")
        if (codes == UNSEEN).any():
            raise _no_state(sequences, int(np.argmax(codes == UNSEEN)), states)
        hidden = np.concatenate([[0], np.cumsum(codes < 0)])
        return cls(sequences, codes, np.asarray(hidden[sequences.starts[1:]] == hidden[sequences.starts[:-1]]))

    @property
    def labelled(self) -> Sequences:
        """The sequences that are labelled throughout, but for empty ones."""
        return self.sequences.take(self.whole & (self.sequences.lengths > 0))

    @property
    def hidden(self) -> Ints:
        """The numbers of the others."""
        return np.flatnonzero(~self.whole)

    def tell_forbidden(self, rules: MoveRules) -> None:
        """Say where labelled sequences begin or go where it is forbidden: such moves have probability 0, and count
        for nothing."""
        if self.codes is None:
            return
        lengths, starts = self.sequences.lengths, self.sequences.starts
        own = np.flatnonzero(np.repeat(self.whole, lengths))
        begins = np.isin(own, starts[:-1][lengths > 0])
        moves = rules.fixed[self.codes[np.maximum(own - 1, 0)], self.codes[own]]
        bad = own[np.where(begins, rules.fixed_start[self.codes[own]], moves) == 0]
        if len(bad):
            i, step = self.sequences.place(int(bad[0]))
            warnings.warn(
                f"{len(bad):,} labelled steps begin or go where start= or transitions= forbid it, the first being step "
                f"{step} of {self.sequences.name(i - 1)}: they do not count as moves. Change the labels, or allow them",
                BayesWarning,
                stacklevel=4,
            )

    def observed(self, block: Block) -> Observed:
        """The others, with what is known of them, of the block of all."""
        which = ~self.whole
        starts = np.concatenate([[0], np.cumsum(self.sequences.lengths[which])])
        if self.codes is None:  # those that are whole are empty
            return Observed(block, starts)
        rows = np.repeat(which, self.sequences.lengths)
        known = self.codes[rows] + 1
        codes = known.astype(np.uint8 if known.max(initial=0) < 256 else np.uint16) if known.any() else None
        return Observed(block if which.all() else block.take(rows), starts, codes)


def states_of(sequences: Sequences, n_states: Any, declared: Any) -> tuple[Value, ...]:
    """The names of the states: as declared, as labels show them, or numbers; sorted."""
    given = int(n_states) if isinstance(n_states, (int, np.integer)) else None
    if declared is not None:
        states = tuple(as_classes(declared, "state"))
        if given is not None and given != len(states):
            raise BayesError(f"n_states={given} and {len(states)} names in states: they are not as many")
        return tuple(sort_values(states))
    if sequences.labels is not None:
        seen = Vocabulary()
        sequences.coded(sequences.labels, seen, grow=True, name="state")
        if not seen.values:
            raise BayesError("no position has a state: leave out y, and give n_states")
        if given is not None and given != len(seen.values):
            raise BayesError(
                f"n_states={given}, but the labels name {len(seen.values)} states: leave n_states out, or name all "
                "states in states="
            )
        return tuple(sort_values(seen.values))
    if given is None:
        raise BayesError(
            "how many states are there? Give n_states, a number or several to choose from, or the states of the "
            "positions as y"
        )
    return tuple(range(given))


def _no_state(sequences: Sequences, at: int, states: Sequence[Value]) -> BayesError:
    column = sequences.labels
    assert column is not None
    label = column[at].as_py() if hasattr(column[at], "as_py") else column[at]
    i, step = sequences.place(at)
    listed = ", ".join(map(str, states[:SEVERAL])) + (", …" if len(states) > SEVERAL else "")
    return BayesError(
        f"step {step} of {sequences.name(i - 1)} is labelled {label!r}, which is no state ({listed})",
        culprit=label,
        place=(i, step),
    )
