"""What is read from strangers, fuzzed for as long as you like: ``make fuzz``, ``make fuzz TARGET=bif SECONDS=3600``.

Each target takes bytes and says what must hold; every exception but a :class:`BayesError` is a finding. Atheris guides
the bytes by the branches that they reach; where it is not installed they are drawn blindly from the same seeds. The
corpus grows in ``fuzz/corpus``, a finding is left in ``fuzz/crashes`` and is shown by
``python -m fuzz.targets TARGET fuzz/crashes/FILE``. It then becomes a test of its own, and is mended.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

try:
    import atheris
except ImportError:
    atheris = None

FOLDER = Path(__file__).parent
LONGEST = 1 << 12  # bytes of an input: what is found is small

# An editable install is found by a finder of its own, which Atheris does not see into: sources first, the core after.
sys.path.insert(0, str(FOLDER.parent / "src"))
sys.meta_path.sort(key=lambda finder: "Redirecting" in type(finder).__name__)
with atheris.instrument_imports(include=["bayeskit"]) if atheris else contextlib.nullcontext():
    import numpy as np

    import bayeskit as bk
    from bayeskit import kernels
    from bayeskit.data.frames import open_source
    from bayeskit.data.text.documents import Documents
    from bayeskit.data.text.tokenizer import PATTERNS, Tokenizer
    from bayeskit.data.text.tokens import count_documents, count_tokens, cut_of
    from bayeskit.errors import BayesError
    from bayeskit.network.bif import parse_bif, to_bif
    from bayeskit.network.formats import FORMATS
    from bayeskit.network.query import parse
    from fuzz import model_files

    for name in bk.__all__:  # what is imported at first use must be seen too
        getattr(bk, name)


class Choices(random.Random):
    """Numbers that are read from bytes instead of drawn, so that the fuzzer learns which choices lead on."""

    def __new__(cls, data: bytes) -> Choices:
        return super().__new__(cls)

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        super().__init__(0)

    def getrandbits(self, k: int) -> int:
        n = -(-k // 8)
        taken = self.data[self.at : self.at + n]
        self.at += n
        return int.from_bytes(taken.ljust(n, b"\0"), "little") >> (8 * n - k)

    def random(self) -> float:
        return self.getrandbits(16) / (1 << 16)


def loader(data: bytes) -> None:
    """A model file altered as the bytes choose is refused as BadFile, or makes a sound model."""
    choices = Choices(data)
    name = choices.choice(sorted(model_files.seeds()))
    _, rows, labels = model_files.seeds()[name]
    model_files.check(model_files.altered(name, choices), rows, labels, thoroughly=True)


def bif(data: bytes) -> None:
    """A network file is refused with its place, or reads back as the same network."""
    network = parse_bif(data.decode("utf-8", "surrogateescape"), memory_limit=1 << 24)
    assert parse_bif(to_bif(network), memory_limit=1 << 26) == network
    if network.cost().bytes < 1 << 20:
        with contextlib.suppress(BayesError):
            for node, posterior in network.posterior().items():
                assert abs(sum(posterior.values()) - 1) < 1e-6, node


def formats(data: bytes) -> None:
    """A network file of another program is refused, or reads back as the same network; the first byte picks one."""
    form = FORMATS[ENDINGS[data[0] % len(ENDINGS)] if data else ENDINGS[0]]
    network = form.parse(data[1:].decode("utf-8", "surrogateescape"), "fuzzed", memory_limit=1 << 24)
    assert form.parse(form.write(network), "written", memory_limit=1 << 26) == network
    if network.cost().bytes < 1 << 20:
        with contextlib.suppress(BayesError):
            for node, posterior in network.posterior().items():
                assert abs(sum(posterior.values()) - 1) < 1e-6, node


@cache
def _joint() -> Any:
    table = {"A": [0, 0, 1, 1], "b c": ["yes", "no", "yes", "no"], "size": [0.5, 1.5, 2.5, 0.5], "count": [1, 2, 3, 4]}
    return bk.JointDistribution.from_table(table)


def query(data: bytes) -> None:
    """A query is refused with its place, or its answer is a probability."""
    text = data.decode("utf-8", "surrogateescape")
    parse(text)
    assert 0 <= _joint().probability(text) <= 1


def csv(data: bytes) -> None:
    """A table in a file is refused with its place, or every batch has the columns that were found."""
    with tempfile.NamedTemporaryFile(suffix=".csv", dir=_in_memory()) as file:
        file.write(data)
        file.flush()
        source = open_source(Path(file.name))
        for batch in source.batches():
            assert {*batch.columns} == {*source.kinds}
        target = list(source.kinds)[-1]
        with contextlib.suppress(BayesError):
            bk.NaiveBayes(roles="categorical").fit(Path(file.name), target).predict(Path(file.name))


def tokenizer(data: bytes) -> None:
    """The compiled tokenizer and the one in Python cut any bytes into the same tokens."""
    choices = Choices(data[:6])
    pattern = choices.choice(PATTERNS)
    low = choices.randrange(1, 4)
    settings = Tokenizer(
        pattern,
        (low, low + choices.randrange(3)),
        choices.random() < 0.5,
        ["the", "été"] if choices.random() < 0.5 else None,
        choices.choice((None, 1, 8)),
    )
    raw = data[6:].split(b"\n")
    texts: list[Any] = raw if choices.random() < 0.5 else [t.decode("utf-8", "surrogateescape") for t in raw]
    cells = Documents.of(texts)
    cut = cut_of(settings, cells)
    ours = kernels.token_rows(cells.data, cells.offsets, cut, None, True, 2)
    theirs = count_tokens(cells.data, cells.offsets, settings.analyzer(), None)
    for a, b in zip(ours, theirs, strict=True):
        assert np.array_equal(a, b), (settings, texts)
    rows = count_documents(texts, settings)
    assert rows.lengths.tolist() == [int(n) for n in np.asarray(rows.matrix().sum(axis=1)).ravel()]


@cache
def _in_memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


BIF = b"""network n { property "x"; }
variable a { type discrete [ 2 ] { yes, no }; } variable "b c" { type discrete [ 3 ] { 1, 2, "x y" }; }
probability ( a ) { table 0.2, 0.8; } // one
probability ( "b c" | a ) { (yes) 0.9, 0.1, 0; default 0.1, 0.2, 0.7; } /* two */
"""
ENDINGS = (".xml", ".net", ".dsc")


def _written() -> list[bytes]:
    """Return a network in each format, after the byte that picks it."""
    network = parse_bif(BIF.decode().replace("b c", "b_c"))
    texts = [FORMATS[ending].write(network).encode() for ending in ENDINGS]
    entities = (
        b'<?xml version="1.0"?><!DOCTYPE B [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><BIF><NETWORK>&b;</NETWORK></BIF>'
    )
    return [*(bytes([i]) + text for i, text in enumerate(texts)), b"\0" + entities]


TARGETS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "loader": (loader, [bytes([i % 256, i // 7 % 256]) * 24 for i in range(0, 256, 5)]),
    "bif": (
        bif,
        [BIF, BIF.replace(b"(yes) 0.9, 0.1, 0; default 0.1, 0.2, 0.7;", b"table 0.9, 0.1, 0.1, 0.2, 0, 0.7;")],
    ),
    "formats": (formats, _written()),
    "query": (
        query,
        [b'P(A = 1 | "b c" = yes and not size > 1)', b"P(A in {0, 1} or 'b c' != no, size <= 1.5)", b"P(((A = 0)))"],
    ),
    "csv": (
        csv,
        [
            *(b"a,b\n1,x\n2,y\n", b'a;"b;c"\n1;"x\ny"\n;\n', b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe\tn\n1,5\tja\n"),
            *(b"a|b\r\n1|\r\n", b"x\n\xff\n", b"a,a\n1,2\n", "a,b\n1,é\n".encode("utf-16")),
        ],
    ),
    "tokenizer": (
        tokenizer,
        [
            b"\0\1\0\1\0\1The cat's \xc3\xa9t\xc3\xa9\nA\xcc\x8a \xf0\x9f\x98\x80 x1",
            b"\3\2\1\xff\0\0\xed\xa0\x80\xff a b",
        ],
    ),
}


def held(target: Callable[[bytes], None], data: bytes) -> None:
    """What must hold of an input; a refusal is as good as an answer."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(BayesError):
        warnings.simplefilter("ignore")
        target(data)


def blindly(name: str, seconds: float) -> None:
    """Inputs drawn without a guide: a seed with some bytes changed, doubled or cut out."""
    target, seeds = TARGETS[name]
    draw_columns, end, n = random.Random(0), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = bytearray(draw_columns.choice(seeds))
        for _ in range(draw_columns.randrange(1, 9)):
            i, j = sorted(draw_columns.randrange(len(data) + 1) for _ in range(2))
            match draw_columns.randrange(4):
                case 0:
                    data[i : i + 1] = bytes([draw_columns.randrange(256)])
                case 1:
                    data[i:j] = b""
                case 2:
                    data[i:i] = data[i:j][:64]
                case _:
                    data[i:i] = draw_columns.choice(seeds)[:j]
        try:
            held(target, bytes(data[:LONGEST]))
        except Exception:
            traceback.print_exc()
            kept = FOLDER / "crashes" / f"{name}-blind-{n}"
            kept.write_bytes(data[:LONGEST])
            sys.exit(f"{kept} is a finding")
        n += 1
    print(f"{name}: {n:,} inputs in {seconds:g} s, drawn blindly (Atheris is not installed), and nothing found")


def main(name: str, *more: str) -> None:
    """``TARGET SECONDS`` goes on from the corpus; ``TARGET FILE …`` tries files again."""
    target, seeds = TARGETS[name]
    (FOLDER / "crashes").mkdir(exist_ok=True)
    corpus = FOLDER / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    if more and Path(more[0]).is_file():
        for file in more:
            held(target, Path(file).read_bytes())
            print(f"{file}: held")
    elif atheris is None:
        blindly(name, float(more[0]))
    else:
        for i, seed in enumerate(seeds):
            (corpus / f"seed-{i}").write_bytes(seed)
        options = [f"-max_total_time={more[0]}", f"-max_len={LONGEST}", "-rss_limit_mb=2048", "-timeout=20"]
        shown = ["-print_final_stats=1", f"-artifact_prefix={FOLDER}/crashes/{name}-", str(corpus)]
        atheris.Setup([sys.argv[0], *options, *shown], lambda data: held(target, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
