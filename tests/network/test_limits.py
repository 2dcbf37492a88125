"""Limits are looked at before memory is taken: a text of two thousand letters can claim a table of any size."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import BadFile, TooLarge
from bayeskit.network.bif import parse_bif

LITTLE = 8e6  # bytes


def bif(n_parents, rows):
    """A node with binary parents, and what is said of it."""
    names = [f"p{i}" for i in range(n_parents)]
    text = "".join(
        f"variable {name} {{ type discrete [ 2 ] {{ y, n }}; }} probability ( {name} ) {{ table 0.5, 0.5; }}\n"
        for name in names
    )
    child = "variable c { type discrete [ 2 ] { y, n }; } "
    return f"{text}{child}probability ( c | {', '.join(names)} ) {{ {rows} }}"


@pytest.fixture
def taken():
    """What was taken at most, in bytes; what is imported at first use is there already."""
    bk.BayesianNetwork.from_data([("a", "b")], {"a": ["u"], "b": ["v"]})
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("n_parents", [24, 28, 30])
def test_a_table_beyond_the_limit_is_refused_by_its_declaration(taken, n_parents):
    text = bif(n_parents, "default 0.25, 0.75;")
    with pytest.raises(
        TooLarge,
        match=rf"line {n_parents + 1}, .*'c' given its {n_parents} parents \(p0, p1, p2, p3, …\) .*fewer parents",
    ):
        parse_bif(text, memory_limit=100_000_000)
    assert taken() < LITTLE


def test_a_table_that_is_claimed_and_not_said_takes_nothing(taken):
    for rows in (f"({', '.join('y' * 24)}) 0.5, 0.5;", "table 0.5, 0.5;", ""):
        with pytest.raises(BadFile, match=r"lack the row|numbers belong here"):
            parse_bif(bif(24, rows))
    assert taken() < LITTLE


def test_many_tables_that_fit_one_by_one_are_refused_together(taken):
    text, names = "", []
    for i in range(16):
        text += f"variable v{i} {{ type discrete [ 100 ] {{ {', '.join(f's{k}' for k in range(100))} }}; }}\n"
        given = f" | {', '.join(names)}" if names else ""
        text += f"probability ( v{i}{given} ) {{ default {', '.join(['0.01'] * 100)}; }}\n"
        names = [*names, f"v{i}"][-2:]
    with pytest.raises(TooLarge, match=r"'v3' given its 2 parents .*with the tables before it"):
        parse_bif(text, memory_limit=50_000_000)
    assert taken() < 80e6


def test_a_network_in_python_is_refused_before_its_tables_are_made(taken):
    names = [f"p{i}" for i in range(26)]
    tables = dict.fromkeys(names, 0.5)
    with pytest.raises(TooLarge, match="'c' given its 26 parents"):
        bk.BayesianNetwork([(name, "c") for name in names], {**tables, "c": {(True,) * 26: 0.5}})
    with pytest.raises(TooLarge, match="memory_limit=1000"):
        bk.BayesianNetwork([("a", "b")], {"a": 0.5, "b": dict.fromkeys((True, False), 0.5)} | tables, memory_limit=1000)
    assert taken() < LITTLE


def test_counting_a_network_is_refused_before_its_tables_are_made(taken):
    columns = {f"x{i}": list("abcd") for i in range(9)}
    edges = [(f"x{i}", "x8") for i in range(8)]
    with pytest.raises(TooLarge, match="'x8' given its 8 parents"):
        bk.BayesianNetwork.from_data(edges, columns, memory_limit=30_000_000)
    assert taken() < LITTLE


def test_a_joint_distribution_of_a_network_is_refused_before_its_cells_are_listed(taken):
    n = bk.BayesianNetwork([], {f"x{i}": 0.5 for i in range(22)}, memory_limit=500_000_000)
    with pytest.raises(TooLarge, match="every combination of values would take 872 MB"):
        bk.JointDistribution.from_network(n)
    assert taken() < LITTLE


@pytest.mark.slow
def test_a_conditional_of_many_contexts_and_values_is_refused(taken):
    n = 40_000
    joint = bk.JointDistribution.from_data({"a": np.arange(n), "b": np.arange(n)})
    with pytest.raises(TooLarge, match=r"the table of 'a' in 40,000 contexts would take 25\.6 GB"):
        joint.conditional("a", "b")
    assert taken() < 60e6


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a process is held to its memory as Linux does it")
def test_a_process_with_little_memory_reads_what_a_hostile_network_claims_and_lives(tmp_path):
    (tmp_path / "claims.bif").write_text(bif(24, f"({', '.join('y' * 24)}) 0.5, 0.5;"))
    (tmp_path / "defaults.bif").write_text(bif(30, "default 0.25, 0.75;"))
    code = (
        "import resource, sys, bayeskit\n"
        "from bayeskit.network import bif\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 100_000_000,) * 2)\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        bayeskit.read_bif(path)\n"
        "    except bayeskit.BayesError as problem:\n"
        "        print(type(problem).__name__)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "claims.bif"), str(tmp_path / "defaults.bif")]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert told.stdout.split() == ["BadFile", "TooLarge"]
