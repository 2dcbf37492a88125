"""``bayes inspect``: what joins the columns, and tables that are whole at any width."""

import re

import pytest

import bayeskit as bk
from bayeskit.cli.console import Page
from bayeskit.datasets import load_penguins


class Screen:
    """A terminal of some width, or a pipe."""

    def __init__(self, monkeypatch, columns=None):
        self.text = ""
        self.terminal = columns is not None
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(columns or 80))

    def write(self, text):
        self.text += re.sub("\x1b\\[[0-9;]*m", "", text)

    def flush(self):
        pass

    def isatty(self):
        return self.terminal


WIDE = {
    "flipper_length_mm": ["≤ 206.5", "> 206.5"] * 3,
    "sex": ["female", "male"] * 3,
    **{f"P(sex | {name}, flipper_length_mm)": [0.25] * 6 for name in ("Adelie", "Chinstrap", "Gentoo", "Emperor")},
}


@pytest.mark.parametrize("columns", [40, 80, 160, None])
def test_every_block_repeats_all_keys_and_no_head_is_cut(monkeypatch, columns):
    screen = Screen(monkeypatch, columns)
    Page(stream=screen).table(WIDE, keys=2)
    blocks = screen.text.strip("\n").split("\n\n")
    assert all("flipper_length_mm" in block.replace("\n", "") or columns == 40 for block in blocks)
    assert all(block.count("female") == 3 for block in blocks)
    assert "…" not in screen.text or columns == 40
    letters = re.sub(r"\s", "", screen.text)
    assert letters.count("Chinstrap") == letters.count("Emperor") == 1
    longest = max(map(len, map(str.rstrip, screen.text.splitlines())))
    assert longest <= (columns or 80)
    if columns == 160:
        assert len(blocks) == 1
        assert longest > 100  # the width is used


def test_a_terminal_cuts_what_is_too_wide_and_a_pipe_gets_all(monkeypatch):
    cells = {"name": ["a" * 300], "rows": [1]}
    for columns, whole in ((80, False), (400, True), (None, True)):
        screen = Screen(monkeypatch, columns)
        Page(stream=screen).table(cells)
        assert ("a" * 300 in screen.text) == whole
        assert ("…" in screen.text) != whole


FITTED = {
    "tan": bk.TAN(roles={"year": "categorical"}),
    "kdb": bk.KDB(roles={"year": "categorical"}),
    "aode": bk.AODE(roles={"year": "categorical"}, weights="log-linear"),
    "nbtree": bk.NBTree(roles={"year": "categorical"}),
    "subclass": bk.SubclassBayes(roles={"year": "ignore"}, n_subclasses=2, restarts=1),
    "best": bk.BayesClassifier(n_members=2, n_chains=2, n_trees=4, fast=False, roles={"year": "categorical"}),
    "naive": bk.NaiveBayes(roles={"year": "categorical"}),
}


@pytest.fixture(scope="module")
def models():
    return {name: model.fit(load_penguins(), "species") for name, model in FITTED.items()}


@pytest.mark.slow
def test_inspect_shows_what_joins_the_columns(bayes, models, here):
    shown = {}
    for name, model in models.items():
        model.save(here / f"{name}.bayes")
        told = bayes("inspect", f"{name}.bayes").out
        record = bayes("inspect", f"{name}.bayes", "--json").json["structure"]
        if name == "naive":
            assert record is None
            continue
        described = model.describe_structure()
        assert record["sentence"] == described.sentence
        columns = [{"name": column, "values": described.table[column]} for column in described.table.column_names]
        assert record["table"] == columns
        assert described.sentence[:40] in told
        assert str(described).splitlines()[-1].strip() in told or not described.lines
        shown[name] = told
    parents = models["tan"].parents_
    root = next(name for name, own in parents.items() if not own)
    assert f"\n{root}\n└ " in shown["tan"] or f"\n{root}\n├ " in shown["tan"]
    assert len([line for line in models["tan"].describe_structure().lines if "nats" in line]) == len(parents) - 1
    for own in models["kdb"].parents_.values():
        assert ", ".join(own) in shown["kdb"]
    assert models["nbtree"].tree_text() in shown["nbtree"]
    for text in models["subclass"].subclasses_["what sets it apart"]:
        assert text in shown["subclass"]
    assert "exponent" in shown["aode"]
    assert "2 members" in shown["best"]


@pytest.mark.parametrize("name", ["tan", "kdb", "nbtree"])
def test_a_column_is_shown_with_all_its_contexts(bayes, models, here, name):
    models[name].save(here / f"{name}.bayes")
    table = models[name].table("bill_length_mm")
    assert table.keys > 1
    keys = table.column_names[: table.keys]
    told = bayes("inspect", f"{name}.bayes", "--column", "bill_length_mm").out
    assert "…" not in told
    for block in told.strip("\n").split("\n\n"):
        assert all(str(key) in block for key in keys)
        lines = block.splitlines()[-len(table) :]
        for line, *values in zip(lines, *(table[key] for key in keys), strict=True):
            assert all(str(value) in line for value in values)
