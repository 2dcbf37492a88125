"""Every piece of advice that the package can give is followed here, in Python or at a terminal, and ends in success.

A place that gives advice and has no test that follows it fails the first test: see ``follows``.
"""

import ast
import shlex
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.model_selection import cross_val_score

import bayeskit as bk
from bayeskit.cli.remedies import OPTIONS
from bayeskit.data.schema import Categorical, Numeric
from bayeskit.errors import BayesError, BayesWarning, Message
from bayeskit.models.ensemble import parameters
from bayeskit.remedy import OPEN, OtherModel, Remedy

SOURCES = Path(bk.__file__).parent
HELPERS = {"data/advice.py: by_role", "data/advice.py: _better_as"}  # that word what their callers advise
OPTION = ("--", "bayes fit", "bayes predict", "bayes ask", "bayes inspect")
NO_ADVICE = {  # that name an option, and advise none
    "cli/commands/ask.py: _show_values: --json",
    "cli/commands/evaluate.py: _show_confusion: --json",
    "cli/commands/inspect.py: _show_structure: --json",
    "cli/commands/predict.py: command: --costs --reject",
    "cli/commands/predict.py: command: --proba --costs --reject",
    "cli/commands/fit/from_tables.py: _model: --model",
    "cli/remedies.py: words: --model",
    "cli/texts.py: open_unlabelled: --text --whole-file",
    "data/source.py: refuse_frame_elsewhere: NaiveBayes",  # no test follows it: the frame is one of a cluster
    "cli/texts.py: refuse_text: --text",
    "kernels/__init__.py: _chosen: --force-reinstall --no-cache-dir",  # followed by whoever has a compiler
}


# -- where advice is given ---------------------------------------------------------------------------


@cache
def places() -> frozenset[str]:
    """``file: function: setting`` for every remedy, model and option that some message names."""
    found = set()

    def look(node, file, where, documented):
        for child in ast.iter_child_nodes(node):
            here = where
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                here = child.name if isinstance(child, ast.FunctionDef) else where
            elif not where and isinstance(child, (ast.Assign, ast.AnnAssign)):
                here = ast.unparse(child.targets[0] if isinstance(child, ast.Assign) else child.target)
            if isinstance(child, ast.Call) and ast.unparse(child.func) in ("Remedy", "OtherModel"):
                found.add(f"{file}: {here}: {child.args[0].value}")
            elif isinstance(child, ast.Call) and ast.unparse(child.func) in ("by_role", "_better_as"):
                found.add(f"{file}: {here}: roles")
            elif isinstance(child, ast.Constant) and isinstance(child.value, str) and " " in child.value.strip():
                named = [word.strip(".,:;()") for word in child.value.split() if word.startswith("--")]
                if named and not (isinstance(node, ast.Expr) or "help" in documented) and here:
                    found.add(f"{file}: {here}: {' '.join(named)}")
            inside = documented | ({child.arg} if isinstance(child, ast.keyword) else set())
            look(child, file, here, inside)

    for path in sorted(SOURCES.rglob("*.py")):
        look(ast.parse(path.read_text()), path.relative_to(SOURCES).as_posix(), "", frozenset())
    return frozenset(p for p in found if p.rpartition(":")[0] not in HELPERS and p not in NO_ADVICE)


FOLLOWED: dict[str, Callable] = {}


def follows(*where: str):
    """The test follows what these places advise: ``file: function: setting``."""

    def register(test):
        for place in where:
            assert place not in FOLLOWED, f"{place} is followed twice"
            FOLLOWED[place] = test
        return test

    return register


@pytest.mark.slow
def test_every_piece_of_advice_is_followed_by_a_test():
    assert places() - FOLLOWED.keys() == set(), "advice that no test follows"
    assert FOLLOWED.keys() - places() == set(), "advice that is given no more"


# -- how it is followed ------------------------------------------------------------------------------


def said(attempt, **settings) -> Message:
    """The error or the advice of an attempt, which must give one."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            attempt(**settings)
        except BayesError as problem:
            return problem
    (advice,) = [one.message for one in told if issubclass(one.category, BayesWarning)]
    return advice


def follow(attempt, *names, chosen=None, model=None, **given):
    """Follow each remedy of an attempt's message in turn: what was advised is passed, and then all is well."""
    message = said(attempt, **given)
    advised = [one.name if isinstance(one, OtherModel) else one.setting for one in message.remedies]
    assert set(names) == set(advised), f"{message}: {advised}"
    for remedy in message.remedies:
        with warnings.catch_warnings():
            warnings.simplefilter("error", BayesWarning)
            if isinstance(remedy, OtherModel):
                attempt(**{**given, "kind": getattr(bk, remedy.name)})
                continue
            open_ = remedy.value is OPEN or "name" in (remedy.value if isinstance(remedy.value, dict) else ())
            value = chosen[remedy.setting] if open_ else remedy.value
            assert open_ or str(remedy.value) or str(remedy)  # what is closed can be pasted
            attempt(**{**given, remedy.setting: value})
    return message


def typed(text: str) -> list[str]:
    """The options of a message with their values, as a person would copy them."""
    words = shlex.split(" ".join(text.split()).replace("'s ", "s "), posix=True)
    found = []
    for i, word in enumerate(words):
        option = word.strip(",.;:()")
        if option in OPTIONS.values() or option in ("--model", "--held-out", "--smoothing", "--numeric", "--text"):
            found += [option] + ([words[i + 1].rstrip(",.;)")] if option != "--held-out" else [])
    return found


def rows(**columns):
    """A table of sixty rows with a class, whose other columns give no cause for advice."""
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=60).round(3), **columns}, np.resize(["p", "q", "q"], 60)


def limited(kind, memory_limit):
    """The limit of memory, for models that have one."""
    return {} if kind is bk.NaiveBayes else {"memory_limit": memory_limit}


def fitting(data, y, kind=bk.NaiveBayes):
    """An attempt at a fit."""

    def attempt(kind=kind, **settings):
        return kind(**settings).fit(data, y)

    return attempt


# -- advice on columns -------------------------------------------------------------------------------


@follows(
    "estimate/marginal_likelihood.py: hyperparameters: smoothing",
    "models/naive_bayes/classifier.py: log_marginal_likelihood: numeric",
    "models/naive_bayes/classifier.py: log_marginal_likelihood: roles",
)
def test_evidence_asks_for_priors_and_tables():
    data, y = rows(sky=np.resize([*"abca"], 60))

    def weigh(roles=None, **settings):
        return bk.NaiveBayes(roles=roles, **settings).fit(data, y).log_marginal_likelihood()

    follow(weigh, "numeric", "roles")
    follow(weigh, "smoothing", numeric="histogram", smoothing=0)


@follows(
    "cli/commands/explain.py: _work: --row --work",
    "cli/commands/explain.py: command: --work --against",
    "cli/commands/fit/from_tables.py: _cut_numbers: --numeric",
)
def test_what_goes_with_work_and_with_cuts(bayes):
    fit = ("fit", "birds.csv", "-t", "species", "-o", "m.bayes", "--role", "year=ignore", "--no-scores")
    assert "goes with --numeric histogram" in bayes(*fit, "--cuts", "3", "--numeric", "kernel", code=2).err
    bayes(*fit, "--cuts", "3", "--numeric", "histogram")
    told = bayes("explain", "m.bayes", "--work", code=1).err
    assert "bayes explain MODEL DATA --row N --work" in told
    told = bayes("explain", "m.bayes", "birds.csv", "--work", "--against", "Gentoo", code=1).err
    assert "leave --against out" in told
    bayes("explain", "m.bayes", "birds.csv", "--row", "2", "--work")


@follows("data/advice.py: _of_few_rows: roles")
def test_small_tables_are_told_of_plain_cases_alone():
    y = ["p", "q"] * 5
    spread = [3.5, 1.25, 7.0, 2.5, 9.75, 4.0, 8.5, 0.25, 6.0, 5.5]
    follow(fitting({"id": list(range(1, 11)), "x": spread}, y), "roles")
    follow(fitting({"colour": [3, 2, 0, 3, 1], "x": spread[:5]}, y[:5]), "roles")
    follow(fitting({"who": [f"k{i}" for i in range(10)], "x": spread}, y), "roles")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitting({"year": [2001, 2002, 2003, 2004, 2005], "x": spread[:5]}, y[:5])()
        fitting({"size": [31, 12, 12, 45, 31], "who": [*"abcde"]}, y[:5])()
        fitting({"id": [1, 2, 3, 4]}, y[:4])()


@follows("data/advice.py: _of_integers: roles", "data/advice.py: _of_floats: roles")
def test_codes_and_rising_numbers(bayes):
    data, y = rows(code=[i % 3 for i in range(60)])
    follow(fitting(data, y), "roles")
    data, y = rows(number=list(range(60)))
    follow(fitting(data, y), "roles")
    data, y = rows(flag=[None if i == 4 else float(i % 2) for i in range(60)])
    follow(fitting(data, y), "roles")


TEXTS = {
    "an identifier": [f"k{i}" for i in range(60)],
    "long strings": [f"{i % 20:064}x" for i in range(60)],
    "nearly unique strings": [f"k{i % 57}" for i in range(60)],
    "free text": [f"the {i} cats and {i % 7} dogs sat on mat {i}" for i in range(60)],
}


@follows("data/advice.py: _of_categories: roles")
@pytest.mark.parametrize(("kind", "role"), zip(TEXTS, ["ignore", "ignore", "ignore", "text"], strict=True))
def test_strings_of_every_kind(kind, role):
    data, y = rows(s=TEXTS[kind])
    message = follow(fitting(data, y), "roles")
    assert message.remedies[0].value == {"s": role}


def test_identifiers_nearly_unique_strings_and_free_text_are_told_apart():
    told = {kind: str(said(fitting(*rows(s=values)))) for kind, values in TEXTS.items()}
    assert "like an identifier; to leave it out, pass" in told["an identifier"]
    assert (
        "hardly any value twice, so that new rows will bring others; group its values, or"
        in (told["nearly unique strings"])
    )
    assert "holds free text; to read it as documents, pass" in told["free text"]


@follows("data/advice.py: of_memory: roles")
def test_texts_among_the_numbers_of_a_frame_are_made_missing():
    ages = ["unknown" if i % 20 == 3 else str(i % 37) for i in range(60)]
    message = said(fitting(*rows(age=ages)))
    assert "make these cells missing, and, to take the others as numbers, pass roles={'age': \"numeric\"}" in str(
        message
    )
    mended = [None if age == "unknown" else age for age in ages]
    data, y = rows(age=mended)
    assert isinstance(
        bk.NaiveBayes(**{r.setting: r.value for r in message.remedies}).fit(data, y).schema_.columns["age"], Numeric
    )


def file_of(name, **columns):
    table = {"x": [i * 0.37 % 11 for i in range(300)], **columns, "y": [*"pqq"] * 100}
    lines = [",".join(table)]
    rows = zip(*table.values(), strict=True)
    lines += [",".join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in cells) for cells in rows]
    Path(name).write_text("\n".join(lines) + "\n")
    return name


@follows("data/advice.py: _numbers_among: missing", "data/advice.py: _numbers_among: decimal")
def test_texts_and_commas_among_the_numbers_of_a_file(bayes):
    file_of("ages.csv", age=["not known" if i % 50 == 7 else i % 60 for i in range(300)])

    def attempt(**reading):
        return bk.NaiveBayes().fit_source(bk.open_source("ages.csv", "y", **reading))

    follow(attempt, "missing")
    told = bayes("fit", "ages.csv", "-t", "y")
    again = bayes("fit", "ages.csv", "-t", "y", *typed(told.out[told.out.index("advice:") :]), "--json").json
    assert (again["columns"][1]["role"], again["advice"]) == ("numeric", [])
    file_of("sizes.csv", size=[f"{i % 40},{i % 7}" for i in range(300)])
    told = bayes("fit", "sizes.csv", "-t", "y").out
    assert "where that is a decimal comma, pass --decimal ," in " ".join(told.split())
    assert bayes("fit", "sizes.csv", "-t", "y", "--decimal", ",", "--json").json["columns"][1]["role"] == "numeric"


@follows("data/advice.py: _numbers_as_text: roles", "data/advice.py: _of_several_types: roles")
def test_numbers_as_text_and_cells_of_several_types():
    follow(fitting(*rows(size=[f"{i * 37 % 11}.5" for i in range(60)])), "roles")
    follow(fitting(*rows(mixed=[i % 3 if i % 2 else "few" for i in range(60)])), "roles")


@follows("data/files/csv.py: _told: decimal")
def test_a_decimal_comma_where_points_were_seen(bayes):
    Path("new.csv").write_text("x;y\n1,5;p\n2,5;q\n3,5;q\n")

    def attempt(**reading):
        source = bk.open_source("new.csv", "y", **{"types": {"x": "float"}, **reading})
        return bk.NaiveBayes().fit_source(source)

    message = said(attempt)
    assert [remedy.setting for remedy in message.remedies] == ["decimal", "types"]
    attempt(decimal=",")
    attempt(types={"x": "string"})
    told = bayes("fit", "new.csv", "-t", "y", "--type", "x=float", code=1).err
    assert "pass --decimal ,." in told
    bayes("fit", "new.csv", "-t", "y", "--type", "x=float", "--decimal", ",")


@follows("data/missing_labels.py: REMEDY: unlabelled")
def test_rows_without_a_label():
    data, _ = rows(sky=[*"ab"] * 30)
    labels = [None if i == 7 else "pq"[i % 2] for i in range(60)]
    (remedy,) = said(fitting(data, labels)).remedies
    with pytest.warns(BayesWarning, match="row 7 has no label: left out"):
        fitting(data, labels)(**{remedy.setting: remedy.value})


@follows("data/schema.py: _column: roles", "data/dates.py: _no_date: roles")
def test_roles_of_columns_without_names_and_of_what_is_no_date():
    data, y = np.arange(12).reshape(6, 2), [0, 1] * 3
    follow(fitting(data, y), "roles", roles={"age": "numeric"})
    days = ["2024-05-01", "soon", "2024-05-03"] * 20
    labels = ["p", "q", "q"] * 20
    follow(fitting({"day": days, "x": [*"aab"] * 20}, labels), "roles", roles={"day": "month,weekday"})


@follows("cli/commands/fit/__init__.py: command: --tags", "cli/commands/tag.py: command: --tags")
def test_sentences_are_learnt_from_on_wish(bayes):
    Path("said.txt").write_text("the/D dog/N barks/V\nthe/D cat/N sleeps/V\n")
    told = bayes("fit", "said.txt", "--no-fine", "-o", "m.bayes", code=2).err
    assert "is for tagged sentences: add --tags" in " ".join(told.split())
    bayes("fit", "said.txt", "--no-fine", "--tags", "-o", "m.bayes")
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "birds.bayes")
    assert "which tags no words: bayes fit --tags" in bayes("tag", "birds.bayes", "said.txt", code=1).err
    bayes("tag", "m.bayes", "said.txt")


@follows("data/advice.py: together: roles")
def test_several_columns_are_told_in_one_message_with_one_mapping(bayes):
    data, y = rows(code=[i % 3 for i in range(60)], id=TEXTS["an identifier"], note=TEXTS["free text"])
    message = follow(fitting(data, y), "roles")
    assert "roles={'code': \"categorical\", 'id': \"ignore\", 'note': \"text\"}" in str(message)
    pd.DataFrame(data).assign(y=y).to_csv("messy.csv")  # with an index that has no name
    told = bayes("fit", "messy.csv", "-t", "y", "--json").json["advice"]
    assert len(told) == 1
    assert typed(told[0]) == [
        "--role",
        "=ignore",
        "--role",
        "code=categorical",
        "--role",
        "id=ignore",
        "--role",
        "note=text",
    ]
    assert bayes("fit", "messy.csv", "-t", "y", *typed(told[0]), "--json").json["advice"] == []


@pytest.mark.slow
def test_cross_validation_tells_once_what_every_fold_shows():
    data, y = rows(code=[i % 3 for i in range(60)], age=["?" if i % 13 == 5 else str(i % 31) for i in range(60)])
    for estimator in (bk.NaiveBayes(), bk.TAN()):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            cross_val_score(estimator, pd.DataFrame(data), y, cv=5)
        assert len(told) == 1, [str(one.message) for one in told]


@follows("models/base/column_advice.py: advise: roles", "models/base/column_advice.py: advise_spikes: roles")
def test_the_target_among_the_columns_and_constant_numbers():
    data, y = rows(kind=[*"ab"] * 30)
    follow(fitting(pa.table(data), pd.Series(y, name="kind")), "roles")
    spike = np.where(y == "p", 7.0, np.arange(60) * 0.37 % 5)
    other = np.where(y == "p", 3.0, np.arange(60) * 0.73 % 7)
    follow(fitting(*rows(spike=spike, other=other)), "roles")
    follow(fitting(*rows(spike=spike, other=other), kind=bk.GaussianBayes), "roles")


# -- cells that do not fit ---------------------------------------------------------------------------


@follows("data/encoder.py: _refuse_unseen: unseen", "data/encoder.py: _refuse_unseen: domains")
def test_values_never_seen(bayes):
    def predict(**settings):
        return bk.NaiveBayes(**{"unseen": "error", **settings}).fit({"x": ["a", "b"]}, [0, 1]).predict({"x": ["c"]})

    follow(predict, "unseen")
    bayes("fit", "tennis.csv", "-t", "play", "--unseen", "error", "-o", "m.bayes")
    Path("new.csv").write_text("outlook,temperature,humidity,wind\nsnow,mild,high,weak\n")
    told = bayes("predict", "m.bayes", "new.csv", code=1).err
    assert "--unseen ignore (of bayes fit)" in told
    bayes("fit", "tennis.csv", "-t", "play", *typed(told), "-o", "m.bayes")
    bayes("predict", "m.bayes", "new.csv")

    def fit(domains=("a", "b")):
        return bk.NaiveBayes(domains={"x": domains}).fit({"x": ["a", "b", "c"]}, [0, 1, 1])

    follow(fit, "domains", chosen={"domains": ("a", "b", "c")})


@follows("data/files/csv.py: _told: types", "data/numbers.py: _not_a_number: roles")
def test_cells_that_are_no_numbers(bayes, monkeypatch):
    monkeypatch.setattr("bayeskit.data.files.csv.SAMPLE", 1 << 10)
    file_of("codes.csv", code=["A7" if i == 250 else i for i in range(300)])

    def attempt(**reading):
        return bk.NaiveBayes(roles={"code": "categorical"}).fit_source(bk.open_source("codes.csv", "y", **reading))

    follow(attempt, "types")
    told = bayes("fit", "codes.csv", "-t", "y", "--role", "code=categorical", code=1).err
    bayes("fit", "codes.csv", "-t", "y", "--role", "code=categorical", *typed(told))
    follow(fitting({"x": ["1", "2", "a"]}, [0, 1, 1]), "roles", roles={"x": "numeric"})


def test_rows_for_a_model_are_told_of_no_type_or_role_that_it_has_not_learnt(bayes):
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes")
    text = Path("birds.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join([text[0], text[1].replace("39.1", '"39,1"')]))
    for command in ("predict", "explain", "learn", "rank"):
        more = ["--class", "Adelie"] if command == "rank" else []
        told = bayes(command, "m.bayes", "new.csv", *more, code=1).err
        assert "39,1" in told
        assert "--type" not in told
        assert "--role" not in told
    model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.5]}, [0, 1, 1])
    for attempt in (model.predict, lambda rows: model.partial_fit(rows, [0])):
        with pytest.raises(BayesError, match=r"'tall' in row 0, which is no number\. Mend or empty the cell\.$"):
            attempt({"x": ["tall"]})


@follows("data/files/encodings.py: not_in: encoding")
def test_text_in_another_encoding(bayes):
    Path("west.csv").write_bytes("Größe,play\n12,yes\n9,no\n".encode("cp1252"))
    follow(lambda **reading: bk.NaiveBayes().fit_source(bk.open_source("west.csv", "play", **reading)), "encoding")
    bayes("fit", "west.csv", "-t", "play", *typed(bayes("fit", "west.csv", "-t", "play", code=1).err))


@follows("data/schema.py: _default: roles")
def test_dates_are_declared():
    data, y = rows(day=pd.date_range("2024-01-01", periods=60))
    message = follow(fitting(pd.DataFrame(data), y), "roles")
    assert len(message.remedies) == 4  # its parts, a number, a category, none


# -- which column ------------------------------------------------------------------------------------


@follows(
    "data/text/folders.py: of: column",
    "models/base/classifier.py: _labelled_source: target",
    "cli/texts.py: open_labelled: --text",
    "cli/texts.py: open_unlabelled: --text",
    "cli/commands/fit/__init__.py: command: --text",
)
def test_which_column_is_the_class_and_which_the_text(bayes):
    follow(lambda target=None: bk.NaiveBayes(roles={"year": "ignore"}).fit_source("birds.csv", target), "target",
           chosen={"target": "species"})  # fmt: skip
    Path("mail.csv").write_text("id,text,kind\n1,cheap pills,spam\n2,dear mum,ham\n3,cheap cheap,spam\n")
    follow(lambda column=None: bk.TextClassifier("multinomial", column=column).fit_source("mail.csv", "kind"), "column",
           chosen={"column": "text"})  # fmt: skip
    told = bayes("fit", "mail.csv", "-t", "kind", "--recipe", "multinomial", code=2).err
    assert "name their column with --text" in " ".join(told.replace("\n", " ").split())
    bayes("fit", "mail.csv", "-t", "kind", "--recipe", "multinomial", "--text", "text", "-o", "m.bayes")
    bk.TextClassifier("multinomial").fit(["cheap pills", "dear mum"], ["spam", "ham"]).save("t.bayes")
    for command in ("predict", "explain"):
        told = bayes(command, "t.bayes", "mail.csv", code=1).err
        assert "--text COLUMN (id, text, kind)" in told
        bayes(command, "t.bayes", "mail.csv", "--text", "text")
    Path("labelled.csv").write_text("id,text,class\n1,cheap pills,spam\n2,dear mum,ham\n")
    assert "--text COLUMN" in bayes("learn", "t.bayes", "labelled.csv", code=1).err
    bayes("learn", "t.bayes", "labelled.csv", "--text", "text")


@follows("network/joint_distribution.py: from_table: probability", "network/joint_distribution.py: from_table: count")
def test_which_column_is_the_probability(bayes):
    table = {"sky": ["sun", "rain"], "share": [0.5, 0.5]}
    message = said(lambda: bk.JointDistribution.from_table(table))
    assert [remedy.setting for remedy in message.remedies] == ["probability", "count"]
    for remedy in message.remedies:
        bk.JointDistribution.from_table(table, **{remedy.setting: "share"})
    Path("counts.csv").write_text("sky,n\nsun,3\nrain,4\n")
    told = bayes("ask", "counts.csv", "P(sky = sun)", "--probability", "n", code=1).err
    bayes("ask", "counts.csv", "P(sky = sun)", *typed(told))


@follows("cli/commands/ask.py: lines: --")
def test_a_column_of_counts_weighs_the_rows(bayes):
    Path("counts.csv").write_text("sky,count\nsun,3\nrain,1\n")
    told = bayes("ask", "counts.csv", "P(sky = sun)").out
    assert "to weigh them by 'count', pass --count count" in told
    assert bayes("ask", "counts.csv", "P(sky = sun)", *typed(told), "--json").json["probability"] == 0.75


# -- settings that do not fit ------------------------------------------------------------------------


@follows("errors.py: takes_no_texts: roles", "errors.py: takes_no_texts: NaiveBayes")
@pytest.mark.parametrize("kind", [bk.NBTree, bk.SubclassBayes])
def test_models_that_take_no_texts(kind):
    data, y = rows(a=TEXTS["free text"], b=TEXTS["free text"])

    def attempt(kind=kind, roles=None):
        return kind(roles={"a": "text", "b": "text", **(roles or {})}).fit(data, y)

    follow(attempt, "roles", "NaiveBayes")


@follows("models/ensemble/learnt_rows.py: plan_of: roles", "models/ensemble/learnt_rows.py: plan_of: NaiveBayes")
@pytest.mark.slow
def test_an_ensemble_takes_no_texts():
    data, y = rows(a=[*"uvw"] * 20)

    def attempt(kind=bk.BayesClassifier, roles=None):
        return kind(roles={"a": "text", **(roles or {})}).fit(data, y)

    follow(attempt, "roles", "NaiveBayes")


@follows(
    *(f"models/gaussian/classifier.py: complete_schema: {what}" for what in ("roles", "NaiveBayes", "memory_limit"))
)
def test_multivariate_normals_are_of_numbers():
    data, y = rows(z=np.arange(60) ** 2 % 17 * 0.5, sky=[*"ab"] * 30, wind=[*"uv"] * 30)
    follow(fitting(data, y, bk.GaussianBayes), "roles", "NaiveBayes")
    numbers, y = rows(z=np.arange(60) ** 2 % 17 * 0.5)

    def attempt(kind=bk.GaussianBayes, memory_limit=10):
        return kind(**limited(kind, memory_limit)).fit(numbers, y)

    follow(attempt, "memory_limit", "NaiveBayes", chosen={"memory_limit": 1e6})


@follows("models/gaussian/classifier.py: _tell_singular: covariance")
@pytest.mark.parametrize("given", ["full", "tied"])
def test_covariances_that_are_singular_are_shared_or_shrunk(given):
    one = np.random.default_rng(1).normal(size=60)
    data, y = {"a": one, "b": 2 * one, "c": one**2}, np.resize(["p", "q", "q"], 60)
    message = said(fitting(data, y, bk.GaussianBayes), covariance=given)
    named = [word.strip('",.') for word in str(message).partition("covariance=")[2].split() if word.startswith('"')]
    assert "diagonal" in named
    for covariance in set(named) - {"tied"}:  # tied is wiser where each class has few rows, and not here
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bk.GaussianBayes(covariance).fit(data, y)
    few, labels = np.random.default_rng(2).normal(size=(8, 3)), [*"ppqqqqqq"]
    assert '"tied"' in str(said(lambda: bk.GaussianBayes().fit(few, labels)))
    bk.GaussianBayes("tied").fit(few, labels)


@follows("models/nbtree/classifier.py: _smoothing: smoothing", "estimate/prior.py: class_prior: prior",
         "models/ensemble/classifier.py: check_settings: unseen")  # fmt: skip
def test_settings_that_are_one_of_a_few():
    data, y = rows(sky=[*"ab"] * 30)
    follow(fitting(data, y, bk.NBTree), "smoothing", chosen={"smoothing": "back-off"}, smoothing=0)
    for smoothing in (bk.BackOff(2), 1.0):
        bk.NBTree(smoothing=smoothing).fit(data, y)
    for prior in ("empirical", "uniform", bk.Laplace(), {"p": 0.5, "q": 0.5}, [0.5, 0.5]):
        follow(fitting(data, y), "prior", chosen={"prior": prior}, prior="odd")
    message = said(bk.BayesClassifier(unseen="smooth").check_settings)
    for remedy in message.remedies:
        bk.BayesClassifier(unseen=remedy.value).check_settings()


@follows("estimate/prior.py: prior_without_class: prior")
def test_a_prior_that_rules_out_all_other_classes():
    data, y = {"x": ["a", "b", "a"]}, ["only", "q", "q"]

    def attempt(prior=(1.0, 0.0)):
        return bk.NaiveBayes(prior=prior).fit(data, y).leave_one_out(data, y)

    follow(attempt, "prior")


@follows("errors.py: impossible: undecidable", "cli/remedies.py: INSTEAD: --smoothing")
def test_rows_that_are_impossible_under_every_class(bayes):
    def attempt(undecidable="error", smoothing=0):
        model = bk.NaiveBayes(smoothing=smoothing, undecidable=undecidable).fit({"x": [*"ab"], "z": [*"uv"]}, [0, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bk.UndecidableWarning)  # which says what was done
            return model.predict({"x": ["a"], "z": ["v"]})

    follow(attempt, "undecidable")
    attempt(smoothing=1)
    bk.NaiveBayes(smoothing=0, undecidable="error").fit({"x": [*"ab"], "z": [*"uv"]}, [0, 1]).save("m.bayes")
    Path("new.csv").write_text("x,z\na,v\n")
    told = bayes("predict", "m.bayes", "new.csv", code=1).err
    Path("old.csv").write_text("x,z,y\na,u,0\nb,v,1\n")
    bayes("fit", "old.csv", "-t", "y", *typed(told), "-o", "m.bayes")
    bayes("predict", "m.bayes", "new.csv")


# -- two models ------------------------------------------------------------------------------------


@follows("tally/matching.py: check_same: schema", "cli/remedies.py: INSTEAD: --role")
def test_models_of_other_columns_share_a_schema(bayes):
    one = bk.NaiveBayes(numeric="histogram", cuts=3).fit({"x": np.arange(60) * 0.37}, [*"pq"] * 30)

    def attempt(schema=None):
        other = bk.NaiveBayes(numeric="histogram", cuts=3, schema=schema).fit({"x": np.arange(60) * 0.11}, [*"pq"] * 30)
        return one.merge(other)

    follow(attempt, "schema", chosen={"schema": one.schema_})
    bayes("fit", "half.csv", "-t", "species", "--role", "year=ignore", "-o", "a.bayes")
    bayes("fit", "rest.csv", "-t", "species", "-o", "b.bayes")
    told = bayes("merge", "a.bayes", "b.bayes", "-o", "c.bayes", code=1).err
    assert "Fit both with the same --role" in told
    bayes("fit", "rest.csv", "-t", "species", "--role", "year=ignore", "-o", "b.bayes")
    bayes("merge", "a.bayes", "b.bayes", "-o", "c.bayes")


@follows("models/ensemble/classifier.py: _merged: structure", "models/nbtree/classifier.py: _merged: tree")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_models_of_other_structures_share_one():
    rng = np.random.default_rng(0)
    columns = {"a": rng.choice([*"uvw"], 90), "b": rng.normal(size=90), "c": rng.choice([*"xy"], 90)}
    labels = rng.choice([*"pq"], 90)
    first = bk.BayesClassifier(n_members=2, n_chains=2).fit(columns, labels)

    def ensemble(structure=None):
        other = bk.BayesClassifier(n_members=2, n_chains=3, random_state=5, structure=structure)
        return first.merge(other.fit(columns, labels))

    follow(ensemble, "structure", chosen={"structure": first.structure_})
    rows_ = {"a": [*"uv"] * 40, "b": [*"xxyy"] * 20}
    either = [x + z in ("ux", "vy") for x, z in zip(rows_["a"], rows_["b"], strict=True)]
    grown = bk.NBTree(min_rows=2).fit(rows_, either)
    assert grown.n_leaves_ > 1

    def tree(tree=None):
        settings = {} if tree is None else {"schema": grown.schema_}
        other = bk.NBTree(tree=0 if tree is None else tree, **settings).fit(rows_, either)
        return grown.merge(other)

    follow(tree, "tree", chosen={"tree": grown.tree_})


@follows("disk/locks.py: pause: timeout")
def test_a_file_that_someone_else_changes(here):
    import threading

    bk.NaiveBayes().fit({"x": [*"ab"]}, [0, 1]).save("m.bayes")
    free, held = threading.Event(), threading.Event()

    def hold():
        with bk.updating("m.bayes"):
            held.set()
            free.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)

    def attempt(timeout=0.05):
        if timeout > 1:
            free.set()
        with bk.updating("m.bayes", timeout=timeout):
            pass

    try:
        follow(attempt, "timeout", chosen={"timeout": 30})
    finally:
        free.set()
        holder.join()


# -- too large ---------------------------------------------------------------------------------------


@follows("tally/pairs.py: FEWER: roles", "tally/pairs.py: FEWER: cuts", "tally/pairs.py: FEWER: NaiveBayes",
         "tally/pairs.py: FEWER: memory_limit")  # fmt: skip
def test_pairs_that_take_too_much(bayes):
    data, y = rows(many=[f"k{i % 25}" for i in range(60)], few=[*"ab"] * 30)

    def attempt(kind=bk.TAN, memory_limit=6_000, roles=None, cuts=20):
        used = data if cuts == 20 else {name: data[name] for name in ("x", "few")}
        more = {} if kind is bk.NaiveBayes else {"cuts": cuts}
        return kind(roles=roles, **limited(kind, memory_limit), **more).fit(used, y)

    chosen = {"roles": {"many": "ignore", "x": "ignore"}, "cuts": 2, "memory_limit": 1e8}
    follow(attempt, "roles", "cuts", "NaiveBayes", "memory_limit", chosen=chosen)
    assert (
        "--memory-limit"
        in bayes("fit", "birds.csv", "-t", "species", "-m", "tan", "--memory-limit", "1e-6", code=1).err
    )
    bayes("fit", "birds.csv", "-t", "species", "-m", "tan", "--role", "year=ignore", "--memory-limit", "1")


@follows(*(f"estimate/one_dependence.py: one_dependence: {x}" for x in ("roles", "TAN", "NaiveBayes", "memory_limit")))
def test_tables_of_every_column_as_a_parent_that_take_too_much():
    data, y = {"many": [f"k{i % 12}" for i in range(60)], "few": [*"ab"] * 30}, np.resize(["p", "q", "q"], 60)
    tally = bk.AODE().fit(data, y).tally_
    small = bk.AODE().fit({"few": data["few"]}, y).tally_

    def attempt(kind=bk.AODE, memory_limit=16_000, roles=None):
        return kind(**limited(kind, memory_limit)).fit_tally(tally if roles is None else small)

    message = follow(attempt, "roles", "TAN", "NaiveBayes", "memory_limit",
                     chosen={"roles": {"many": "ignore"}, "memory_limit": 1e8})  # fmt: skip
    assert "as parents of each other" in str(message)


@follows("estimate/conditional.py: of: k")
def test_contexts_of_parents_that_take_too_much():
    rng = np.random.default_rng(0)
    data = {name: rng.choice([*"abcdefgh"], 400) for name in "uvw"}
    y = rng.choice([*"pq"], 400)
    tally = bk.KDB(k=2).fit(data, y).tally_

    def attempt(k=2):
        model = bk.KDB(k=k, memory_limit=20_000)
        return model.fit_tally(tally) if k == 2 else bk.KDB(k=k, memory_limit=200_000).fit(data, y)

    follow(attempt, "k", chosen={"k": 0})


@follows("models/ensemble/classifier.py: _refuse_too_large: n_members", "tally/rows.py: SAMPLE: NaiveBayes")
def test_an_ensemble_that_takes_too_much():
    data, y = rows(sky=[*"ab"] * 30)

    def attempt(kind=bk.BayesClassifier, n_members=16):
        more = {"n_members": n_members, "fast": True} if kind is bk.BayesClassifier else {}
        return kind(**limited(kind, 30_000), n_threads=1, **more).fit(data, y)

    follow(attempt, "n_members", "NaiveBayes", chosen={"n_members": 1})


@follows("tally/contexts.py: FEWER: memory_limit", "network/conditional_tables.py: tables_cost: memory_limit",
         "network/inference/elimination.py: check_cost: memory_limit")  # fmt: skip
def test_networks_that_take_too_much():
    data = {"a": [*"uvw"] * 20, "b": [*"xy"] * 30}
    for attempt in (
        lambda memory_limit=100: bk.BayesianNetwork.from_data([("a", "b")], data, memory_limit=memory_limit),
        lambda memory_limit=10: bk.BayesianNetwork([], {"a": 0.5}, memory_limit=memory_limit),
        lambda memory_limit=100: bk.JointDistribution.from_data(data, 1.0, memory_limit=memory_limit),
    ):
        follow(attempt, "memory_limit", chosen={"memory_limit": 1 << 20})


@follows("models/text/classifier.py: estimate: hash_bits", "models/text/classifier.py: estimate: min_df",
         "models/text/nbsvm.py: learn: pattern", "models/text/nbsvm.py: learn: stop_words")  # fmt: skip
def test_words_that_are_too_many_or_too_few(monkeypatch):
    texts, labels = ["a cat sat", "the dog ran", "a dog sat"], ["x", "y", "y"]

    def machine(texts=("i", "a", "u"), **settings):
        return bk.TextClassifier("nbsvm", **settings).fit(texts, labels)

    message = said(machine)
    assert [one.setting for one in message.remedies] == ["pattern", "stop_words"]
    machine(pattern="words1")
    with pytest.raises(BayesError, match="no document has one: see pattern=, stop_words="):
        machine(texts=texts, stop_words=["cat", "sat", "the", "dog", "ran"])
    machine(texts=texts, stop_words=["the"])
    monkeypatch.setattr("bayeskit.models.text.classifier.LARGEST_TABLE", 6)

    def counted(**settings):
        return bk.TextClassifier("multinomial", **settings).fit(texts, labels)

    follow(counted, "hash_bits", "min_df", chosen={"hash_bits": 1, "min_df": 2})
    counted(max_features=2)


# -- at the terminal alone ---------------------------------------------------------------------------


@follows(
    "cli/commands/fit/from_tables.py: CALIBRATED: --folds",
    "cli/commands/fit/from_tables.py: _chosen: --model",
    "cli/commands/fit/from_tables.py: fit_table: --model",
    "cli/commands/diagnose.py: command: --model",
    "cli/commands/diagnose.py: _show: --json",
    "cli/commands/compare.py: _show: --json",
)
@pytest.mark.slow
def test_calibration_a_choice_of_models_and_pairs_beyond_the_table(bayes, monkeypatch):
    fit = ["fit", "half.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes"]
    assert "bayes evaluate --folds 10 has those after it" in " ".join(bayes(*fit, "--calibrate", "beta").out.split())
    bayes("evaluate", "m.bayes", "half.csv", "--folds", "10")
    assert "--model auto has no such setting" in bayes(*fit, "-m", "auto", "--prior", "uniform", code=2).err
    assert "goes with --model auto" in " ".join(bayes(*fit, "--seconds", "0.05", code=2).err.split())
    bayes(*fit, "--model", "auto", "--seconds", "0.05")
    bayes(*fit, "--model", "tan")
    assert "bayes fit --model naive" in bayes("diagnose", "m.bayes", "half.csv", code=1).err
    bayes(*fit, "--model", "naive")
    monkeypatch.setattr("bayeskit.cli.commands.diagnose.SHOWN", 1)
    assert "--json has them all" in bayes("diagnose", "m.bayes", "half.csv").out
    assert len(bayes("diagnose", "m.bayes", "half.csv", "--json").json["pairs"]) > 1
    monkeypatch.setattr("bayeskit.cli.commands.compare.SHOWN", 1)
    words = ["compare", "half.csv", "rest.csv", "-t", "species", "--models", "naive,tan"]
    assert "--json has them all" in bayes(*words).out
    assert len(bayes(*words, "--json").json["accuracy"]) == 2


@follows(
    "cli/commands/evaluate.py: _left_out: --folds --held-out",
    "cli/commands/evaluate.py: _left_out: --held-out",
    "cli/commands/evaluate.py: _held_out: --folds",
)
@pytest.mark.slow
def test_scores_without_leave_one_out(bayes):
    bk.LogisticRegression(roles={"year": "ignore"}).fit("half.csv", "species").save("m.bayes")
    assert "use --folds 10, or --held-out" in bayes("evaluate", "m.bayes", "half.csv", code=1).err
    bayes("evaluate", "m.bayes", "half.csv", "--folds", "2")
    bayes("evaluate", "m.bayes", "rest.csv", "--held-out")
    bayes("fit", "half.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes")
    Path("other.csv").write_text(Path("rest.csv").read_text().replace("Biscoe", "Atlantis"))
    assert "If the rows are new to the model, use --held-out" in bayes("evaluate", "m.bayes", "other.csv", code=1).err
    bayes("evaluate", "m.bayes", "other.csv", "--held-out")
    texts, labels = (
        ["cold rain", "warm sun", "rain and wind", "sun and sea", "rain"] * 3,
        ["bad", "good", "bad", "good", None] * 3,
    )
    bk.SemiSupervised(bk.TextClassifier(), folds=0).fit(texts, labels).save("t.bayes")
    known = [f"{text},{label}" for text, label in zip(texts, labels, strict=True) if label]
    Path("texts.csv").write_text("\n".join(["text,class", *known]) + "\n")
    assert "use --folds 10" in bayes("evaluate", "t.bayes", "texts.csv", "--text", "text", "--held-out", code=1).err
    bayes("evaluate", "t.bayes", "texts.csv", "--text", "text", "--folds", "2")


@follows(
    "models/questions.py: refuse_untabled: numeric", "models/base/tables_as_network.py: network_of_tables: numeric"
)
@pytest.mark.slow
def test_numbers_that_are_measured_are_cut_to_be_asked(bayes):
    question = "P(species = Gentoo | body_mass_g > 4500)"
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes")
    assert "fit it with --numeric histogram" in bayes("ask", "m.bayes", question, code=1).err
    bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.5]}, [0, 1, 1]).save("n.bayes")
    assert "Fit it with --numeric histogram" in bayes("ask", "n.bayes", "P(x > 1)", code=1).err
    told = bayes(
        "fit", "birds.csv", "-t", "species", "--role", "year=ignore", "--numeric", "histogram", "-o", "m.bayes"
    )
    assert told.code == 0
    bayes("ask", "m.bayes", "P(species = Gentoo | island = Biscoe)")
    bayes("ask", "birds.csv", question)


@follows("cli/commands/explain.py: _show_model: --text")
def test_a_model_of_texts_alone_is_explained_by_its_words(bayes):
    lines = [f"{'cheap pills' if i % 2 else 'dear mum and dad'} {i},{'spam' if i % 2 else 'ham'}" for i in range(30)]
    Path("mail.csv").write_text("\n".join(["text,kind", *lines]) + "\n")
    bayes("fit", "mail.csv", "-t", "kind", "--role", "text=text", "-o", "m.bayes")
    assert "fit a text model with --text" in bayes("explain", "m.bayes", code=1).err
    bayes("explain", "m.bayes", "mail.csv")
    bayes("fit", "mail.csv", "-t", "kind", "--text", "text", "-o", "t.bayes")
    assert "most telling words" in bayes("explain", "t.bayes").out


# -- a stronger model --------------------------------------------------------------------------------


def command_after(told, word):
    return next(line for i, line in enumerate(told.splitlines()) if told.splitlines()[i - 1].strip() == word).split()[
        1:
    ]


@pytest.mark.slow
def test_a_stronger_model_is_offered_where_it_will_be_learnt(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes").out
    bayes(*command_after(told, "stronger:"), "--no-scores")


def test_no_stronger_model_is_offered_where_it_would_be_refused(bayes, monkeypatch):
    monkeypatch.setattr(bk.BayesClassifier, "memory_limit", 1e6)
    told = bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes").out
    assert "stronger:" in told
    real = parameters.memory_needed
    monkeypatch.setattr("bayeskit.models.ensemble.classifier.memory_needed", lambda *size: 1e6 * real(*size))
    assert "stronger:" not in bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes").out
    with pytest.raises(BayesError, match="more than memory_limit"):
        bk.BayesClassifier(roles={"year": "ignore"}).fit("birds.csv", "species")


def test_the_size_by_counts_is_that_by_rows():
    from bayeskit.models.ensemble.learnt_rows import learnt_rows

    data, y = rows(sky=[*"abc"] * 20, wind=[None if i == 3 else "uv"[i % 2] for i in range(60)])
    naive = bk.NaiveBayes().fit(data, y)
    ensemble = bk.BayesClassifier(n_members=1, fast=True).fit(data, y)
    of_rows, of_counts = (
        parameters.TableSize.of_rows(learnt_rows(ensemble.tally_)),
        parameters.TableSize.of_counts(naive.tally_),
    )
    assert of_rows[:3] == of_counts[:3]
    assert of_rows.most_values <= of_counts.most_values


def test_columns_that_are_advised_keep_what_was_declared():
    data, y = rows(code=[i % 3 for i in range(60)], id=TEXTS["an identifier"])
    with pytest.warns(bk.AdviceWarning, match="column 'id'") as told:
        model = bk.NaiveBayes(roles={"code": "categorical"}).fit(data, y)
    assert len(told) == 1
    assert isinstance(model.schema_.columns["code"], Categorical)
    assert all(isinstance(remedy, Remedy) for remedy in told[0].message.remedies)


# -- sequences, topics, engines and databases --------------------------------------------------------

DAYS = (
    "town,day,wet,sky\nOslo,1,yes,rain\nOslo,2,yes,rain\nOslo,3,no,dry\nBern,1,no,dry\nBern,2,no,dry\nBern,3,yes,rain\n"
)
WORDS = "word,letter,pitch,language\n" + "".join(
    f"{word},{letter},{0.5 * i + len(word)},{language}\n"
    for language, words in {"it": ("sole", "luna", "mare"), "en": ("wind", "rain", "then")}.items()
    for word in words
    for i, letter in enumerate(word)
)


@follows(
    "cli/commands/fit/__init__.py: command: --sequence",
    "cli/commands/fit/from_sequences.py: fit_sequences: --states",
    "cli/commands/fit/from_sequences.py: _classifier: --states",
    "cli/of_sequences.py: inspected: --column",
    "cli/of_sequences.py: scored: --folds --held-out",
)
def test_rows_that_follow_one_another(bayes):
    Path("days.csv").write_text(DAYS)
    told = " ".join(bayes("fit", "days.csv", "-t", "sky", "--order", "day", code=2).err.split())
    assert "belongs with --sequence" in told
    told = " ".join(bayes("fit", "days.csv", "--sequence", "town", "--order", "day", code=2).err.split())
    assert "give --states K" in told
    bayes("fit", "days.csv", "--sequence", "town", "--order", "day", "--states", "2", "--role", "sky=ignore")
    Path("words.csv").write_text(WORDS)
    words = ["fit", "words.csv", "--sequence", "word", "-t", "language", "-o", "w.bayes"]
    assert "give --states K" in bayes(*words, code=1).err
    bayes(*words, "--states", "1")
    told = bayes("evaluate", "w.bayes", "words.csv", code=1).err
    assert "use --folds 10, or --held-out" in told
    bayes("evaluate", "w.bayes", "words.csv", "--folds", "2")
    assert "--column CLASS" in bayes("inspect", "w.bayes").out
    bayes("inspect", "w.bayes", "--column", "it")


@follows("estimate/emissions/symbols.py: one_row: unseen", "sequence/shared_values.py: check_varies: roles",
         "topics/topic_model.py: _check_number: n_topics")  # fmt: skip
def test_symbols_never_seen_columns_that_do_not_vary_and_numbers_of_topics():
    def online(unseen="error"):
        model = bk.HiddenMarkovModel(unseen=unseen).fit([["a", "b"], ["b", "a"]], [["u", "v"], ["v", "u"]])
        return model.online().update("c")

    follow(online, "unseen")
    rows = [[{"x": 1.0, "z": 0.5}, {"x": 1.0, "z": 2.0}], [{"x": 3.0, "z": 1.0}, {"x": 5.0, "z": 0.0}]] * 3

    def classes(roles=None):
        return bk.SequenceClassifier(bk.HiddenMarkovModel(1, roles=roles)).fit(rows, ["p", "q"] * 3)

    follow(classes, "roles")
    model = bk.TopicModel(2, n_sweeps=2).fit(["a cat sat", "the dog ran"]).set_params(n_topics=3)
    (remedy,) = said(lambda: model.partial_fit(["a dog sat"])).remedies
    model.set_params(**{remedy.setting: remedy.value}).partial_fit(["a dog sat"])


@follows(
    "engines/elsewhere.py: not_here: NaiveBayes", "engines/local.py: check_categories: max_categories",
    "engines/local.py: check_categories: roles", "estimate/learn_cuts.py: _from_distinct: cuts",
    "models/nbtree/classifier.py: complete_schema: NaiveBayes", "models/semi_naive/aode.py: fit_source: weights",
    "models/semi_naive/kdb.py: learn_plan: selective", "models/subclass/classifier.py: fit_source: NaiveBayes",
    "models/text/recipe.py: read: recipe", "tally/statistic.py: check_movable: NaiveBayes",
    "tally/distinct.py: with_columns: cuts", "data/source.py: _labelled: sample_weight",
)  # fmt: skip
@pytest.mark.slow
def test_models_that_must_see_rows_are_told_of_those_that_need_counts_alone(here, monkeypatch):
    from bayeskit.engines import Processes

    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": rng.normal(size=60), "sky": rng.choice([*"abc"], 60), "w": [1.0, 2.0] * 30, "y": [*"pq"] * 30}
    )
    pa.parquet.write_table(table, "rows.parquet")
    roles = {"w": "ignore"}

    def attempt(kind=bk.NaiveBayes, max_categories=None, roles=(), sample_weight=None, **settings):
        source = bk.open_source("rows.parquet", "y", sample_weight)
        engine = Processes(1, max_categories=max_categories)
        others = {} if sample_weight else {"w": "ignore"}
        return kind(roles=others | dict(roles), **settings).fit_source(source, engine=engine)

    for kind in (bk.NBTree, bk.SubclassBayes, bk.BayesClassifier):
        assert "NaiveBayes" in str(said(attempt, kind=kind))
    attempt(bk.NaiveBayes)
    for kind, settings, mended in (
        (bk.AODE, {"weights": "log-linear"}, {"weights": "equal"}),
        (bk.KDB, {"selective": True}, {"selective": False}),
    ):
        (remedy,) = said(attempt, kind=kind, **settings).remedies
        assert {remedy.setting: remedy.value} == mended
        attempt(kind, **mended)
    message = said(attempt, max_categories=2)
    assert {remedy.setting for remedy in message.remedies} == {"roles", "max_categories"}
    attempt(max_categories=2, roles={"sky": "ignore"})
    attempt(max_categories=None)
    (remedy,) = said(attempt, sample_weight="w", kind=bk.TAN, cuts=("random", 4)).remedies
    attempt(bk.TAN, sample_weight="w", cuts=(remedy.value, 4))
    monkeypatch.setattr("bayeskit.estimate.learn_cuts.FIT", 5)
    assert said(attempt, kind=bk.TAN).remedies[0].setting == "cuts"
    attempt(bk.TAN, cuts={"x": [0.0]})
    with pytest.raises(BayesError, match="name the column that holds them") as problem:
        bk.NaiveBayes(roles=roles).fit("rows.parquet", "y", sample_weight=[1.0] * 60)
    assert problem.value.remedies[0].setting == "sample_weight"
    bk.NaiveBayes().fit("rows.parquet", "y", sample_weight="w")


@follows("export/of_columns.py: column_terms: numeric", "data/databases/sql_source.py: at: sql",
         "cli/inputs.py: open_database: --sql", "cli/commands/export.py: command: --sql",
         "cli/commands/export.py: command: --sql --onnx --json", "cli/commands/fit/from_tables.py: fit_table: --plot",
         "cli/commands/inspect.py: _picture: --column --plot")  # fmt: skip
@pytest.mark.slow
def test_models_and_rows_of_databases(bayes):
    duckdb = pytest.importorskip("duckdb", reason="the extra sql is not installed")
    data, y = rows(sky=[*"ab"] * 30)

    def export(numeric="kernel"):
        return bk.NaiveBayes(numeric=numeric).fit(data, y).to_sql("t", keys="id")

    follow(export, "numeric")
    with duckdb.connect("shop.duckdb") as shop:
        shop.sql("CREATE TABLE days AS SELECT i AS id, i % 3 AS x, CASE i % 2 WHEN 0 THEN 'p' ELSE 'q' END AS y "
                 "FROM range(40) t(i)")  # fmt: skip
    assert "--sql" in bayes("fit", "shop.duckdb", "-t", "y", code=1).err
    bayes("fit", "shop.duckdb", "-t", "y", "--sql", "SELECT x, y FROM days", "--role", "x=categorical", "-o", "m.bayes")
    assert "give the file of one" in bayes("fit", "birds.csv", "-t", "species", "--sql", "SELECT 1", code=1).err
    assert "give one of --sql, --onnx and --json" in bayes("export", "m.bayes", code=2).err
    assert "it goes with --sql" in bayes("export", "m.bayes", "--json", "--table", "days", code=2).err
    bayes("export", "m.bayes", "--sql", "duckdb", "--table", "days", "--key", "id")
    told = bayes("fit", "birds.csv", "-t", "species", "-m", "joint", "--plot", "p.png", code=1).err
    assert "bayes evaluate and bayes explain have, with --plot" in told
    bayes("explain", "m.bayes", "--plot", "p.svg")
