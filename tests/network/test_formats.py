"""Networks in the formats of other programs."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesError, BayesianNetwork, read_bif, read_network, write_network
from bayeskit.errors import BadFile
from bayeskit.network.formats import FORMATS, parse_dsc, parse_net, parse_xmlbif
from tests.network.conftest import random_network

ENDINGS = list(FORMATS)
NET = """
net { node_size = (80 40); }
node rain % a comment
{
  label = "Rain?";
  states = ("yes" "no");
  position = (10 20);
}
node wet { states = ("yes" "no"); }
potential (rain) { data = (0.2 0.8); }
potential (wet | rain) { data = ((0.9 0.1)(0.1 0.9)); }
"""
DSC = """
belief network "rain"
node rain { name: "Rain"; type: discrete [ 2 ] = { "yes", "no" }; position: (10, 20); }
node wet { type: discrete [ 2 ] = { "yes", "no" }; }
probability (rain) { 0.2, 0.8; }
probability (wet | rain) { (0): 0.9, 0.1; (1): 0.1, 0.9; }
"""
XML = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> ]>
<BIF VERSION="0.3"><NETWORK><NAME>rain</NAME>
<VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>wet</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>
<DEFINITION><FOR>wet</FOR><GIVEN>rain</GIVEN><TABLE>0.9 0.1 0.1 0.9</TABLE></DEFINITION>
</NETWORK></BIF>"""
TEXTS = {parse_net: NET, parse_dsc: DSC, parse_xmlbif: XML}


@pytest.mark.parametrize("parse", TEXTS)
def test_files_of_other_programs_are_read(parse):
    network = parse(TEXTS[parse])
    assert network.query("P(rain = yes | wet = yes)") == pytest.approx(0.18 / 0.26)


@pytest.mark.parametrize("ending", ENDINGS)
@given(seed=st.integers(0, 10**6))
def test_writing_and_reading_gives_the_same_tables(ending, seed, tmp_path_factory):
    network = random_network(seed, 5)
    path = tmp_path_factory.mktemp("formats") / f"network{ending}"
    write_network(network, path)
    again = read_network(path)
    assert again.parents == network.parents
    for node in network.nodes:
        np.testing.assert_array_equal(again.array(node), network.array(node))
        assert again.states[node] == tuple(map(str, network.states[node]))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_real_network_keeps_its_answers(ending, networks_folder, tmp_path):
    asia = read_bif(networks_folder / "asia.bif")
    write_network(asia, tmp_path / f"asia{ending}")
    again = read_network(tmp_path / f"asia{ending}")
    query = "P(lung = yes | xray = yes and dysp = no)"
    assert again.query(query) == asia.query(query)


@pytest.mark.parametrize("parse", TEXTS)
@given(data=st.data())
def test_damaged_files_raise_only_bayes_errors(parse, data):
    text = TEXTS[parse]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 20))
        text = (
            text[:at]
            + data.draw(st.sampled_from(["", "{", ")", '"', "9", "nan", "\ud800", "-", "<", "node x"]))
            + text[at + length :]
        )
    with contextlib.suppress(BayesError):
        assert isinstance(parse(text), BayesianNetwork)


def test_entities_are_refused():
    bomb = XML.replace("<!ELEMENT BIF ( NETWORK )*>", '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">')
    with pytest.raises(BadFile, match="XML entities"):
        parse_xmlbif(bomb)


@pytest.mark.parametrize(
    ("parse", "old", "new", "message"),
    [
        (parse_net, "0.9 0.1", "0.9", "needs 4 numbers, and there are 3"),
        (parse_net, "(wet | rain)", "(wet | snow)", "no variable 'snow'"),
        (parse_net, "node wet", "utility wet", "'utility' is not read"),
        (parse_net, "potential (rain)", '"potential (rain)', "never closed"),
        (parse_dsc, "(1): 0.1", "(2): 0.1", "not a state of a parent"),
        (parse_dsc, "(1): 0.1, 0.9;", "", "lacks its row 2"),
        (parse_dsc, "discrete [ 2 ]", "discrete [ 3 ]", "needs a type"),
        (parse_xmlbif, "<FOR>wet</FOR>", "", "needs one FOR, not 0"),
        (parse_xmlbif, "0.2 0.8", "0.2 x", "'x' is not a number"),
        (parse_xmlbif, "</BIF>", "", "not XML"),
    ],
)
def test_errors_say_what_is_wrong(parse, old, new, message):
    with pytest.raises(BadFile, match=message):
        parse(TEXTS[parse].replace(old, new, 1))


def test_a_small_file_cannot_declare_a_huge_table():
    states = " ".join(f'"s{i}"' for i in range(1000))
    nodes = "".join(f"node n{i} {{ states = ({states}); }}\n" for i in range(4))
    with pytest.raises(BayesError, match="memory_limit"):
        parse_net(nodes + "potential (n0 | n1 n2 n3) { data = (1); }")


def test_names_that_a_format_cannot_hold_are_refused(tmp_path):
    network = BayesianNetwork([], {"two words": 0.5})
    with pytest.raises(BayesError, match="'two words' is not a name"):
        write_network(network, tmp_path / "a.net")
    with pytest.raises(BayesError, match="no known format"):
        write_network(network, tmp_path / "a.txt")
