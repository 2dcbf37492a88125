"""Which columns or words break the naive assumption: what depends is named, noise is not, and costs are measured."""

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.estimate.information import by_chi_squared, by_shuffling, is_well_filled

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


def table(n=400, copies=2, seed=0):
    """A column with noisy copies, and two that are alone."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sky = np.where(rng.random(n) < 0.7, y, rng.integers(0, 3, n))
    again = {f"copy{i}": np.where(rng.random(n) < 0.95, sky, rng.integers(0, 3, n)) for i in range(copies)}
    X = {"sky": sky, **again, "wind": rng.normal(size=n) + y, "floor": rng.integers(0, 4, n)}
    return X, y, {"sky": "categorical", "floor": "categorical", **dict.fromkeys(again, "categorical")}


def test_copies_are_named_with_what_they_cost_and_what_helps():
    X, y, roles = table()
    found = bk.NaiveBayes(roles=roles).diagnose(X, y)
    assert {(p.first, p.second) for p in found.pairs} == {("sky", "copy0"), ("sky", "copy1"), ("copy0", "copy1")}
    assert all(p.bits > 0.3 and p.cost > 0 and p.overconfidence > 0 for p in found.pairs)
    assert found.overconfidence > 0.02
    assert found.best.key in ("exponents", "tan")
    assert {cure.key for cure in found.cures} == {"as it is", "drop", "exponents", "tan"}
    assert found.cures[0].log_loss == found.log_loss
    text = str(found)
    assert "3 of 10 pairs of columns" in text
    assert "DiscriminativeWeights" in text


def test_the_figures_are_those_of_models_left_out():
    X, y, roles = table(150)
    model = bk.NaiveBayes(roles=roles)
    found = model.diagnose(X, y)
    whole = model.fit(X, y).leave_one_out(X, y)
    assert found.log_loss == pytest.approx(whole.log_loss)
    assert found.reliability.error == pytest.approx(whole.calibration_error)
    drop = next(cure for cure in found.cures if cure.key == "drop")
    fewer = bk.NaiveBayes(roles=roles | {drop.column: "ignore"}).fit(X, y).leave_one_out(X, y)
    assert drop.log_loss == pytest.approx(fewer.log_loss)
    tan = next(cure for cure in found.cures if cure.key == "tan")
    assert tan.log_loss == pytest.approx(bk.TAN(roles=roles).fit(X, y).leave_one_out(X, y).log_loss)


def test_what_two_columns_cost_is_the_loss_that_counting_them_together_saves():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    a = rng.integers(0, 2, 300)
    X = {"a": a, "b": a ^ y}  # a XOR b is the class: nothing alone, everything together
    found = bk.NaiveBayes(roles="categorical").diagnose(X, y)
    (pair,) = found.pairs
    assert pair.bits == pytest.approx(1.0, abs=0.02)
    assert pair.cost == pytest.approx(found.log_loss, abs=0.05)


def test_numbers_are_counted_together_by_a_normal_of_both():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 500)
    x = rng.normal(size=500) + y
    found = bk.NaiveBayes(numeric="gaussian").diagnose(
        {"x": x, "near": x + rng.normal(size=500) * 0.3, "noise": rng.normal(size=500)}, y
    )
    (pair,) = found.pairs
    assert {pair.first, pair.second} == {"x", "near"}
    assert pair.cost > 0


@pytest.mark.slow
def test_noise_is_not_named_however_few_the_rows_and_many_the_values():
    named = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 120)
        X = {f"c{j}": (rng.integers(0, 12, 120) * (y + 1)) % 13 for j in range(8)}
        X["x"] = rng.normal(size=120) * (y + 1)
        X["z"] = rng.normal(size=120) + y
        named += len(bk.NaiveBayes(roles={f"c{j}": "categorical" for j in range(8)}).diagnose(X, y).pairs)
    assert named <= 1  # of 675, at 1 % over the pairs of each table


def test_the_chi_squared_check_is_that_of_scipy_class_by_class():
    rng = np.random.default_rng(0)
    counts = rng.integers(5, 50, (3, 4, 5))
    by_class = [stats.chi2_contingency(table, lambda_="log-likelihood") for table in counts]
    total = sum(one.statistic for one in by_class)
    freedom = sum(one.dof for one in by_class)
    found = by_chi_squared(counts)
    assert found.p_value == pytest.approx(stats.chi2.sf(total, freedom))
    assert found.by_chance == pytest.approx(freedom / 2 / counts.sum() / np.log(2))
    assert is_well_filled(counts)
    assert not is_well_filled(counts // 20)


def test_shuffling_agrees_with_chi_squared_where_cells_are_filled():
    rng = np.random.default_rng(0)
    c = rng.integers(0, 2, 3000)
    a = rng.integers(1, 4, 3000)
    b = np.where(rng.random(3000) < 0.05, a, rng.integers(1, 4, 3000))
    counts = np.zeros((2, 4, 4))
    np.add.at(counts, (c, a, b), 1)
    exact, drawn = by_chi_squared(counts[:, 1:, 1:]), by_shuffling(a, b, (4, 4), c, 2, rng)
    assert drawn.bits == pytest.approx(exact.bits, rel=0.2)
    assert np.log10(drawn.p_value) == pytest.approx(np.log10(exact.p_value), rel=0.4)
    constant = by_shuffling(np.ones(50, int), b[:50], (4, 4), c[:50], 2, rng)
    assert constant.p_value == 1.0


def test_words_that_come_together_are_named():
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for i in range(200):
        kind = i % 2
        words = rng.choice([f"{'ab'[kind]}{j}" for j in range(12)], 5).tolist() + rng.choice(list("xyz"), 2).tolist()
        if kind == 0 and rng.random() < 0.4:
            words += ["new", "york"]
        texts.append(" ".join(words))
        labels.append("ab"[kind])
    found = bk.TextClassifier("multinomial", pattern="words1").diagnose(texts, labels)
    assert found.things == "words"
    assert {found.pairs[0].first, found.pairs[0].second} == {"new", "york"}
    assert found.pairs[0].cost is not None
    assert found.n_rows == 200
    assert {"as it is", "weighted"} <= {cure.key for cure in found.cures}
    whole = bk.TextClassifier("multinomial", pattern="words1").fit(texts, labels).leave_one_out(texts, labels)
    assert found.log_loss == pytest.approx(whole.log_loss)


def test_weights_missing_cells_and_rows_alone_in_their_class_are_taken():
    X, y, roles = table(200)
    wind = X["wind"].copy()
    wind[::7] = np.nan
    y = y.copy()
    y[0] = 5
    found = bk.NaiveBayes(roles=roles).diagnose({**X, "wind": wind}, y, sample_weight=np.arange(200) % 3 + 0.5)
    assert found.n_rows == 199
    assert {"sky", "copy0"} <= {found.pairs[0].first, found.pairs[0].second} | {
        found.pairs[1].first,
        found.pairs[1].second,
    }
    assert all(np.isfinite(cure.log_loss) for cure in found.cures)


def test_nothing_to_find_has_an_answer():
    one = bk.NaiveBayes().diagnose({"x": [1.0, 2.0, 3.0, 4.0]}, list("abab"))
    assert (one.n_pairs, one.pairs, one.best.key) == (0, (), "as it is")
    assert "the naive assumption was not tested" in str(one)
    constant = bk.NaiveBayes().diagnose({"x": ["u"] * 6, "z": ["v"] * 6}, list("ababab"))
    assert constant.names == ()
    with pytest.raises(BayesError, match="nothing to tell apart"):
        bk.NaiveBayes().diagnose({"x": [1.0, 2.0]}, ["a", "a"])
    with pytest.raises(BayesError, match="alone shows its class"):
        bk.NaiveBayes().diagnose({"x": [1.0, 2.0]}, ["a", "b"])
    assert not hasattr(bk.TAN(), "diagnose")
