"""Transition and lexical probabilities of a part-of-speech tagger, from its counts.

Transitions P(state ∣ the two before it) follow from deleted interpolation (Brants 2000, "TnT").

The candidate states of a word, known or not, come from its own counts smoothed by those of its suffix (Samuelsson
1993). All nodes form one tree. Below the share of each state stands the shape of a word (first letter lower case, upper
case or neither), below it whether it has a digit or a hyphen, then its last letter, its last two, up to ten; and below
the longest known suffix, the word itself. Suffixes are those of words seen ten times or less, because an unknown word
resembles rare ones. So every node but the words is a prefix of a *form*: shape, marks and the word reversed; and sorted
forms are the tree in depth-first order.

Formula: P(c ∣ a, b) = l₁ P(c) + l₂ P(c ∣ b) + l₃ P(c ∣ a, b)
Formula: P = (counts + m · P_parent) / (n + m)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bayeskit import kernels, logspace
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.word_list import Words, take_ranges
from bayeskit.tally.tags import TagCounts
from bayeskit.typing import Bools, Floats, Ints


class TrigramTable(NamedTuple):
    """ln P(c | a, b) of states; state S marks the start as a or b, and the end as c.

    ``pairs`` (S + 1, S + 1) holds ln P(c | b) for every c not seen after (a, b). ``contexts`` (S + 1, S + 1) is the
    number i of the pair (a, b), or -1. Pair i was followed by ``successors[indptr[i]:indptr[i + 1]]``: a hash table of
    a power of two of slots, addressed by :func:`first_slot`, in which -1 marks a free slot.
    """

    pairs: Floats
    contexts: npt.NDArray[np.int32]
    indptr: Ints
    successors: npt.NDArray[np.int32]
    logs: Floats


def interpolation(counts: TagCounts) -> Floats:
    """Return the weights (l₁, l₂, l₃) of the orders.

    Each trigram, left out once, votes by its count for the order that predicts it best. The shorter order wins ties.
    """
    n, (a, b, c) = counts.triple_counts.astype(np.float64), counts.triples().T
    size = len(counts.states) + 1
    contexts, context = np.unique(a * size + b, return_inverse=True)
    pairs, pair = np.unique(b * size + c, return_inverse=True)
    before = np.bincount(context, n, len(contexts))[context]
    middle, last = np.bincount(b, n, size)[b], np.bincount(c, n, size)[c]
    orders = [(last, n.sum()), (np.bincount(pair, n, len(pairs))[pair], middle), (n, before)]
    shares = [np.divide(count - 1, all_ - 1, out=np.zeros(len(n)), where=all_ > 1) for count, all_ in orders]
    votes = np.bincount(np.argmax(shares, axis=0), n, 3)
    return np.asarray(votes / votes.sum())


def log_transitions(counts: TagCounts) -> TrigramTable:
    """Return ln P(c | a, b) of the states seen after (a, b), and ln P without the term of l₃ for the others.

    >>> from bayeskit.data.text.word_list import Words
    >>> from bayeskit.tally.tags import TagState
    >>> path = np.array([0, 1, 0, 1])
    >>> seen = TagCounts.of(Words.of("ab"), path, [TagState("D"), TagState("N")], path, np.array([0, 2, 4]))
    >>> made = log_transitions(seen)
    >>> made.contexts.tolist(), made.indptr.tolist(), made.successors.tolist()
    ([[-1, 0, -1], [-1, -1, -1], [1, -1, 2]], [0, 2, 4, 6], [2, -1, -1, 1, 0, -1])
    """
    weights, n = interpolation(counts), counts.triple_counts.astype(np.float64)
    (a, b, c), size = counts.triples().T, len(counts.states) + 1
    table = np.zeros((size, size))
    np.add.at(table, (b, c), n)
    ends = table.sum(axis=0)
    table *= weights[1] / np.maximum(table.sum(axis=1, keepdims=True), 1)
    table += weights[0] * ends / ends.sum()
    contexts, context = np.unique(a * size + b, return_inverse=True)
    numbers = np.full((size, size), -1, dtype=np.int32)
    numbers[contexts // size, contexts % size] = np.arange(len(contexts))
    seen = table[b, c] + weights[2] * n / np.bincount(context, n, len(contexts))[context]
    indptr, slots = _slots(context, c, len(contexts))
    successors, logs = np.full(indptr[-1], -1, dtype=np.int32), np.zeros(indptr[-1])
    successors[slots], logs[slots] = c, logspace.log(seen)
    return TrigramTable(logspace.log(table), numbers, indptr, successors, logs)


def _slots(context: Ints, states: Ints, n_contexts: int) -> tuple[Ints, Ints]:
    """Return the start of the hash table of each context, twice as large as needed, and the slot of each state."""
    counts = np.bincount(context, minlength=n_contexts)
    sizes = 1 << np.ceil(np.log2(2 * counts)).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    slots, free = np.empty(len(context), dtype=np.int64), np.ones(indptr[-1], dtype=bool)
    waiting, probe = np.arange(len(context)), first_slot(states)
    while len(waiting):
        at = indptr[context[waiting]] + (probe[waiting] & sizes[context[waiting]] - 1)
        wanted, first = np.unique(at, return_index=True)
        placed = first[free[wanted]]
        slots[waiting[placed]] = at[placed]
        free[at[placed]] = False
        waiting = np.delete(waiting, placed)
        probe[waiting] += 1
    return indptr, slots


def first_slot(states: Ints) -> Ints:
    """Hash states: the slot of a pair's table that is probed first, modulo the table's size."""
    return (states * 2654435769 & 0xFFFFFFFF) >> 16


RARE = 10  # largest count of a word whose suffixes are used for unknown words
LONGEST = 10  # letters of a suffix
OWN = 0.5  # weight m of the suffix of a known word
SMALL = 1.0  # the same for a word known in lower case only
WITHIN = 7.0  # states less probable than e^-7 times the best of a word are not tried
SHAPES, MARKS = ["l", "o", "u"], ["a", "b", "c", "d"]  # letters that stand for them in a form

Ids = npt.NDArray[np.int32]


class Spans(NamedTuple):
    """Word i may be in ``states[k]``, which score ``scores[k]``, k from first[i] to last[i]."""

    first: Ints
    last: Ints
    states: Ids
    scores: Floats


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in depth-first order: their parents (-1 at the top), depths, weights m, and counts by state."""

    parent: Ints
    depth: Ids
    weight: Floats
    indptr: Ints
    states: Ids
    counts: Floats

    def take(self, nodes: Ints, depth: Ids, weight: Floats) -> Tree:
        """Return some of the nodes as another tree."""
        indptr, cells = take_ranges(self.indptr, nodes)
        return Tree(np.full(len(nodes), -1), depth, weight, indptr, self.states[cells], self.counts[cells])

    def candidates(self, base: Floats) -> tuple[Ints, Ids, Floats]:
        """Return (indptr, states, scores) of each node, from the kernel."""
        return kernels.tree_candidates(self.depth, self.weight, self.indptr, self.states, self.counts, base, WITHIN)

    def chains(self, nodes: Ints) -> tuple[Ints, Bools]:
        """Return the ancestors of nodes and themselves by depth, (n_nodes, n_depths), and a mask of existing ones."""
        above = np.full((len(nodes), int(self.depth.max(initial=0)) + 1), -1, dtype=np.int64)
        rows, at = np.flatnonzero(nodes >= 0), nodes[nodes >= 0]
        while len(rows):
            above[rows, self.depth[at]] = at
            at = self.parent[at]
            rows, at = rows[at >= 0], at[at >= 0]
        return above, above >= 0


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The tree of suffixes and words, their nodes, and the candidate states of each node."""

    tree: Tree
    base: Floats
    endings: Words
    ending_nodes: Ints
    words: Words
    word_nodes: Ints
    candidates: tuple[Ints, Ids, Floats]

    @classmethod
    def of(cls, counts: TagCounts) -> Lexicon:
        """Build the lexicon from the counts of words in states."""
        words = pa.array(counts.words.tolist(), type=pa.large_string())
        shares = counts.state_counts() / counts.pair_counts.sum()
        n_seen = np.bincount(counts.pair_words, counts.pair_counts, len(words))
        forms, rare = _forms(words), n_seen <= RARE
        endings = Words.of(_beginnings(forms.filter(pa.array(rare))))
        above = _find_suffixes(forms, endings)
        sizes = np.array([len(ending) for ending in endings], dtype=np.int64)
        # In the order of the tree: an ending, the words below it, longer endings.
        rank = np.concatenate([2 * np.arange(len(endings)), 2 * above[:, -1] + 1])
        order = np.argsort(rank, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        ending_nodes, word_nodes = place[: len(endings)], place[len(endings) :]
        node = np.append(ending_nodes, -1)[above]  # (words, depths)
        parent, depth = np.full(len(order), -1, dtype=np.int64), np.zeros(len(order), dtype=np.int32)
        depth[ending_nodes] = sizes - 1
        for shorter, longer in zip(node.T[:-2], node.T[1:-1], strict=True):
            parent[longer[longer >= 0]] = shorter[longer >= 0]
        parent[word_nodes] = node[:, -1]
        depth[word_nodes] = np.where(node[:, -1] >= 0, depth[node[:, -1]] + 1, 0)
        indptr, states, held = _node_counts(counts, node[:, :-1], word_nodes, rare, len(order))
        weight = np.full(len(order), OWN)
        n_held = np.bincount(np.repeat(np.arange(len(order)), np.diff(indptr)), held, len(order))
        weight[ending_nodes] = _suffix_weight(counts) * n_held[ending_nodes]
        tree = Tree(parent, depth, weight, indptr, states, held)
        return cls(tree, shares, endings, ending_nodes, counts.words, word_nodes, tree.candidates(shares))

    def spans(self, words: pa.Array) -> tuple[Spans, Bools]:
        """Return the candidates of words and a mask of known words."""
        cut = Documents.of(words)
        place = self.words.index.find(cut.data, cut.offsets)
        known = place >= 0
        node = np.append(self.word_nodes, -1)[place]
        indptr, states, scores = self.candidates
        first, last = indptr[node], indptr[node + 1]  # where none is known yet: anything, for now
        if not known.all():
            distinct = words.filter(pa.array(~known)).dictionary_encode()
            new = self._unknown(distinct.dictionary)
            of_word = np.asarray(distinct.indices)
            first[~known], last[~known] = new.first[of_word], new.last[of_word]
            states, scores = new.states, new.scores
        return Spans(first, last, states, scores), known

    def _unknown(self, words: pa.Array) -> Spans:
        """Return the candidates of unknown words, from their suffix and their lower-case form."""
        above = _find_suffixes(_forms(words), self.endings)[:, -1]
        node = np.append(self.ending_nodes, -1)[above]
        indptr, states, scores = self.candidates
        small = Documents.of(pc.utf8_lower(words))
        lower = self.words.index.find(small.data, small.offsets)
        alone = np.flatnonzero((lower >= 0) | (node < 0))  # those whose belief is not that of a node
        chain, there = self.tree.chains(node[alone])
        leaf = np.append(self.word_nodes, -1)[lower[alone]]
        nodes = np.column_stack([chain, leaf])
        depth = np.tile(np.arange(nodes.shape[1]), (len(alone), 1))
        depth[:, -1] = there.sum(axis=1)
        on_path = np.column_stack([there, np.ones(len(alone), dtype=bool)])
        at, weight = nodes[on_path], np.where(nodes >= 0, self.tree.weight[nodes], 0.0)
        weight[:, -1] = SMALL
        paths = self.tree.take(np.maximum(at, 0), depth[on_path].astype(np.int32), weight[on_path])
        if (at < 0).any():  # nothing is known of the word at all: it believes what the base says
            paths = _without_counts(paths, at < 0)
        more_indptr, more_states, more_scores = paths.candidates(self.base)
        leaves = np.cumsum(on_path.sum(axis=1)) - 1
        first, last = indptr[node].copy(), indptr[node + 1].copy()
        first[alone], last[alone] = len(states) + more_indptr[leaves], len(states) + more_indptr[leaves + 1]
        return Spans(first, last, np.concatenate([states, more_states]), np.concatenate([scores, more_scores]))


def _suffix_weight(counts: TagCounts) -> float:
    """Return the weight of a shorter suffix beside a longer one: the standard deviation of the shares of the tags."""
    _, n = counts.tag_counts()
    return float(np.std(n / n.sum(), ddof=1)) if len(n) > 1 else 1.0


def _forms(words: pa.Array) -> pa.Array:
    """Return shape, marks and the reversed last letters of each word.

    >>> _forms(pa.array(["Dogs", "x-2"])).to_pylist()
    ['uasgod', 'ld2-x']
    """
    initial = pc.utf8_slice_codeunits(words, 0, 1)
    shape = np.where(pc.utf8_is_lower(initial), 0, np.where(pc.utf8_is_upper(initial), 2, 1))
    marks = np.asarray(pc.match_substring_regex(words, r"\p{Nd}")) + 2 * np.asarray(pc.match_substring(words, "-"))
    ending = pc.utf8_slice_codeunits(pc.utf8_reverse(pc.utf8_lower(words)), 0, LONGEST)
    large = pa.large_string()
    shapes, marked = pa.array(SHAPES, large).take(pa.array(shape)), pa.array(MARKS, large).take(pa.array(marks))
    return pc.binary_join_element_wise(shapes, marked, ending.cast(large), pa.scalar("", large))


def _beginnings(forms: pa.Array) -> Any:
    """Return all prefixes of the forms."""
    lengths = range(1, LONGEST + 3)
    return {text for n in lengths for text in pc.unique(pc.utf8_slice_codeunits(forms, 0, n)).to_pylist()}


def _find_suffixes(forms: pa.Array, endings: Words) -> Ints:
    """Return the suffix of each length, (n_forms, n_lengths), -1 if unknown; the longest is the last column."""
    n = pc.utf8_length(forms).to_numpy()
    places = np.full((len(forms), LONGEST + 3), -1, dtype=np.int64)
    for length in range(1, LONGEST + 3):
        cut = Documents.of(pc.utf8_slice_codeunits(forms, 0, length))
        places[:, length - 1] = np.where(n >= length, endings.index.find(cut.data, cut.offsets), -1)
        places[:, -1] = np.where(places[:, length - 1] >= 0, places[:, length - 1], places[:, -1])
    return places


def _node_counts(
    counts: TagCounts, node: Ints, word_nodes: Ints, rare: Bools, n_nodes: int
) -> tuple[Ints, Ids, Floats]:
    """Return (indptr, states, counts) of the nodes: counts of words, and of the rare words with each suffix."""
    n_states, of_word = len(counts.states), counts.pair_words
    places = [word_nodes[of_word], *(np.where(rare, column, -1)[of_word] for column in node.T)]
    keys = np.concatenate([np.where(place >= 0, place * n_states + counts.pair_states, -1) for place in places])
    held = np.tile(counts.pair_counts.astype(np.float64), len(places))
    cells, cell = np.unique(keys[keys >= 0], return_inverse=True)
    sizes = np.bincount(cells // n_states, minlength=n_nodes)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return (
        indptr,
        (cells % n_states).astype(np.int32),
        np.bincount(cell, held[keys >= 0], len(cells)).astype(np.float64),
    )


def _without_counts(tree: Tree, which: Bools) -> Tree:
    """Return the tree with the counts of some nodes removed."""
    sizes = np.diff(tree.indptr)
    counted = ~np.repeat(which, sizes)
    indptr = np.concatenate([[0], np.cumsum(np.where(which, 0, sizes))]).astype(np.int64)
    return replace(tree, indptr=indptr, states=tree.states[counted], counts=tree.counts[counted])
