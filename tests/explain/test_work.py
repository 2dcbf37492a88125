"""The work of a posterior: its factors are those of the model, written out, and its products sum to what is said."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from bayeskit.datasets import load_worked_example
from bayeskit.latex import LINE, width_of

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
TABLE = {
    "sky": ["sun", "rain", None, "sun", "rain", "hail"] * 4,
    "flag": [True, False, True, True, False, False] * 4,
    "size": [1.0, 2.5, 2.0, float("nan"), 4.0, 7.0, 3.0, 1.5] * 3,
}
LABELS = ["a", "b", "a", "c", "b", "c", "a", "b"] * 3
MODELS = [
    bk.NaiveBayes(),
    bk.NaiveBayes(smoothing=0, prior="uniform"),
    bk.NaiveBayes(missing="value", unseen="smooth", prior=bk.Laplace()),
    bk.NaiveBayes(smoothing=bk.MEstimate(3, "marginal"), prior={"a": 0.2, "b": 0.3, "c": 0.5}, missing="value"),
    bk.NaiveBayes(numeric="histogram", cuts=3, smoothing="auto"),
    bk.NaiveBayes(numeric="kernel"),
    bk.NaiveBayes(numeric="student", variance="feature"),
    bk.TAN(),
    bk.TAN(smoothing=0.5),
    bk.TAN(smoothing=0),
    bk.KDB(),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_factors_are_those_of_the_model(model):
    fitted = model.fit(TABLE, LABELS)
    rows = [{name: cells[i] for name, cells in TABLE.items()} for i in range(8)]
    for row in [*rows, {"sky": "snow", "flag": None, "size": 3.0}]:
        work = fitted.work(row)
        joint = fitted.predict_joint_log_proba(row)[0]
        for i, label in enumerate(work.classes):
            log_p = sum(factor.log_p for factor in work.product(label))
            assert log_p == pytest.approx(joint[i], abs=1e-9) or (math.isinf(log_p) and math.isinf(joint[i]))
        assert work.log_joint == pytest.approx(joint)
        assert work.posterior == pytest.approx(fitted.predict_proba(row)[0])
        assert all(factor.column in TABLE for factor in work.factors)
        assert {f.column for f in work.factors} | set(work.left_out) == set(TABLE)
        assert str(work)
        assert work._repr_html_()
        assert work.latex()


@pytest.mark.parametrize("smoothing", [0, 0.5, "back-off"])
def test_aode_is_worked_as_the_mean_of_a_product_for_each_parent(smoothing):
    fitted = bk.AODE(smoothing=smoothing, min_count=3).fit(TABLE, LABELS)
    rows = [{name: cells[i] for name, cells in TABLE.items()} for i in range(8)]
    for row in [*rows, {"sky": "snow", "flag": None, "size": 3.0}]:
        work, joint = fitted.work(row), np.exp(fitted.predict_joint_log_proba(row)[0])
        members = [work] if not hasattr(work, "members") else [*work.members.values()]
        products = [[math.prod(math.exp(f.log_p) for f in w.product(c)) for c in w.classes] for w in members]
        assert np.mean(products, axis=0) == pytest.approx(joint, abs=1e-12)
        assert np.exp(work.log_joint) == pytest.approx(joint)
        assert work.posterior == pytest.approx(fitted.predict_proba(row)[0])
        assert str(work)
        assert work._repr_html_()
        assert work.latex().count("align*") == 2 * len(work.classes) + 2


def test_the_mean_of_products_is_written_by_hand():
    days = load_worked_example("tennis")
    work = bk.AODE(smoothing=0).fit(days, "play").work(DAY)
    rows = [row for row in days.to_pylist() if row["play"] == "no"]
    strong = [row for row in rows if row["wind"] == "strong"]
    factors = [sum(row[name] == DAY[name] for row in strong) / len(strong) for name in DAY if name != "wind"]
    by_hand = 5 / 14 * len(strong) / len(rows) * math.prod(factors)
    assert math.exp(work.members["wind"].log_joint[0]) == pytest.approx(by_hand)
    assert "P(humidity high | no, wind strong)" in str(work.members["wind"])
    assert "P(wind strong | no) " in str(work.members["wind"])


def test_the_full_joint_is_worked_by_one_share_of_the_rows():
    abc = load_worked_example("abc")
    text = str(bk.FullJointBayes().fit(abc, "C").work({"A": "g", "B": "q"}))
    assert "P(A g, B q | t)  2/5" in text
    assert "product: 5/10 · 2/5 = 1/5 = 0.2" in text
    part = bk.FullJointBayes(smoothing=1).fit(abc, "C").work({"A": "g", "B": None})
    joint = bk.FullJointBayes(smoothing=1).fit(abc, "C").predict_joint_log_proba({"A": "g", "B": None})[0]
    assert part.log_joint == pytest.approx(joint)
    assert [part.product(label)[1].log_p + part.prior[0].log_p for label in part.classes] == pytest.approx(joint)
    assert part.left_out == ("B",)


def test_a_context_that_no_row_of_a_class_has_is_not_written():
    days = load_worked_example("tennis")  # no day without play is overcast
    day = DAY | {"outlook": "overcast"}
    for smoothing in (1, "back-off"):
        text = str(bk.KDB(2, smoothing=smoothing, parents={"humidity": "outlook"}).fit(days, "play").work(day))
        assert "P(humidity high | no)" in text
        assert "P(humidity high | yes, outlook overcast)" in text
        assert "/0" not in text


def test_a_word_that_is_repeated_has_its_power_in_the_label():
    sports = load_worked_example("sports")
    work = (
        bk.TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"]).work("close close game")
    )
    assert "P(close | sports)² " in str(work)
    assert "P(game | sports) " in str(work)
    assert r"P(\text{close} \mid \text{sports})^{2}" in work.latex()


def test_no_chain_of_equations_joins_two_different_numbers():
    latex = bk.NaiveBayes().fit(load_worked_example("tennis"), "play").work(DAY | {"outlook": "overcast"}).latex()
    smoothed, counted = latex.split(r"\end{align*}")[0].split(r"\text{without smoothing} &: ")
    assert smoothed.count("&= 0.") == 1
    assert "&= 0\n" in counted


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_columns_and_prior_sum_to_the_joint(model):
    fitted = model.fit(TABLE, LABELS)
    parts = fitted.predict_column_log_proba(TABLE)
    assert list(parts) == list(TABLE)
    total = fitted.params_.log_prior + sum(parts.values())
    np.testing.assert_allclose(total, fitted.predict_joint_log_proba(TABLE), atol=1e-9)


def test_tennis_by_hand():
    work = bk.NaiveBayes(smoothing=0).fit(load_worked_example("tennis"), "play").work(DAY)
    text = str(work)
    assert "product: 9/14 · 2/9 · 3/9 · 3/9 · 3/9 = 1/189 = 0.00529101" in text
    assert "product: 5/14 · 3/5 · 1/5 · 4/5 · 3/5 = 18/875 = 0.0205714" in text
    assert "P(yes | x) = 0.00529101 / (0.0205714 + 0.00529101) = 0.204583" in text
    assert "counted" not in text  # nothing was added
    assert math.prod((f.fraction for f in work.product("yes")), start=Fraction(1)) == Fraction(1, 189)


def test_smoothing_stands_beside_the_counts():
    text = str(bk.NaiveBayes().fit(load_worked_example("tennis"), "play").work(DAY))
    assert "P(outlook sunny | yes)     2/9 = 0.222222  (2 + 1)/(9 + 3)      0.25" in text
    assert "product as counted: 9/14 · 2/9 · 3/9 · 3/9 · 3/9 = 1/189 = 0.00529101" in text
    assert "product: 9/14 · 3/12 · 4/12 · 4/11 · 4/11 = 6/847 = 0.00708383" in text


def test_a_normal_density_is_filled_in():
    table = load_worked_example("tax")
    model = bk.NaiveBayes(smoothing=0, roles={"tid": "ignore"}).fit(table, "evade")
    row = {"refund": "no", "marital_status": "married", "taxable_income": 120.0}
    assert "exp(−(120 − 110)²/(2 · 2975))/√(2π · 2975)" in str(model.work(row))
    assert r"\frac{1}{\sqrt{2\pi \cdot 2975}} e^{-\frac{(120 - 110)^2}{2 \cdot 2975}}" in model.work(row).latex()


def test_words_by_hand():
    sports = load_worked_example("sports")
    bag = bk.TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"])
    text = str(bag.work("A very close game"))
    assert "= 54/1953125 = 2.7648e-05" in text
    assert "= 8/1399205 = 5.71753e-06" in text
    assert "((2 + 1)/(11 + 14))²" in str(bag.work(["game game"]))
    there = bk.TextClassifier("set_of_words", pattern="words1").fit(sports["text"], sports["tag"])
    work = there.work("A very close game")
    assert work.log_joint == pytest.approx(np.log([1.15871e-5, 2.93534e-4]), abs=1e-5)
    assert len(work.factors) == 14
    assert "P(¬but | sports)" in str(work)


@pytest.mark.parametrize("recipe", ["multinomial", "set_of_words"])
def test_documents_of_many_words_have_the_products_of_the_model(recipe):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.integers(0, 90, 20)) for _ in range(12)]
    model = bk.TextClassifier(recipe).fit(texts, ["a", "b", "c"] * 4)
    for text in texts[:3]:
        work = model.work(text)
        joint = model.predict_joint_log_proba([text])[0]
        for i, label in enumerate(work.classes):
            assert sum(factor.log_p for factor in work.product(label)) == pytest.approx(joint[i])


def test_texts_inside_a_table():
    table = {"sky": ["sun", "rain", "sun"], "note": ["fine day", "grey day day", "fine"]}
    model = bk.NaiveBayes(roles={"note": "text"}).fit(table, ["a", "b", "a"])
    work = model.work({"sky": "sun", "note": "fine day day"})
    assert [factor.what for factor in work.factors] == ["sky sun", "note fine", "note day"]
    assert work.log_joint == pytest.approx(
        [sum(f.log_p for f in work.product(label)) for label in work.classes], abs=1e-12
    )


def test_products_too_small_to_write_are_powers_of_ten():
    flips = {f"flip{i}": ["heads", "tails"] for i in range(1200)}
    work = bk.NaiveBayes(roles="categorical").fit(flips, ["a", "b"]).work({f"flip{i}": "heads" for i in range(1200)})
    text = str(work)
    assert "10^-212" in text or "10^-57" in text
    assert "P(a | x)" in text
    assert work.posterior[0] == pytest.approx(1.0)


def test_a_row_that_is_impossible_everywhere_is_told():
    model = bk.NaiveBayes(smoothing=0).fit({"a": ["x", "y"], "b": ["u", "v"]}, ["p", "q"])
    work = model.work({"a": "x", "b": "v"})
    assert work.undecidable
    assert "undecidable" in str(work)
    assert work.posterior == (0.5, 0.5)


def test_names_of_strangers_steer_nothing():
    row = {"a_b": ["x%$#&{}\\^~", "</td><script>"]}
    work = bk.NaiveBayes().fit(row, ["p_q", "<b>"]).work({"a_b": "</td><script>"})
    assert "<script>" not in work._repr_html_()
    latex = bk.NaiveBayes().fit(row, ["p_q", "<b>"]).work({"a_b": "x%$#&{}\\^~"}).latex()
    assert r"\text{a\_b x\%\$\#\&\{\}\textbackslash{}\textasciicircum{}\textasciitilde{}}" in latex


def test_one_row_at_a_time():
    birds = datasets.load_penguins()
    model = bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")
    with pytest.raises(bk.BayesError, match="one row at a time, and there are 344"):
        model.work(birds)
    with pytest.raises(Exception, match="fit"):
        bk.NaiveBayes().work(DAY)


def test_what_is_no_product_has_no_work():
    others = bk.AODE(weights="log-linear"), bk.NBTree(), bk.GaussianBayes(), bk.TextClassifier("complement")
    for model in others:
        assert not hasattr(model, "work")
    with pytest.raises(AttributeError, match="NBTree has no work: it is not a product of one factor for each column"):
        bk.NBTree().work(DAY)
    with pytest.raises(AttributeError, match=r"scores of this recipe are not the probability of a document"):
        bk.TextClassifier("complement").work("a")


def test_the_work_has_a_picture():
    work = bk.NaiveBayes(smoothing=0).fit(load_worked_example("tennis"), "play").work(DAY | {"outlook": "overcast"})
    spec = work.chart().to_dict()
    assert len(str(spec)) < 100_000


@pytest.mark.parametrize("name", ["50 % of {a}", "a_b & c#d", "x^2 ~ $5", "back\\slash"])
def test_the_latex_is_balanced_whatever_the_names_are(name):
    tables = bk.NaiveBayes().fit({name: ["u}", "v", "u}", "{v"], "x": [1.0, 2.0, 4.0, 3.0]}, [name, name, "q_", "q_"])
    texts = bk.TextClassifier("set_of_words", pattern="words1", smoothing=0).fit(["a_b c", "c", "d", "c d"], [*"ppqq"])
    for latex in (tables.work({name: "u}", "x": 2.0}).latex(), texts.work("a_b c").latex()):
        plain = re.sub(r"\\[{}%&#_$]|\\\\", "", latex)  # without what is escaped, and ends of lines
        depth = np.cumsum([(sign == "{") - (sign == "}") for sign in plain])
        assert depth.min() >= 0
        assert depth[-1] == 0
        assert not re.search(r"[%#$]", plain.replace(r"$\neg$", ""))  # of a word that is absent
        assert latex.count(r"\begin{align*}") == latex.count(r"\end{align*}") == 3  # two classes and their shares
        lines = re.sub(r"\\&", "", latex).splitlines()
        assert all(line.count("&") == 1 for line in lines if not re.match(r"\\(begin|end){align", line))


@pytest.mark.parametrize(
    "model",
    [bk.NaiveBayes(), bk.NaiveBayes(numeric="kernel"), bk.NaiveBayes(numeric="histogram", temperature=2), bk.TAN()],
    ids=repr,
)
def test_the_latex_fits_a_page_and_has_no_sign_that_its_fonts_lack(model):
    birds = datasets.load_penguins()
    text = model.set_params(roles={"year": "ignore"}).fit(birds, "species").work(birds.slice(0, 1)).latex()
    assert text.isascii()  # − and ≤ are none of pdflatex's
    assert not re.search(r"\de[-+]?\d", text)  # powers of ten, not 1e-12
    assert max(width_of(line.strip("\\ ")) for line in text.splitlines()) < 2 * LINE  # halves of fractions stand above
    assert all(r"\mid" not in line or width_of(line) <= LINE + 10 for line in text.splitlines())


def test_signs_that_other_fonts_show_as_letters_are_set_as_mathematics():
    row = {"a": ['<30 | "x"', "≥ 2 – 3"]}
    for value in row["a"]:
        text = bk.NaiveBayes().fit(row, ["p", "q"]).work({"a": value}).latex()
        assert text.isascii()
        assert not re.search(r'[<>|"]', re.sub(r"\$[<>|]\$", "", text))


def test_the_latex_says_what_the_text_says_of_the_last_step():
    flips = np.array([[True] * 2000, [False] * 2000] * 2)
    coins = bk.NaiveBayes(smoothing=0, prior={"a": 0.25, "b": 0.75}).fit(flips, ["a", "a", "b", "b"])
    text = coins.work(flips[:1]).latex()
    assert r"\frac{0.333333}{0.333333 + 1} = 0.25" in text  # not 10^-602 / (10^-602 + 10^-602)
    assert r"\text{the products are too small to be written: all are}" in text
    warm = bk.NaiveBayes(smoothing=0, temperature=2).fit(load_worked_example("tennis"), "play").work(DAY).latex()
    assert r"\text{each product is taken to the power 1/2" in warm
    lost = bk.NaiveBayes(smoothing=0).fit({"a": ["x", "y"], "b": ["u", "v"]}, ["p", "q"]).work({"a": "x", "b": "v"})
    assert r"\text{every product is 0: undecidable;" in lost.latex()


@pytest.mark.parametrize("recipe", ["multinomial", "set_of_words"])
@pytest.mark.parametrize("prior", ["empirical", {"a": 0.0, "b": 1.0}])
def test_what_documents_say_and_the_prior_sum_to_the_joint(recipe, prior):
    model = bk.TextClassifier(recipe, prior=prior).fit(["fine day", "grey day", "fine"], ["a", "b", "a"])
    parts = model.predict_column_log_proba(["fine day", "grey", ""])
    assert list(parts) == ["text"]
    assert np.isfinite(parts["text"]).all()
    np.testing.assert_allclose(
        parts["text"] + model.params_.log_prior, model.predict_joint_log_proba(["fine day", "grey", ""]), atol=1e-12
    )
    assert np.isfinite(model.document_log_likelihood(["fine day", "grey", ""])).all()
    assert np.isfinite(model.score_samples(["fine day", "grey", ""])).all()
    assert not hasattr(bk.TextClassifier("complement"), "predict_column_log_proba")


def test_an_exercise_leaves_out_what_its_key_holds():
    work = bk.NaiveBayes().fit(load_worked_example("tennis"), "play").work(DAY)
    solved = str(work.exercise(blank=1))
    for seed in range(5):
        exercise = work.exercise(blank=6, random_state=seed)
        filled = str(exercise)
        for number, answer in enumerate(exercise.answers, start=1):
            filled = filled.replace(f"({number}) ______", answer)
        one = work.exercise(blank=1)
        assert filled == solved.replace("(1) ______", one.answers[0])
        assert exercise.key.splitlines() == [f"({i}) {answer}" for i, answer in enumerate(exercise.answers, start=1)]
    assert len({str(work.exercise(6, seed)) for seed in range(5)}) > 1
    everything = work.exercise()
    assert len(everything.answers) == 2 * (1 + 4 + 1) + 2
    assert "0." not in str(everything)


@pytest.mark.parametrize("blank", [0, 15, 2.5, "all"])
def test_a_number_of_gaps_that_the_work_does_not_have_is_refused(blank):
    work = bk.NaiveBayes().fit(load_worked_example("tennis"), "play").work(DAY)
    with pytest.raises(bk.BayesError, match="blank"):
        work.exercise(blank=blank)
