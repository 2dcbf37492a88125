"""BIF files: read, written, read again; slips with line and column; the stored networks beside pgmpy and pyAgrum."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.network.bif import parse_bif, to_bif

from .conftest import NETWORKS, networks

RAIN = """network rain {
  property author "somebody";
}
// a comment
variable rain { type discrete [ 2 ] { yes, no }; property weight = 3; }
variable wet {
  type discrete [ 3 ] { dry, "very wet", >=7.5 };
}
probability ( rain ) { table 0.2, 0.8; }
probability ( wet | rain ) {
  (yes) 0.1, 0.2, 0.7; /* a row */
  (no) 0.9, 0.1, 0.0;
}
"""


def read(folder, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesWarning)
        return bk.read_bif(folder / f"{name}.bif")


def test_a_file_with_everything_in_it():
    n = parse_bif(RAIN)
    assert n.states == {"rain": ("yes", "no"), "wet": ("dry", "very wet", ">=7.5")}
    assert n.query('P(rain = yes | wet = ">=7.5")') == 1.0
    assert n.array("wet").tolist() == [[0.1, 0.2, 0.7], [0.9, 0.1, 0.0]]


def test_a_table_counts_with_the_child_slowest_and_default_fills_the_rest():
    start = RAIN[: RAIN.index("probability ( wet")]
    whole = parse_bif(start + "probability ( wet | rain ) { table 0.1, 0.9, 0.2, 0.1, 0.7, 0.0; }")
    default = parse_bif(start + "probability ( wet | rain ) { default 0.9, 0.1, 0.0; (yes) 0.1, 0.2, 0.7; }")
    assert whole == default == parse_bif(RAIN)


@given(networks(6))
def test_what_is_written_reads_back_the_same(n):
    assert parse_bif(to_bif(n)) == n


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_the_stored_networks_round_trip(networks_folder, tmp_path, name):
    n = read(networks_folder, name)
    bk.write_bif(n, tmp_path / "again.bif")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bk.read_bif(tmp_path / "again.bif") == n
    listed = (networks_folder / "networks.csv").read_text().splitlines()
    nodes, arcs, parameters = next(map(int, row.split(",")[1:4]) for row in listed if row.startswith(f"{name},"))
    assert (len(n.nodes), len(n.edges), n.n_parameters_) == (nodes, arcs, parameters)


def test_rows_that_do_not_sum_to_one_are_said_once(networks_folder):
    with pytest.warns(BayesWarning, match=r"6 rows of the tables were normalized; the farthest off, 'HRSAT'") as said:
        bk.read_bif(networks_folder / "alarm.bif")
    assert len(said) == 1


@pytest.mark.parametrize(
    ("old", "new", "place", "what"),
    [
        ("probability ( rain )", "probably ( rain )", (9, 1), "'probably' is not known here"),
        ("{ yes, no }", "{ yes no }", (5, 43), "'}' is expected here, not 'no'"),
        ("[ 2 ]", "[ 3 ]", (5, 33), "should have 3 states, and 2 follow"),
        ("{ yes, no }", "{ yes, yes }", (5, 10), "each once"),
        ("wet | rain", "wet | rian", (10, 21), "did you mean rain"),
        ("(yes) 0.1", "(maybe) 0.1", (11, 4), "'rain' has no state 'maybe'"),
        ("0.9, 0.1, 0.0;", "0.9, 0.1;", (12, 3), "3 numbers belong here, and there are 2"),
        ("0.9, 0.1, 0.0;", "0.9, zero, 0.0;", (12, 13), "'zero' is not a number"),
        ("0.9, 0.1, 0.0;", "0.9, nan, 0.0;", (12, 13), "'nan' is not a number"),
        ("0.9, 0.1, 0.0;", "0.9, 0.1, 0.0", (13, 1), "';' is expected here"),
        ("  (no) 0.9, 0.1, 0.0;\n", "", (12, 1), "lack the row (no)"),
        ("(no)", "(yes)", (12, 3), "this row appears twice"),
        ("(no)", "(no, no)", (12, 3), "1 states belong here"),
        ('"very wet"', '"very wet', (7, 30), "quote or comment is never closed"),
        ("variable wet", "variable rain", (6, 10), "appears twice"),
    ],
)
def test_a_malformed_file_is_refused_with_line_and_column(old, new, place, what):
    assert old in RAIN
    with pytest.raises(BadFile) as said:
        parse_bif(RAIN.replace(old, new), "rain.bif")
    assert what in str(said.value)
    assert f"line {place[0]}, column {place[1]}" in str(said.value)


def test_files_that_are_no_networks(tmp_path):
    for content, what in (
        (b"", "no variable"), (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"variable a { type discrete [ 1 ] { x }; }", "no probability"),
        (RAIN.replace("0.2, 0.8", "0.2, 0.7").encode(), "sums to 0.9"),
    ):  # fmt: skip
        (tmp_path / "bad.bif").write_bytes(content)
        with pytest.raises(BadFile, match=what):
            bk.read_bif(tmp_path / "bad.bif")
    with pytest.raises(BadFile, match="no file"):
        bk.read_bif(tmp_path / "none.bif")
    with pytest.raises(BadFile, match="folder"):
        bk.read_bif(tmp_path)
    with pytest.raises(BadFile, match="circle"):
        parse_bif(
            RAIN.replace("probability ( rain ) { table 0.2, 0.8; }", "probability ( rain | wet ) { default 0.2, 0.8; }")
        )
    with pytest.raises(BayesError, match="double quote"):
        to_bif(bk.BayesianNetwork([], {'a"': 0.5}))


@pytest.mark.parametrize("name", ["\ud800", "a b\udc80"])
def test_a_lone_surrogate_is_no_text(tmp_path, name):
    with pytest.raises(BadFile, match=r"line \d+, column \d+: .*\\ud[8c][08]0"):
        parse_bif(RAIN.replace("rain", f'"{name}"'))
    with pytest.raises(BayesError, match=r"surrogate.*rename it"):
        bk.write_bif(bk.BayesianNetwork([], {"a": 0.5}), tmp_path / "net.bif", name)
    assert not (tmp_path / "net.bif").exists()


@given(st.text(), st.integers(0, len(RAIN)), st.integers(0, 30))
def test_any_damage_is_refused_or_read_and_never_a_crash(junk, at, length):
    try:
        parse_bif(RAIN[:at] + junk + RAIN[at + length :])
    except BadFile as problem:
        said = str(problem)
    else:
        said = ""
    assert "Traceback" not in said


def theirs_from(n, gum):
    """A pyAgrum network filled from our tables."""
    bn = gum.BayesNet()
    for node in n.nodes:
        bn.add(gum.LabelizedVariable(node, node, [str(s) for s in n.states[node]]))
    for parent, child in n.edges:
        bn.addArc(parent, child)
    for node in n.nodes:
        table = n.array(node)
        for context in itertools.product(*(range(len(n.states[p])) for p in n.parents[node])):
            bn.cpt(node)[dict(zip(n.parents[node], context, strict=True))] = table[context].tolist()
    return bn


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["asia", "alarm", "insurance", "hailfinder", "child"])
def test_posteriors_agree_with_pyagrum(networks_folder, name):
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is in the dependency group bench")
    n = read(networks_folder, name)
    engine = gum.LazyPropagation(theirs_from(n, gum))
    drawn = n.sample(5, random_state=0)
    rng = np.random.default_rng(0)
    for i in range(5):
        evidence = {node: drawn[node][i] for node in rng.choice(n.nodes, 3, replace=False).tolist()}
        engine.setEvidence(evidence)
        engine.makeInference()
        for node, p in n.posterior(evidence).items():
            np.testing.assert_allclose(list(p.values()), engine.posterior(node).toarray(), atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["asia", "alarm", "insurance", "hailfinder", "child"])
def test_posteriors_agree_with_pgmpy(networks_folder, name):
    pytest.importorskip("pgmpy", reason="pgmpy is in the dependency group bench")
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    n = read(networks_folder, name)
    theirs = BIFReader(str(networks_folder / f"{name}.bif")).get_model()
    for table in theirs.get_cpds():
        table.normalize()
    engine = VariableElimination(theirs)
    evidence = {node: n.sample(1, random_state=1)[node][0] for node in (n.nodes[-1], n.nodes[3])}
    ours = n.posterior(evidence)
    for node in n.nodes[:3] if name == "hailfinder" else n.nodes[:8]:
        if node not in evidence:
            found = engine.query([node], evidence=evidence, show_progress=False)
            expected = [found.get_value(**{node: state}) for state in n.states[node]]
            np.testing.assert_allclose(list(ours[node].values()), expected, atol=1e-9)
