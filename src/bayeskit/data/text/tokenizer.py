"""Tokenizer: settings by which documents are cut into tokens."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

from bayeskit.errors import BadFile, BayesError, with_article

# Symbols, dingbats without digits, flags by letter, and pictures without skin tones; also in page/src/tokenizer.ts.
EMOJI = "[\u2600-\u2775\u2794-\u27bf\u2b50\U0001f1e6-\U0001f1ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
EXPRESSIONS = {
    "words": r"(?u)\b\w\w+\b",
    "words1": r"(?u)\b\w+\b",
    "words_and_punctuation": r"(?u)\w+|[^\w\s]",
    "words_and_emoji": r"(?u)\b\w\w+\b|" + EMOJI,
}
# Of the kernels, which find emoji by the Unicode tables.
NUMBERS = {"words": 0, "words1": 1, "words_and_punctuation": 2, "char": 3, "char_wb": 4, "words_and_emoji": 0}
PATTERNS = tuple(NUMBERS)
MOST_BITS = 28
# Shortest and longest character n-gram inside words.
INSIDE = (2, 16)
_WIDE_SPACE = re.compile(r"\s\s+")

Analyse = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Tokenizer:
    """Cut documents into tokens.

    Parameters
    ----------
    pattern : str or callable, default="words_and_emoji"
        "words" (two letters or more: ``\\b\\w\\w+\\b``, as in scikit-learn), "words_and_emoji" (each emoji too),
        "words1" (one-letter words kept), "words_and_punctuation", "char" (characters), "char_wb" (characters within
        words, padded by a space), any other regular expression, or a function from a document to its tokens.
    ngrams : (int, int), default=(1, 1)
        Shortest and longest n-gram of tokens, or of characters.
    lowercase : bool, default=True
        Lower-case the document first, by the rules of ``str.lower``.
    stop_words : iterable of str or "english", default=None
        Words left out before n-grams are made; "english" is scikit-learn's list.
    hash_bits : int, default=None
        Count tokens in 2^hash_bits buckets instead of by name. Memory is bounded, and words of one bucket count as one.
    characters : (int, int), default=None
        Shortest and longest character n-gram counted inside each word, beside the words. The beginning and the end of a
        word are a character each, and "-" marks where the word continues.

    Raises
    ------
    BayesError
        If a setting is out of range or ``pattern`` is not a regular expression.

    Examples
    --------
    >>> Tokenizer(ngrams=(1, 2)).tokens("The cat sat.")
    ['the', 'cat', 'sat', 'the cat', 'cat sat']
    >>> Tokenizer("char", (3, 3)).tokens("ACGT")
    ['acg', 'cgt']
    >>> Tokenizer(characters=(4, 4)).tokens("Unseen")
    ['unseen', 'uns-', '-unse-', '-nsee-', '-seen-', '-een']
    """

    pattern: str | Callable[[str], Sequence[str]] = "words_and_emoji"
    ngrams: tuple[int, int] = (1, 1)
    lowercase: bool = True
    stop_words: str | Iterable[str] | None = None
    hash_bits: int | None = None
    characters: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        hint = "give the shortest, from 1 on, and the longest, such as ngrams=(1, 2)"
        object.__setattr__(self, "ngrams", _shortest_and_longest("ngrams", self.ngrams, (1, 1000), hint))
        object.__setattr__(self, "stop_words", _stop_words(self.stop_words))
        if not isinstance(self.lowercase, bool):
            raise BayesError(f"lowercase={self.lowercase!r}: give True or False")
        bits = self.hash_bits
        if bits is not None and not (isinstance(bits, Integral) and 1 <= bits <= MOST_BITS):
            raise BayesError(f"hash_bits={bits!r}", hint=f"give a whole number from 1 to {MOST_BITS}, or None")
        if not callable(self.pattern) and not (isinstance(self.pattern, str) and self.pattern in PATTERNS):
            _check_expression(self.pattern)
        if self.characters is not None:
            if not isinstance(self.pattern, str) or self.pattern not in EXPRESSIONS:
                raise BayesError(
                    f"characters={self.characters!r} counts inside words",
                    hint=f'give pattern="words" or another of {", ".join(EXPRESSIONS)}',
                )
            hint = f"give the shortest and the longest run inside a word, of {INSIDE[0]} to {INSIDE[1]}, "
            hint += "such as characters=(3, 5)"
            checked = _shortest_and_longest("characters", self.characters, INSIDE, hint)
            object.__setattr__(self, "characters", checked)

    def tokens(self, document: str) -> list[str]:
        """Return the tokens of one document, in order.

        Parameters
        ----------
        document : str

        Returns
        -------
        list of str
        """
        return list(self.analyzer()(document))

    def analyzer(self) -> Callable[[str], Sequence[str]]:
        """Return a Python function from a document to its tokens, including n-grams and hash buckets.

        Returns
        -------
        callable
        """
        bits, lowercase, cut = self.hash_bits, self.lowercase, self._cut()

        def analyze(text: str) -> Sequence[str]:
            tokens = cut(text.lower() if lowercase else text)
            return tokens if bits is None else [bucket(token.encode("utf-8", "replace"), bits) for token in tokens]

        return analyze

    def _cut(self) -> Analyse:
        """Return a function from a document, in lower case if so set, to its n-grams."""
        if self.pattern in CHARACTER_PATTERNS:
            return partial(CHARACTER_PATTERNS[self.pattern], shortest=self.ngrams[0], longest=self.ngrams[1])
        expression = EXPRESSIONS.get(self.pattern, self.pattern) if isinstance(self.pattern, str) else ""
        find = _checked_tokens(self.pattern) if callable(self.pattern) else re.compile(expression).findall
        stop, ngrams, inside = frozenset(self.stop_words or ()), self.ngrams, self.characters

        def cut(text: str) -> Sequence[str]:
            words = [token for token in find(text) if token not in stop]
            runs = _word_runs(words, *ngrams)
            return runs if inside is None else [*runs, *(run for word in words for run in _runs_inside(word, *inside))]

        return cut

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain data for :meth:`from_json`.

        Returns
        -------
        dict
        """
        if not isinstance(self.pattern, str):
            raise BayesError("a callable cannot be written down: name a pattern, or give a regular expression")
        data = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return {name: value for name, value in data.items() if name != "characters" or value is not None}

    @classmethod
    def from_json(cls, data: Any) -> Tokenizer:
        """Restore a tokenizer from :meth:`to_json`; raise BadFile for anything else.

        Parameters
        ----------
        data : dict

        Returns
        -------
        Tokenizer

        Raises
        ------
        BadFile
            For anything else.
        """
        try:
            stop, bits = data["stop_words"], data["hash_bits"]
            plain = isinstance(data["pattern"], str) and isinstance(data["lowercase"], bool)
            listed = stop is None or (isinstance(stop, Sequence) and not isinstance(stop, str))
            if not plain or not listed or not isinstance(bits, (int, type(None))):
                raise BadFile("this is not a tokenizer: a setting has the wrong type")
            inside = None if data.get("characters") is None else tuple(data["characters"])
            return cls(data["pattern"], tuple(data["ngrams"]), data["lowercase"], stop and list(stop), bits, inside)
        except (AttributeError, KeyError, TypeError) as problem:
            raise BadFile(f"this is not a tokenizer: {problem!r}") from None


def _checked_tokens(pattern: Callable[[str], Any]) -> Analyse:
    """Wrap a function to refuse tokens that are not strings."""

    def cut(document: str) -> list[str]:
        tokens = pattern(document)
        listed = list(tokens) if isinstance(tokens, Iterable) else [tokens]
        for token in listed:
            if not isinstance(token, str):
                raise BayesError(
                    f"pattern= gives {token!r}, {with_article(type(token).__name__)}, for {document[:40]!r}: "
                    "tokens are strings"
                )
        return listed

    return cut


def _shortest_and_longest(name: str, given: Any, bounds: tuple[int, int], hint: str) -> tuple[int, int]:
    """Check the shortest and the longest n-gram."""
    try:
        shortest, longest = (operator.index(n) for n in given)
    except (TypeError, ValueError):
        shortest, longest = 0, 0
    if not bounds[0] <= shortest <= longest <= bounds[1]:
        raise BayesError(f"{name}={given!r}", hint=hint)
    return shortest, longest


def _stop_words(words: Any) -> tuple[str, ...] | None:
    if words is None:
        return None
    if isinstance(words, str):
        if words != "english":
            raise BayesError(f'stop_words={words!r}: give a list of words, "english" or None')
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        words = ENGLISH_STOP_WORDS
    try:
        return tuple(sorted({word for word in words if word.encode() is not None}))
    except (TypeError, AttributeError, UnicodeError):
        raise BayesError(f'stop_words={words!r}: give a list of words, "english" or None') from None


def _check_expression(pattern: Any) -> None:
    if not isinstance(pattern, str | re.Pattern):
        raise BayesError(f"pattern={pattern!r} is not a regular expression", hint="give a text, or a function")
    if pattern == "":
        raise BayesError(
            f"pattern={pattern!r} matches no character", hint=f"give an expression, or one of {', '.join(PATTERNS)}"
        )
    try:
        groups = re.compile(pattern).groups
    except re.error as problem:
        raise BayesError(
            f"pattern={pattern!r} is not a regular expression ({problem});",
            hint=f"the named patterns are {', '.join(PATTERNS)}",
        ) from None
    if groups > 1:
        raise BayesError(
            f"More than 1 capturing group in token pattern {pattern!r}. Only a single group should be captured."
        )


def _word_runs(tokens: list[str], shortest: int, longest: int) -> list[str]:
    if longest == 1:
        return tokens
    runs = tokens[:] if shortest == 1 else []
    for n in range(max(2, shortest), min(longest, len(tokens)) + 1):
        runs += [" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return runs


def _runs_inside(word: str, shortest: int, longest: int) -> list[str]:
    """Runs of characters of a word whose beginning and end are one each, "-" where it goes on; the whole is none.

    >>> _runs_inside("sun", 3, 4)
    ['su-', '-sun-', '-un', 'sun-', '-sun']
    """
    n = len(word)
    return [
        ("-" if i else "") + word[max(i - 1, 0) : i + size - 1] + ("-" if i + size < n + 2 else "")
        for size in range(shortest, min(longest, n + 1) + 1)
        for i in range(n + 3 - size)
    ]


def _char_runs(text: str, shortest: int, longest: int) -> list[str]:
    text = _WIDE_SPACE.sub(" ", text)
    lengths = range(shortest, min(longest, len(text)) + 1)
    return [text[i : i + n] for n in lengths for i in range(len(text) - n + 1)]


def _padded_runs(text: str, shortest: int, longest: int) -> list[str]:
    runs = []
    for word in text.split():
        padded = f" {word} "
        for n in range(shortest, longest + 1):
            runs += [padded[i : i + n] for i in range(max(1, len(padded) - n + 1))]
            if len(padded) <= n:
                # A short word counts once.
                break
    return runs


CHARACTER_PATTERNS: dict[Any, Callable[..., list[str]]] = {"char": _char_runs, "char_wb": _padded_runs}

_MASK = 2**64 - 1
_SECRETS = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product & _MASK) ^ (product >> 64)


def hash_word(word: bytes) -> int:
    """Return a 64-bit hash of a word, identical on every machine since model files store bucket numbers."""
    seed = _SECRETS[0] ^ (len(word) * _SECRETS[2] & _MASK)
    for i in range(0, max(len(word), 1), 16):
        piece = word[i : i + 16].ljust(16, b"\0")
        first, second = int.from_bytes(piece[:8], "little"), int.from_bytes(piece[8:], "little")
        seed = _fold(first ^ _SECRETS[1], second ^ seed)
    return seed


def bucket(word: bytes, bits: int) -> str:
    """Return the name of the bucket of a word, one of 2^bits.

    >>> bucket(b"game", 16)
    '#...'
    """
    return f"#{hash_word(word) >> (64 - bits):0{-(-bits // 4)}x}"
