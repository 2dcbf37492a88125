"""Lists of words, and documents scored by their words."""

import numpy as np

from bayeskit.data.text.tokenizer import PATTERNS, Tokenizer
from bayeskit.data.text.tokens import count_tokens, sum_by_class
from bayeskit.data.text.word_list import pack_words, unpack_words


class WordIndex:
    """
    >>> WordIndex(*pack_words([b"a", b"game"])).find(*pack_words([b"game", b"chess"])).tolist()
    [1, -1]
    """

    def __init__(self, data, offsets):
        self.words = unpack_words(data, offsets)

    def find(self, data, offsets):
        words = unpack_words(data, offsets)
        return np.array([self.words.index(word) if word in self.words else -1 for word in words], dtype=np.int64)

    def __len__(self):
        return len(self.words)


def union_words(a_data, a_offsets, b_data, b_offsets):
    a, b = unpack_words(a_data, a_offsets), unpack_words(b_data, b_offsets)
    both = sorted({*a, *b})
    return *pack_words(both), *(np.array([both.index(word) for word in side], dtype=np.int64) for side in (a, b))


def hash_texts(data, offsets):
    """
    >>> [int(one) >> 56 for one in hash_texts(*pack_words([b"", b"a"]))]
    [160, 93]
    """
    secrets = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3
    hashes = []
    for word in unpack_words(data, offsets):
        state = secrets[0] ^ (len(word) * secrets[2]) % 2**64
        for at in range(0, len(word), 16):
            first, second = (int.from_bytes(word[at + i : min(at + i + 8, at + 16)], "little") for i in (0, 8))
            product = (first ^ secrets[1]) * (second ^ state)
            state = product % 2**64 ^ product >> 64
        hashes.append(state)
    return np.array(hashes, np.uint64)


def text_alphabet(data):
    """
    >>> [text_alphabet(pack_words([text.encode()])[0]) for text in ("a", "é", "ΟΔΟΣ")]
    [0, 1, 2]
    """
    text = data.tobytes()
    return 0 if text.isascii() else 1 + ("Σ".encode() in text)


def token_rows(data, offsets, cut, known, in_order, n_threads):
    """
    >>> from bayeskit.data.text.tokens import Cut
    >>> cut = Cut(0, 1, 1, True, 0, *pack_words([]))
    >>> rows = token_rows(*pack_words([b"The cat. The hat!", b"", b"a hat"]), cut, None, True, 1)
    >>> unpack_words(rows.word_data, rows.word_offsets), rows.indptr.tolist(), rows.counts.tolist()
    ([b'cat', b'hat', b'the'], [0, 3, 3, 4], [1, 1, 2, 1])
    """
    stop = [word.decode("utf-8", "replace") for word in unpack_words(cut.stop_data, cut.stop_offsets)]
    inside = (cut.shortest_inside, cut.longest_inside) if cut.longest_inside else None
    runs, bits = (cut.shortest, cut.longest), cut.hash_bits or None
    analyze = Tokenizer(PATTERNS[cut.pattern], runs, cut.lowercase, stop, bits, inside).analyzer()
    return count_tokens(data, offsets, analyze, None if known is None else known.words, in_order)


def token_classes(data, offsets, labels, n_classes, cut, n_threads):
    return sum_by_class(token_rows(data, offsets, cut, None, True, 1), labels, n_classes)


def score_rows(indptr, ids, values, table, scores, n_threads):
    """
    >>> scores = np.zeros((1, 2))
    >>> score_rows(np.array([0, 2]), np.array([0, 2], np.int32), np.array([1.0, 2.0]), np.eye(3, 2), scores, 1)
    >>> scores.tolist()
    [[1.0, 0.0]]
    """
    for d in range(len(scores)):
        for k in range(indptr[d], indptr[d + 1]):
            if values[k] != 0:
                scores[d] += values[k] * table[ids[k]]


def score_words(indptr, ids, counts, table, g, log_prior, constant, n_threads):
    """
    >>> table = np.array([[0.0, 2.0, 0.5, -0.5, 4.0, 0.0, 1.0, 1.0]])
    >>> none = np.zeros(2)
    >>> score_words(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32), table, 1.0, none, none, 1)
    array([[ 2.5, -0.5]])
    """
    k, n = len(log_prior), len(indptr) - 1
    scores = np.tile(log_prior, (n, 1))
    for d in np.flatnonzero(np.diff(indptr)):
        rows, log_count = table[ids[indptr[d] : indptr[d + 1]]], np.log(counts[indptr[d] : indptr[d + 1]])
        is_run, length, a, b, t = rows[:, 0] != 0, rows[:, 1], rows[:, 2 : 2 + k], rows[:, 2 + k : -k], rows[:, -k:]
        by = 1.0 + log_count
        scores[d] = constant + float(len(rows)) ** -g * (by @ a + log_count @ t)
        for part in (~is_run, is_run):
            norm = np.sqrt(np.square(by * length)[part].sum())
            if norm > 0:
                scores[d] += by[part] @ b[part] / norm
    return scores


def score_documents(data, offsets, cut, known, table, g, log_prior, constant, n_threads):
    rows = token_rows(data, offsets, cut, known, False, 1)
    return score_words(rows.indptr, rows.ids, rows.counts, table, g, log_prior, constant, 1)


def left_out_evidence(start, words, counts, mass, labels, class_mass, bands, a, both, n_threads):
    """
    >>> one = np.ones(2, np.uint32)
    >>> left_out_evidence(np.array([0, 1, 2]), 0 * one, one, np.ones(2), np.array([0, 1], np.uint32),
    ...                   np.array([[1.0, 1.0]]), np.zeros(1, np.uint8), 1.0, False, 1)[:, 0].round(6).tolist()
    [[-0.346574, 0.346574], [0.346574, -0.346574]]
    """
    k = class_mass.shape[1]
    features = np.zeros((len(labels), 18 if both else 9, k))
    for i, own in enumerate(labels):
        at = slice(start[i], start[i + 1])
        left = class_mass.copy()  # without the document
        np.subtract.at(left, (words[at], np.full(len(words[at]), own)), mass[at])
        left = np.maximum(left, 0)
        total = class_mass.sum() - mass[at].sum()
        taken = np.bincount([own], [mass[at].sum()], k)
        share = (class_mass.sum(axis=0) - taken) / total if total > 0 else np.zeros(k)
        word_mass = np.maximum(class_mass.sum(axis=1)[words[at]] - mass[at], 0)[:, None]
        of_class = left[words[at]]
        others = np.maximum(word_mass - of_class, 0)
        odds = [np.log(of_class / np.maximum(share, 1e-9) + a), -np.log(others / np.maximum(1 - share, 1e-9) + a)]
        log_count = np.log(np.minimum(counts[at], 0xFFFFFF).astype(np.float64))[:, None]
        for kind, logs in enumerate(odds[: 2 if both else 1]):
            np.add.at(features[i, 9 * kind :], bands[words[at]], (1 + log_count) * logs)
            features[i, 9 * kind + 8] = (log_count * logs).sum(axis=0)
    return features - features.mean(axis=2, keepdims=True)


def left_out_scores(start, words, counts, mass, labels, class_mass, bands, weights, a, n_threads):
    both = class_mass.shape[1] > 2
    features = left_out_evidence(start, words, counts, mass, labels, class_mass, bands, a, both, 1)
    return np.einsum("f,nfk->nk", weights.ravel(), features)


def ridge_loss(table, start, words, values, offsets, labels, costs, n_classes):
    """∥W∥²/2 − Σ cost ln softmax(offset + W x)[label]; of two classes, the log odds of the second."""
    k = 1 if n_classes == 2 else n_classes
    x = np.zeros((len(labels), len(table)))
    np.add.at(x, (np.repeat(np.arange(len(labels)), np.diff(start)), words), values)
    x[:, -1] = 1
    scores = offsets[:, :k] + x @ table[:, :k]
    scores = np.column_stack([np.zeros(len(labels)), scores]) if n_classes == 2 else scores
    wrong = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(labels)), labels]
    return float((table[:, :k] ** 2).sum() / 2 + costs @ wrong)
