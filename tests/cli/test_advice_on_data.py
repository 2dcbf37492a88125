"""Advice on rows and columns, in Python or at a terminal, is followed here and ends in success."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.model_selection import cross_val_score

import bayeskit as bk
from bayeskit.data.schema import Numeric
from bayeskit.errors import BayesError, BayesWarning, UnseenWarning
from tests.cli.following import TEXTS, advised, file_of, fitting, follow, rows, said, typed

# -- advice on columns -------------------------------------------------------------------------------


def test_evidence_asks_for_priors_and_tables():
    data, y = rows(sky=np.resize([*"abca"], 60))

    def weigh(roles=None, **settings):
        return bk.NaiveBayes(roles=roles, **settings).fit(data, y).log_marginal_likelihood()

    follow(weigh, "numeric", "roles")
    follow(weigh, "smoothing", numeric="histogram", smoothing=0)


def test_what_goes_with_work_and_with_cuts(bayes):
    fit = ("fit", "birds.csv", "-t", "species", "-o", "m.bayes", "--role", "year=ignore", "--no-scores")
    assert "goes with --numeric histogram" in bayes(*fit, "--cuts", "3", "--numeric", "kernel", code=2).err
    bayes(*fit, "--cuts", "3", "--numeric", "histogram")
    told = bayes("explain", "m.bayes", "--work", code=1).err
    assert "bayes explain MODEL DATA --row N --work" in told
    told = bayes("explain", "m.bayes", "birds.csv", "--work", "--against", "Gentoo", code=2).err
    assert "leave --against out" in told
    bayes("explain", "m.bayes", "birds.csv", "--row", "2", "--work")


def test_small_tables_are_told_of_plain_cases_alone():
    y = ["p", "q"] * 5
    spread = [3.5, 1.25, 7.0, 2.5, 9.75, 4.0, 8.5, 0.25, 6.0, 5.5]
    follow(fitting({"id": list(range(1, 11)), "x": spread}, y), "roles")
    follow(fitting({"color": [3, 2, 0, 3, 1], "x": spread[:5]}, y[:5]), "roles")
    follow(fitting({"who": [f"k{i}" for i in range(10)], "x": spread}, y), "roles")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitting({"year": [2001, 2002, 2003, 2004, 2005], "x": spread[:5]}, y[:5])()
        fitting({"size": [31, 12, 12, 45, 31], "who": [*"abcde"]}, y[:5])()
        fitting({"id": [1, 2, 3, 4]}, y[:4])()


def test_codes_and_rising_numbers(bayes):
    data, y = rows(code=[i % 3 for i in range(60)])
    follow(fitting(data, y), "roles")
    data, y = rows(number=list(range(60)))
    follow(fitting(data, y), "roles")
    data, y = rows(flag=[None if i == 4 else float(i % 2) for i in range(60)])
    follow(fitting(data, y), "roles")


@pytest.mark.parametrize(("kind", "role"), zip(TEXTS, ["ignore", "ignore", "ignore", "text"], strict=True))
def test_strings_of_every_kind(kind, role):
    data, y = rows(s=TEXTS[kind])
    message = follow(fitting(data, y), "roles")
    assert advised(message, "roles")[0] == {"s": role}


def test_identifiers_nearly_unique_strings_and_free_text_are_told_apart():
    told = {kind: str(said(fitting(*rows(s=values)))) for kind, values in TEXTS.items()}
    assert "like an identifier; to leave it out, pass" in told["an identifier"]
    assert (
        "hardly any value twice, so that new rows will bring others; group its values, or"
        in (told["nearly unique strings"])
    )
    assert "holds free text; to read it as documents, pass" in told["free text"]


def test_texts_among_the_numbers_of_a_frame_are_made_missing():
    ages = ["unknown" if i % 20 == 3 else str(i % 37) for i in range(60)]
    message = said(fitting(*rows(age=ages)))
    assert "make these cells missing, and, to take the others as numbers, pass roles={'age': \"numeric\"}" in str(
        message
    )
    mended = [None if age == "unknown" else age for age in ages]
    data, y = rows(age=mended)
    assert isinstance(bk.NaiveBayes(roles=advised(message, "roles")[0]).fit(data, y).schema_.columns["age"], Numeric)


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


def test_numbers_as_text_and_cells_of_several_types():
    follow(fitting(*rows(size=[f"{i * 37 % 11}.5" for i in range(60)])), "roles")
    follow(fitting(*rows(mixed=[i % 3 if i % 2 else "few" for i in range(60)])), "roles")


def test_a_decimal_comma_where_points_were_seen(bayes):
    Path("new.csv").write_text("x;y\n1,5;p\n2,5;q\n3,5;q\n")

    def attempt(**reading):
        source = bk.open_source("new.csv", "y", **{"types": {"x": "float"}, **reading})
        return bk.NaiveBayes().fit_source(source)

    message = said(attempt)
    assert advised(message, "decimal") == [","]
    assert advised(message, "types") == [{"x": "string"}]
    attempt(decimal=",")
    attempt(types={"x": "string"})
    told = bayes("fit", "new.csv", "-t", "y", "--type", "x=float", code=1).err
    assert "pass --decimal ,." in told
    bayes("fit", "new.csv", "-t", "y", "--type", "x=float", "--decimal", ",")


def test_rows_without_a_label():
    data, _ = rows(sky=[*"ab"] * 30)
    labels = [None if i == 7 else "pq"[i % 2] for i in range(60)]
    (unlabeled,) = advised(said(fitting(data, labels)), "unlabeled")
    with pytest.warns(BayesWarning, match="row 7 has no label: left out"):
        fitting(data, labels)(unlabeled=unlabeled)


def test_roles_of_columns_without_names_and_of_what_is_no_date():
    data, y = np.arange(12).reshape(6, 2), [0, 1] * 3
    follow(fitting(data, y), "roles", roles={"age": "numeric"})
    days = ["2024-05-01", "soon", "2024-05-03"] * 20
    labels = ["p", "q", "q"] * 20
    follow(fitting({"day": days, "x": [*"aab"] * 20}, labels), "roles", roles={"day": "month,weekday"})


def test_sentences_are_learned_from_on_wish(bayes):
    Path("said.txt").write_text("the/D dog/N barks/V\nthe/D cat/N sleeps/V\n")
    told = bayes("fit", "said.txt", "--no-fine", "-o", "m.bayes", code=2).err
    assert "is for tagged sentences: add --tags" in " ".join(told.split())
    bayes("fit", "said.txt", "--no-fine", "--tags", "-o", "m.bayes")
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "birds.bayes")
    assert "which tags no words: bayes fit --tags" in bayes("tag", "birds.bayes", "said.txt", code=1).err
    bayes("tag", "m.bayes", "said.txt")


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
        told = [one for one in told if not issubclass(one.category, UnseenWarning)]
        assert len(told) == 1, [str(one.message) for one in told]


def test_the_target_among_the_columns_and_constant_numbers():
    data, y = rows(kind=[*"ab"] * 30)
    follow(fitting(pa.table(data), pd.Series(y, name="kind")), "roles")
    spike = np.where(y == "p", 7.0, np.arange(60) * 0.37 % 5)
    other = np.where(y == "p", 3.0, np.arange(60) * 0.73 % 7)
    follow(fitting(*rows(spike=spike, other=other)), "roles")
    follow(fitting(*rows(spike=spike, other=other), kind=bk.GaussianBayes), "roles")


# -- cells that do not fit ---------------------------------------------------------------------------


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


def test_cells_that_are_no_numbers(bayes, monkeypatch):
    monkeypatch.setattr("bayeskit.data.io.csv.SAMPLE", 1 << 10)
    file_of("codes.csv", code=["A7" if i == 250 else i for i in range(300)])

    def attempt(**reading):
        return bk.NaiveBayes(roles={"code": "categorical"}).fit_source(bk.open_source("codes.csv", "y", **reading))

    follow(attempt, "types")
    told = bayes("fit", "codes.csv", "-t", "y", "--role", "code=categorical", code=1).err
    bayes("fit", "codes.csv", "-t", "y", "--role", "code=categorical", *typed(told))
    follow(fitting({"x": ["1", "2", "a"]}, [0, 1, 1]), "roles", roles={"x": "numeric"})


def test_rows_for_a_model_get_no_advice_on_types_or_roles_but_for_a_new_fit(bayes):
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes")
    text = Path("birds.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join([text[0], text[1].replace("39.1", '"39,1"')]))
    for command in ("predict", "explain", "learn", "rank"):
        more = ["--class", "Adelie"] if command == "rank" else []
        told = bayes(command, "m.bayes", "new.csv", *more, code=1).err
        assert "39,1" in told
        assert told.count("--type") == told.count("--type bill_length_mm=string (of bayes fit)")
        assert "--role" not in told
    model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.5]}, [0, 1, 1])
    for attempt in (model.predict, lambda rows: model.partial_fit(rows, [0])):
        with pytest.raises(BayesError, match=r"'tall' in row 0, which is not a number\. Correct or empty the cell\.$"):
            attempt({"x": ["tall"]})


def test_numbers_without_a_logarithm_and_kinds_that_cannot_be_chosen(bayes):
    data, y = {"x": [1.0, -2.0, 3.0, 4.5], "z": [1.0, 2.0, 0.5, 3.0]}, [*"pqpq"]
    follow(fitting(data, y), "numeric", numeric="lognormal")
    file_of("logs.csv", x=[i * 0.37 % 11 - 1 for i in range(300)])
    told = bayes("fit", "logs.csv", "-t", "y", "--numeric", "lognormal", code=1).err
    bayes("fit", "logs.csv", "-t", "y", *typed(told))
    some = [*"pqpq", None, None]

    def mixed(numeric="auto"):
        columns = {"x": [0.5, 1.5, 2.5, 3.0, 4.5, 7.0], "sky": [*"ababab"]}
        return bk.SemiSupervised(bk.NaiveBayes(numeric=numeric), folds=0).fit(columns, some)

    mixed()


def test_text_in_another_encoding(bayes):
    Path("west.csv").write_bytes("Größe,play\n12,yes\n9,no\n".encode("cp1252"))
    follow(lambda **reading: bk.NaiveBayes().fit_source(bk.open_source("west.csv", "play", **reading)), "encoding")
    bayes("fit", "west.csv", "-t", "play", *typed(bayes("fit", "west.csv", "-t", "play", code=1).err))


def test_dates_are_declared():
    data, y = rows(day=pd.date_range("2024-01-01", periods=60))
    message = follow(fitting(pd.DataFrame(data), y), "roles")
    assert all(role in str(message) for role in ("numeric", "categorical", "month,weekday", "ignore"))


# -- which column ------------------------------------------------------------------------------------


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
    Path("labeled.csv").write_text("id,text,class\n1,cheap pills,spam\n2,dear mum,ham\n")
    assert "--text COLUMN" in bayes("learn", "t.bayes", "labeled.csv", code=1).err
    bayes("learn", "t.bayes", "labeled.csv", "--text", "text")


def test_which_column_is_the_probability(bayes):
    table = {"sky": ["sun", "rain"], "share": [0.5, 0.5]}
    message = said(lambda: bk.JointDistribution.from_table(table))
    for setting in ("probability", "count"):
        assert f"{setting}=" in str(message)
        bk.JointDistribution.from_table(table, **{setting: "share"})
    Path("counts.csv").write_text("sky,n\nsun,3\nrain,4\n")
    told = bayes("ask", "counts.csv", "P(sky = sun)", "--probability", "n", code=1).err
    bayes("ask", "counts.csv", "P(sky = sun)", *typed(told))


def test_a_column_of_counts_weighs_the_rows(bayes):
    Path("counts.csv").write_text("sky,count\nsun,3\nrain,1\n")
    told = bayes("ask", "counts.csv", "P(sky = sun)").out
    assert "to weigh them by 'count', pass --count count" in told
    assert bayes("ask", "counts.csv", "P(sky = sun)", *typed(told), "--json").json["probability"] == 0.75
