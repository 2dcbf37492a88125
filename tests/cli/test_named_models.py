"""``bayes fit --model``: every model by its name, what it says and what it refuses."""

import pyarrow as pa
import pytest
from pyarrow import parquet

import bayeskit as bk
from bayeskit.cli.commands.fit import MODELS


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), MODELS.items())
def test_every_named_model_is_fitted_scored_explained_and_goes_on_learning(bayes, name, kind):
    ignored = ["year", "island", "sex"] if name == "gaussian" else ["year"]  # it is for numbers alone
    roles = [word for column in ignored for word in ("--role", f"{column}=ignore")]
    told = bayes("fit", "half.csv", "-t", "species", "--model", name, *roles, "-o", "m.bayes", "--json")
    assert told.json["leave_one_out"] is None or told.json["leave_one_out"]["accuracy"] > 0.9
    assert type(bk.load("m.bayes")).__name__ == kind
    bayes("explain", "m.bayes", "birds.csv", code=0 if hasattr(bk.load("m.bayes"), "explain") else 1)
    explains = kind == "Calibrated" or hasattr(bk.load("m.bayes"), "column_importance")
    bayes("explain", "m.bayes", code=0 if explains else 1)
    assert f"{kind} of species" in bayes("inspect", "m.bayes").out
    assert bayes("inspect", "m.bayes", "--column", "body_mass_g").code == 0
    bayes("learn", "m.bayes", "rest.csv", code=0 if hasattr(bk.load("m.bayes"), "partial_fit") else 1)
    assert bayes("predict", "m.bayes", "birds.csv").out.split()[1].startswith("Adelie,")


def test_settings_that_a_named_model_lacks_are_refused(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "--model", "tan", "--numeric", "kernel", code=2)
    assert "no such setting" in told.err
    assert "naive, tan" in bayes("fit", "birds.csv", "-t", "species", "--model", "all", code=2).err


@pytest.mark.parametrize(("name", "sentence"), [("aode", "an AODE has no explanation"), ("tan", "a TAN has no")])
def test_a_refusal_speaks_of_the_model_with_its_article(bayes, name, sentence):
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "--model", name, "-o", "m.bayes")
    assert sentence in bayes("explain", "m.bayes", code=1).err


@pytest.mark.slow
def test_a_tree_forgets_and_learns_again_and_a_model_of_subclasses_says_that_it_cannot(bayes, here):
    for name in ("nbtree", "subclass"):
        bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "--model", name, "-o", f"{name}.bayes")
    before = bk.load("nbtree.bayes")._model_tally()
    bayes("forget", "nbtree.bayes", "half.csv")
    bayes("learn", "nbtree.bayes", "half.csv")
    assert bk.load("nbtree.bayes")._model_tally() == before
    assert "cannot learn more" in bayes("learn", "subclass.bayes", "rest.csv", code=1).err
    assert "cannot be merged" in bayes("merge", "subclass.bayes", "subclass.bayes", "-o", "n.bayes", code=1).err


def test_a_normal_of_words_is_refused_with_the_option_that_leaves_them_out(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "--model", "gaussian", "--role", "year=ignore", code=1)
    assert "--role island=ignore" in " ".join(told.err.split())


def test_intervals_have_their_names_and_what_has_seen_the_row_left_out_is_said(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "--model", "tan", "-o", "m.bayes")
    assert "≤ 42.35" in told.out
    assert "Structure, cuts and smoothing have seen the row" in " ".join(told.out.split())
    assert (
        "have seen the row"
        not in bayes("fit", "--numeric", "gaussian", "birds.csv", "-t", "species", "-o", "m.bayes").out
    )


def test_what_would_take_too_much_memory_is_refused_in_the_words_of_the_command_line(bayes):
    ids = pa.table(
        {"id": [f"i{i}" for i in range(5000)], "other": [f"o{i}" for i in range(5000)], "y": ["p", "q"] * 2500}
    )
    parquet.write_table(ids, "ids.parquet")
    told = " ".join(
        bayes("fit", "ids.parquet", "-t", "y", "--model", "tan", "--memory-limit", "0.5", code=1).err.split()
    )
    assert "would take 800 MB of memory, more than --memory-limit 500 MB" in told
    assert "--role name=ignore" in told
    assert "--model naive" in told
    assert "=" not in told.replace("name=ignore", "")
    told = bayes("fit", "ids.parquet", "-t", "y", "--model", "best", "--memory-limit", "0.001", code=1).err
    assert "more than --memory-limit 1 MB" in " ".join(told.split())
    assert bayes("fit", "ids.parquet", "-t", "y", "--memory-limit", "1").code == 0


def test_the_arcs_of_a_network_are_given_or_learned(bayes):
    fit = ("fit", "birds.csv", "-t", "species", "-m", "network", "-o", "m.bayes")
    bayes(*fit, "--edges", "island -> species -> body_mass_g, sex -> body_mass_g")
    arcs = [("island", "species"), ("species", "body_mass_g"), ("sex", "body_mass_g")]
    assert bk.load("m.bayes").edges_ == arcs
    assert "species, sex" in bayes("inspect", "m.bayes").out
    bayes(*fit)
    assert ("species", "sex") in bk.load("m.bayes").edges_
    assert "parent -> child" in bayes(*fit, "--edges", "island", code=2).err
    assert "not a column" in bayes(*fit, "--edges", "islands -> species", code=2).err
    tan = ("fit", "birds.csv", "-t", "species", "-m", "tan")
    assert "no such setting" in bayes(*tan, "--edges", "island -> sex", code=2).err
