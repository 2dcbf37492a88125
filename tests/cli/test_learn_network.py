"""``bayes learn-network``: data in, a network file out that ``bayes ask`` reads."""

import signal

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import kernels
from bayeskit.progress import Bar

ARCS = [("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")]
TABLES = {
    "rain": 0.3,
    "sprinkler": 0.4,
    "wet": {(True, True): 0.95, (True, False): 0.9, (False, True): 0.8, (False, False): 0.05},
    "slippery": {True: 0.8, False: 0.02},
}
LEARN = ["learn-network", "lawn.csv", "-o"]


@pytest.fixture
def lawn(here):
    """A file of rows drawn from a known network, and one with missing cells."""
    drawn = bk.BayesianNetwork(ARCS, TABLES).sample(2000, random_state=0)
    rows = {name: drawn[name] for name in TABLES}
    lines = [",".join("yes" if cell else "no" for cell in row) for row in zip(*rows.values(), strict=True)]
    (here / "lawn.csv").write_text("\n".join([",".join(rows), *lines]) + "\n")
    holes = [line if i % 10 else ",".join(["", *line.split(",")[1:]]) for i, line in enumerate(lines)]
    (here / "holes.csv").write_text("\n".join([",".join(rows), *holes]) + "\n")
    return here


def arcs_of(told):
    return sorted((arc["parent"], arc["child"]) for arc in told["arcs"])


def test_arcs_are_found_and_printed_with_bits_score_and_rows(bayes, lawn):
    told = bayes(*LEARN, "lawn.bif")
    assert told.out.startswith("lawn.csv: 2,000 rows, 4 nodes, 3 arcs, 8 parameters\nbdeu -")
    assert " on 2,000 rows\n" in told.out
    assert told.out.endswith("network written to lawn.bif\n")
    record = bayes(*LEARN, "lawn.bif", "--json").json
    assert arcs_of(record) == sorted(ARCS)
    assert {arc["direction"] for arc in record["arcs"]} == {"determined"}
    assert (record["rows"], record["rows_searched"], record["score"], record["finished"]) == (2000, 2000, "bdeu", True)
    assert record["value"] == pytest.approx(bk.structure_score(ARCS, lawn / "lawn.csv").score)


@pytest.mark.parametrize("ending", ["bif", "xml", "xmlbif", "net", "dsc", "bayes"])
def test_ask_answers_from_every_format(bayes, lawn, ending):
    bayes(*LEARN, f"lawn.{ending}")
    told = bayes("ask", f"lawn.{ending}", "P(rain = yes | wet = yes and sprinkler = yes)", "--json").json
    exact = bk.BayesianNetwork(ARCS, TABLES).query("P(rain | wet and sprinkler)")
    assert told["probability"] == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize("search", ["order", "tabu", "hill_climb", "exact", "tree"])
def test_every_search_is_offered(bayes, lawn, search):
    told = bayes(*LEARN, "lawn.bif", "--search", search, "--score", "bic", "--json").json
    same = bk.learn_network(lawn / "lawn.csv", search=search, score="bic")
    assert (told["score"], told["value"]) == ("bic", pytest.approx(same.search_.value))
    assert arcs_of(told) == sorted(same.edges)


def test_tan_has_arcs_from_its_target(bayes, lawn):
    told = bayes(*LEARN, "lawn.bif", "--search", "tan", "--target", "wet", "--json").json
    assert {child for parent, child in arcs_of(told) if parent == "wet"} == {"rain", "sprinkler", "slippery"}


def test_constraints_are_kept(bayes, lawn):
    told = bayes(*LEARN, "lawn.bif", "--require", "rain -> slippery", "--forbid", "wet→slippery", "--json").json
    assert ("rain", "slippery") in arcs_of(told)
    assert ("wet", "slippery") not in arcs_of(told)
    assert next(arc for arc in told["arcs"] if arc["child"] == "slippery")["direction"] in ("required", "determined")
    tiers = ["--tier", "slippery, wet", "--tier", "rain,sprinkler"]
    later = {"rain", "sprinkler"}
    assert all(
        parent not in later or child in later
        for parent, child in arcs_of(bayes(*LEARN, "a.bif", *tiers, "--json").json)
    )
    few = bayes(*LEARN, "lawn.bif", "--max-parents", "1", "--json").json
    assert max(np.unique([child for _, child in arcs_of(few)], return_counts=True)[1]) == 1


def test_rows_with_missing_cells_are_counted_or_estimated(bayes, lawn):
    told = bayes("learn-network", "holes.csv", "-o", "holes.bif")
    assert "on 1,800 rows; 200 rows with missing cells left out of the search" in told.out
    assert "200 of 2,000 rows have a missing cell" in told.err
    assert "--missing em uses them" in told.err
    advised = bayes("learn-network", "holes.csv", "-o", "holes.bif", "--missing", "em", "--json")
    assert advised.err == ""
    assert advised.json["rows_searched"] == 2000
    assert arcs_of(advised.json) == sorted(ARCS)


def test_strengths_and_a_chart(bayes, lawn):
    told = bayes(*LEARN, "lawn.bif", "--strengths", "5", "--plot", "lawn.svg", "--json").json
    assert [arc["strength"] for arc in told["arcs"]] == [1, 1, 1]
    assert (lawn / "lawn.svg").read_text().startswith("<svg")


def test_one_seed_gives_one_answer_and_a_pipe_is_read(bayes, lawn):
    bayes(*LEARN, "a.bif", "--seed", "3")
    bayes("learn-network", "-", "-o", "b.bif", "--seed", "3", stdin=(lawn / "lawn.csv").read_bytes())
    assert (lawn / "a.bif").read_text() == (lawn / "b.bif").read_text()


@pytest.mark.parametrize("missing", ["drop", "em"])
def test_an_interrupt_writes_the_best_network_so_far(bayes, lawn, monkeypatch, missing):
    """The search calls back ten times a second; this short one does so once more, to be interrupted."""
    pressed, search = [], kernels.learn_structure

    def search_and_report(*settings):
        try:
            goes_on = settings[-1](0.5, -1.0)
        except KeyboardInterrupt:  # as the kernel does
            goes_on = False
        graph, value, n_families, finished = search(*settings)
        return graph, value, n_families, finished and goes_on

    def press_once(bar, stage, done, of, note=""):
        if callable(bar.progress):
            bar.progress(stage, done, of)
        elif not pressed:
            pressed.append(stage)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(kernels, "learn_structure", search_and_report)
    monkeypatch.setattr(Bar, "__call__", press_once)
    before = signal.getsignal(signal.SIGINT)
    told = bayes(*LEARN, "lawn.bif", "--missing", missing, "--json")
    assert told.err == "bayes: note: interrupted; the best network found so far is written\n"
    assert told.json["finished"] is False
    assert len(pressed) == 1
    assert bk.read_network(lawn / "lawn.bif").nodes == ("rain", "sprinkler", "wet", "slippery")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["lawn.png"], 2, "the name's ending says the format, one of .bif, .xml, .xmlbif, .net, .dsc, .bayes"),
        (["lawn.bif", "--require", "rain"], 2, "--require 'rain' is not an arc: write it as 'parent -> child'"),
        (
            ["lawn.bif", "--require", "rian -> wet"],
            2,
            "--require 'rian -> wet' names 'rian', which is not a column: did",
        ),
        (["lawn.bif", "--require", "wet -> rain", "--forbid", "wet -> rain"], 1, "forbidden by --forbid: drop one"),
        (["lawn.bif", "--tier", "wet", "--tier", "rain", "--require", "rain -> wet"], 1, "forbidden by --tier: drop"),
        (["lawn.bif", "--require", "wet -> rain", "--require", "rain -> wet"], 1, "run in a circle"),
        (["lawn.bif", "--tier", "wet", "--tier", "wet"], 2, "--tier names 'wet' twice"),
        (["lawn.bif", "--search", "tan"], 2, "--search tan needs its class, --target COLUMN"),
        (["lawn.bif", "--target", "wet"], 2, "the other searches take no --target"),
        (["lawn.bif", "--search", "tree", "--require", "rain -> wet"], 2, "--search order"),
        (["lawn.bif", "--strengths", "3", "--missing", "em"], 2, "--strengths goes with --missing drop"),
        (["lawn.bif", "--strengths", "3", "--forbid", "wet -> rain"], 2, "--strengths takes no --require"),
        (["lawn.bif", "--ess", "0"], 2, "--ess 0.0: give a number above 0"),
        (["lawn.bif", "--max-parents", "9"], 2, "Invalid value for '--max-parents'"),
        (["lawn.bif", "--score", "bde"], 2, "is none of bdeu, bic"),
        (["lawn.csv.bif", "--plot", "lawn.txt"], 2, "the name's ending says the form"),
        (["nowhere/lawn.bif"], 1, "there is no such folder"),
    ],
)
def test_mistakes_are_reported_in_terms_of_options(bayes, lawn, words, code, said):
    told = bayes(*LEARN, *words, code=code)
    assert said in told.err
    assert not list(lawn.glob("*.bif"))


def test_a_column_of_too_many_values_comes_with_advice_that_works(bayes, lawn):
    (lawn / "keys.csv").write_text("key,x\n" + "".join(f"k{i},{i % 2}\n" for i in range(1500)))
    told = bayes("learn-network", "keys.csv", "-o", "keys.bif", code=1)
    assert "'key' has 1,500 values; a node of a learned network has at most 1,000" in told.err
    assert "--role key=ignore" in told.err
    bayes("learn-network", "keys.csv", "-o", "keys.bif", "--role", "key=ignore")


def test_a_network_is_no_table(bayes, lawn):
    bayes(*LEARN, "lawn.net")
    assert "is a Bayesian network, for bayes ask" in bayes("fit", "lawn.net", "-t", "wet", code=1).err


def test_a_name_that_the_format_lacks_is_refused_before_the_search(bayes, lawn, monkeypatch):
    (lawn / "spaces.csv").write_text("a b,c\n" + "x,y\nz,w\n" * 20)
    with monkeypatch.context() as patched:
        patched.setattr(kernels, "learn_structure", None)
        told = bayes("learn-network", "spaces.csv", "-o", "spaces.net", code=1)
    assert "the node 'a b' is not a name in this format" in told.err
    bayes("learn-network", "spaces.csv", "-o", "spaces.bif")
    bayes("learn-network", "spaces.csv", "-o", "spaces.net", "--role", "a b=ignore")


def test_an_interrupt_of_the_strengths_keeps_the_network(bayes, lawn, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bayeskit.network.averaging.arc_strengths", interrupt)
    told = bayes(*LEARN, "lawn.bif", "--strengths", "5", "--json")
    assert told.err == "bayes: note: interrupted; the network is written, its strengths are left out\n"
    assert told.json["finished"] is True
    assert "strength" not in told.json["arcs"][0]
    assert (lawn / "lawn.bif").exists()
