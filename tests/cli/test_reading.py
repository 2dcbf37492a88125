"""What a person may hand to a command: files of other forms, several files, rows that come one by one."""

import csv
import io

import bayeskit as bk


def rows(text):
    """The lines of CSV as mappings."""
    return list(csv.DictReader(io.StringIO(text)))


def test_files_without_a_header_with_comments_and_decimal_commas_are_read(bayes, here):
    (here / "bare.csv").write_text("# by hand\n1,5;yes\n2,5;no\n# mended\n1,4;yes\n2,6;no\n")
    form = ["--decimal", ",", "--comment", "#"]
    bayes("fit", "bare.csv", "-t", "play", "--columns", "size,play", *form, "-o", "m.bayes")
    assert bk.load("m.bayes").table("size")["mean"] == [2.55, 1.45]
    said = rows(bayes("predict", "m.bayes", "bare.csv", "--columns", "size,play", *form).out)
    assert [row["play"] for row in said] == ["yes", "no", "yes", "no"]
    bayes("fit", "bare.csv", "-t", "c2", "--no-header", *form, "-o", "n.bayes")
    assert bk.load("n.bayes").schema_.used == ["c1"]


def test_the_form_of_a_file_stays_in_the_command_that_is_advised(bayes, here):
    (here / "bare.csv").write_text("1;yes\n2;no\n1;yes\n2;no\n")
    told = bayes("fit", "bare.csv", "-t", "c2", "--no-header", "--decimal", ",", "--role", "c1=numeric").out
    assert "  bayes fit bare.csv -t c2 -m best --role c1=numeric --no-header --decimal ," in told


def test_a_form_that_does_not_fit_is_told_in_options(refused, here):
    (here / "bare.csv").write_text("x;y\n1,5;yes\n2.5;no\n")
    refused(["fit", "bare.csv", "-t", "y", "--columns", "a"], 1, "line 1: 2 cells where --columns names 1")
    refused(["fit", "bare.csv", "-t", "y", "--type", "x=float"], 1, "decimal comma, pass --decimal ,.")
