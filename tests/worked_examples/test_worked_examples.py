"""The worked examples of the course, through the public interface, to the figures that fractions give."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.datasets import load_worked_example


def rows_of(name):
    return load_worked_example(name).to_pylist()


def naive_joint(rows, target, record, alpha=0, domains=None, prior_alpha=0):
    """P(c) ∏ P(x | c) by counting with fractions, for the columns that the record names."""
    classes = Counter(row[target] for row in rows)
    joint = {}
    for label, n in classes.items():
        p = Fraction(n + prior_alpha, len(rows) + prior_alpha * len(classes))
        for column, value in record.items():
            n_values = len((domains or {}).get(column) or {row[column] for row in rows})
            count = sum(row[column] == value for row in rows if row[target] == label)
            p *= Fraction(count + alpha, n + alpha * n_values)
        joint[label] = p
    return joint


def joint_of(model, record):
    return dict(zip(model.classes_.tolist(), np.exp(model.predict_joint_log_proba(record)[0]), strict=True))


def assert_joint(model, record, expected):
    found = joint_of(model, record)
    assert found.keys() == expected.keys()
    for label, p in expected.items():
        assert found[label] == pytest.approx(float(p), rel=1e-12, abs=0), label
    total = sum(expected.values())
    if total:
        for label, p in zip(model.classes_.tolist(), model.predict_proba(record)[0], strict=True):
            assert p == pytest.approx(float(expected[label] / total), rel=1e-12, abs=0)


def cpd(model, column, label):
    table = model.table(column)
    return dict(zip(table[column], table[f"P({column} | {label})"], strict=True))


def test_10_a_row_impossible_in_the_full_joint_is_possible_when_columns_are_independent():
    model = bk.NaiveBayes(smoothing=0).fit(load_worked_example("abc"), "C")
    assert_joint(model, {"A": "m", "B": "q"}, {"t": Fraction(2, 25), "f": Fraction(1, 25)})
    assert model.predict({"A": "m", "B": "q"}).tolist() == ["t"]


def test_11_no_tennis_on_a_sunny_cool_humid_and_windy_day():
    day = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
    expected = naive_joint(rows_of("tennis"), "play", day)
    assert round(float(expected["yes"]), 6) == 0.005291
    assert round(float(expected["no"]), 6) == 0.020571
    for smoothing in (0, bk.MLE(), bk.Lidstone(0), bk.Dirichlet(1), bk.MEstimate(0)):
        model = bk.NaiveBayes(smoothing=smoothing).fit(load_worked_example("tennis"), "play")
        assert_joint(model, day, expected)
    assert model.predict(day).tolist() == ["no"]
    assert round(model.predict_proba(day)[0, 0], 6) == 0.795417


def test_12_the_tables_of_the_computer_buyers_are_the_counted_fractions():
    model = bk.NaiveBayes(smoothing=bk.MLE()).fit(load_worked_example("computer"), "buys_computer")
    prior = model.table()
    assert dict(zip(prior["buys_computer"], prior["count"], strict=True)) == {"no": 5, "yes": 9}
    assert dict(zip(prior["buys_computer"], prior["P(buys_computer)"], strict=True))["yes"] == float(Fraction(9, 14))
    rows = rows_of("computer")
    for column in ("age", "income", "student", "credit_rating"):
        for label, n in (("yes", 9), ("no", 5)):
            counts = Counter(row[column] for row in rows if row["buys_computer"] == label)
            wanted = {value: counts[value] / n for value in {row[column] for row in rows}}
            assert cpd(model, column, label) == pytest.approx(wanted, rel=1e-15)
    assert sorted(cpd(model, "age", "no").values()) == pytest.approx([0, 2 / 5, 3 / 5])
    assert cpd(model, "student", "yes")["yes"] == pytest.approx(6 / 9)
    assert cpd(model, "credit_rating", "no")["excellent"] == pytest.approx(3 / 5)


def test_15_a_zero_count_decides_alone_until_it_is_smoothed():
    table = load_worked_example("computer")
    buyer = {"age": "31..40", "income": "high", "student": "no", "credit_rating": "excellent"}
    assert_joint(
        bk.NaiveBayes(smoothing=0).fit(table, "buys_computer"), buyer, {"yes": Fraction(4, 567), "no": Fraction(0)}
    )
    for laplace in (1.0, bk.Laplace(), bk.Dirichlet(2)):
        model = bk.NaiveBayes(smoothing=laplace).fit(table, "buys_computer")
        assert_joint(model, buyer, {"yes": Fraction(15, 1694), "no": Fraction(75, 10976)})
    assert round(model.predict_proba(buyer)[0, 1], 6) == 0.564435


def test_13_what_gives_birth_in_the_water_is_a_mammal():
    table = load_worked_example("mammals")
    animal = {"give_birth": "yes", "can_fly": "no", "live_in_water": "yes", "have_legs": "no"}
    target = "class"
    model = bk.NaiveBayes(smoothing=0, roles={"name": "ignore"}).fit(table, target)
    expected = naive_joint(rows_of("mammals"), target, animal)
    assert sorted(expected.values()) == [Fraction(6, 2197), Fraction(36, 1715)]
    assert_joint(model, animal, expected)
    assert model.predict(animal)[0] == max(expected, key=expected.get)


def test_19_income_has_mean_and_unbiased_variance_by_class():
    model = bk.NaiveBayes(roles={"tid": "ignore"}).fit(load_worked_example("tax"), "evade")
    table = model.table("taxable_income")
    assert (table["evade"], table["count"]) == (["no", "yes"], [7, 3])
    assert table["mean"] == pytest.approx([110, 90], rel=1e-15)
    assert table["variance"] == pytest.approx([2975, 25], rel=1e-14)


def test_20_forgetting_row_7_is_never_having_seen_it():
    table = load_worked_example("tax")
    settings_ = {"smoothing": 0, "roles": {"tid": "ignore"}}
    forgotten = bk.NaiveBayes(**settings_).fit(table, "evade").forget(table.slice(6, 1), "evade")
    keep = [i for i in range(table.num_rows) if i != 6]
    fresh = bk.NaiveBayes(**settings_).fit(table.take(keep), "evade")
    assert forgotten.tally_ == fresh.tally_
    income = forgotten.table("taxable_income")
    assert income["mean"][0] == pytest.approx(float(Fraction(550, 6)), rel=1e-14)
    assert income["variance"][0] == pytest.approx(float(Fraction(2240, 3)), rel=1e-13)
    assert cpd(forgotten, "marital_status", "no")["divorced"] == 0
    person = {"refund": "yes", "marital_status": "divorced", "taxable_income": 120}
    assert np.isneginf(forgotten.predict_joint_log_proba(person)).all()
    with pytest.warns(bk.UndecidableWarning, match=r"1 row is impossible under every class .*row 0"):
        assert forgotten.predict_proba(person)[0] == pytest.approx([6 / 9, 3 / 9])


def melons():
    table = load_worked_example("melon")
    return table, table.column_names[-1]


def test_14_a_melon_without_smoothing():
    table, target = melons()
    model = bk.NaiveBayes(smoothing=0, roles="categorical").fit(table, target)
    assert_joint(model, {"color": 3, "weight": 3}, {"yes": Fraction(1, 10), "no": Fraction(1, 15)})


def test_16_declared_values_and_classes_count_in_smoothing():
    table, target = melons()
    domains = {"color": range(4), "weight": range(5)}
    model = bk.NaiveBayes(smoothing=bk.Laplace(), prior=bk.Laplace(), domains=domains).fit(table, target)
    assert_joint(model, {"color": 0, "weight": 1}, {"yes": Fraction(1, 98), "no": Fraction(1, 49)})
    assert model.predict({"color": 0, "weight": 1}).tolist() == ["no"]
    assert [len(model.table(column)) for column in ("color", "weight")] == [4, 5]


def test_17_probabilities_from_a_table_of_counts():
    counts = {"level": {"yes": {"Low": 10, "Medium": 13, "High": 17}, "no": {"Low": 2, "Medium": 13, "High": 0}}}
    tally = bk.Tally.from_counts(counts)
    plain = bk.NaiveBayes(smoothing=0).fit_tally(tally)
    assert cpd(plain, "level", "yes")["Low"] == 1 / 4
    assert dict(zip(plain.table()["class"], plain.table()["P(class)"], strict=True))["no"] == pytest.approx(15 / 55)
    assert cpd(plain, "level", "no")["High"] == 0
    smoothed = bk.NaiveBayes(smoothing=bk.Laplace()).fit_tally(tally)
    assert cpd(smoothed, "level", "no")["High"] == pytest.approx(1 / 18, rel=1e-15)


def test_21_class_histograms_give_posteriors_and_a_tie():
    counts = {"length": {"fish": {3: 10, 7: 3, 5: 6}, "bird": {3: 2, 7: 9, 5: 6}}}
    model = bk.NaiveBayes(smoothing=0).fit_tally(bk.Tally.from_counts(counts))
    lengths = {"length": [3, 7, 5]}
    assert model.predict_proba(lengths)[:, 1] == pytest.approx([10 / 12, 3 / 12, 6 / 12], rel=1e-12)
    assert model.predict(lengths).tolist() == ["fish", "bird", "bird"]  # a tie goes to the first in sorted order


def test_21_the_same_from_rows_cut_into_intervals():
    lengths = [3] * 12 + [7] * 12 + [5] * 12
    labels = ["fish"] * 10 + ["bird"] * 2 + ["fish"] * 3 + ["bird"] * 9 + ["fish"] * 6 + ["bird"] * 6
    model = bk.NaiveBayes(smoothing=0, numeric="histogram", cuts=[4, 6])
    with pytest.warns(bk.AdviceWarning, match="length"):
        model.fit({"length": lengths}, labels)
    assert model.predict_proba({"length": [3.0, 7.0, 5.0]})[:, 1] == pytest.approx([10 / 12, 3 / 12, 6 / 12], rel=1e-12)


def test_4_a_coin_by_counting_and_with_a_prior():
    assert bk.BetaBernoulli().update({True: 51, False: 49}).mle == 0.51
    assert bk.BetaBernoulli().update([1, 1, 0]).mle == pytest.approx(2 / 3, rel=1e-15)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.booleans(), max_size=12), st.integers(1, 9), st.integers(2, 9))
def test_4_the_map_counts_the_prior_and_each_flip_gives_a_beta(flips, b1, b0):
    beliefs = bk.BetaBernoulli(b1, b0).sequence(flips)
    for i, belief in enumerate(beliefs):
        a1 = sum(flips[: i + 1])
        a0 = i + 1 - a1
        assert belief.posterior == (a1 + b1, a0 + b0)
        assert belief.map == pytest.approx(float(Fraction(a1 + b1 - 1, a1 + b1 - 1 + a0 + b0 - 1)), rel=1e-14)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=20), st.integers(2, 5))
def test_4_the_same_for_a_die(throws, b):
    die = bk.DirichletCategorical(dict.fromkeys(range(1, 7), b)).update(throws)
    for face in range(1, 7):
        n = throws.count(face)
        assert die.posterior[face] == n + b
        assert die.mle[face] == pytest.approx(n / len(throws), rel=1e-14)
        assert die.map[face] == pytest.approx(float(Fraction(n + b - 1, len(throws) + 6 * (b - 1))), rel=1e-14)
        assert die.mean[face] == pytest.approx(float(Fraction(n + b, len(throws) + 6 * b)), rel=1e-14)


def test_4_the_same_belief_is_the_smoothing_of_a_column():
    counts = {"face": {"die": {1: 3, 2: 1, 3: 0}}}
    die = bk.DirichletCategorical({1: 2, 2: 3, 3: 4}).update(counts["face"]["die"])
    domains = {"face": {"die": {1: 3, 2: 1, 3: 0}, "other": {1: 1, 2: 1, 3: 1}}}
    model = bk.NaiveBayes(smoothing=bk.Dirichlet({1: 2, 2: 3, 3: 4})).fit_tally(bk.Tally.from_counts(domains))
    assert cpd(model, "face", "die") == pytest.approx(die.map, rel=1e-14)


def test_18_two_thousand_fair_flips_underflow_as_a_product_and_not_as_a_sum():
    n = 2000
    flips = {f"flip{i}": {c: {"heads": 1, "tails": 1} for c in ("fair", "also fair")} for i in range(n)}
    flips["color"] = {"fair": {"red": 3, "blue": 1}, "also fair": {"red": 1, "blue": 3}}
    tally = bk.Tally.from_counts(flips, class_counts={"fair": 4, "also fair": 4})
    model = bk.NaiveBayes(smoothing=0).fit_tally(tally)
    row = {f"flip{i}": "heads" for i in range(n)} | {"color": "red"}
    score = model.predict_joint_log_proba(row)[0]
    assert np.exp(score).tolist() == [0, 0]
    assert score[1] == pytest.approx(n * math.log(0.5) + math.log(0.5) + math.log(0.75), rel=1e-13)
    assert model.predict_proba(row)[0] == pytest.approx([0.25, 0.75], rel=1e-10)
    assert model.score_samples(row)[0] == pytest.approx(n * math.log(0.5) + math.log(0.5), rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_9_numbers_of_free_parameters(n):
    X = np.random.default_rng(0).normal(size=(40, n))
    y = np.arange(40) % 2
    assert bk.NaiveBayes(numeric="gaussian").fit(X > 0, y).n_parameters_ == 2 * n + 1
    assert bk.NaiveBayes(numeric="gaussian").fit(X, y).n_parameters_ == 4 * n + 1
    assert bk.NaiveBayes(numeric="gaussian", variance="feature").fit(X, y).n_parameters_ == 3 * n + 1
    letters = bk.NaiveBayes(numeric="gaussian", domains={column: [*"abc"] for column in range(n)}).fit(
        np.full((4, n), "a"), [0, 1, 0, 1]
    )
    assert letters.n_parameters_ == 2 * 2 * n + 1


counts = st.integers(1, 50)


@settings(max_examples=40, deadline=None)
@given(counts, counts, counts, counts, st.floats(0.05, 0.6), st.floats(0.01, 0.3))
def test_2_a_posterior_rises_with_its_prior(a, b, c, d, p, more):
    tally = bk.Tally.from_counts({"x": {"y": {"v": a, "w": b}, "n": {"v": c, "w": d}}})
    low, high = (
        bk.NaiveBayes(smoothing=0, prior={"y": q, "n": 1 - q}).fit_tally(tally).predict_proba({"x": "v"})[0, 1]
        for q in (p, p + more)
    )
    assert low < high


@settings(max_examples=40, deadline=None)
@given(counts, counts, counts, counts, st.integers(1, 20))
def test_2_a_posterior_rises_with_its_likelihood_and_falls_with_the_evidence(a, b, c, d, more):
    def posterior(v_in_y, v_in_n):
        counts = {"x": {"y": {"v": v_in_y, "w": b}, "n": {"v": v_in_n, "w": d}}}
        model = bk.NaiveBayes(smoothing=0, prior="uniform").fit_tally(bk.Tally.from_counts(counts))
        return model.predict_proba({"x": "v"})[0, 1]

    assert posterior(a, c) < posterior(a + more, c)  # P(v | y) larger
    assert posterior(a, c) > posterior(a, c + more)  # P(v) larger, P(v | y) and P(y) as they were


def test_38_the_f_measure_of_precision_and_recall():
    assert bk.f_measure(Fraction(1, 2), Fraction(1, 4)) == pytest.approx(1 / 3)
    assert bk.f_measure(0.5, 0.25, alpha=4) == pytest.approx(0.277778, abs=5e-7)
    with pytest.raises(bk.BayesError, match="alpha"):
        bk.f_measure(0.5, 0.25, alpha=-1)


def test_22_digits_by_their_pixels_under_four_rules_of_variance():
    X, y = load_digits(return_X_y=True)
    tally = bk.NaiveBayes(numeric="gaussian").fit(X, y).tally_
    found = {}
    for rule in ("class_feature", "feature", "class", "all"):
        model = bk.NaiveBayes(numeric="gaussian", variance=rule).fit_tally(tally)
        found[rule] = model.leave_one_out(X[:600], y[:600]).accuracy
    means = np.array([model.table(f"x{j}")["mean"] for j in range(64)]).T
    np.testing.assert_allclose(means, GaussianNB().fit(X, y).theta_, rtol=1e-12)
    assert found["class_feature"] < min(found["feature"], found["class"], found["all"])
    assert min(found["feature"], found["class"], found["all"]) > 0.87
