"""Writes one file of every kind of model and recipe, and what it answers, to ``models/``: ``python make_models.py``.

It was run once, with 0.1.0. A file that is there is never written anew: it stands for what users have on their disks.
A later version adds files under new names where it can hold something new: 0.2.0 models that are made of others, and
in ``others/`` what predicts no classes; also the recipe "best".
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import bayeskit as bk
from bayeskit import datasets

FOLDER = Path(__file__).parent / "models"
OTHERS = Path(__file__).parent / "others"
METHODS = ("predict_proba", "predict_joint_log_proba")

BIRDS = datasets.load_penguins().take(np.arange(0, 344, 4))
BIRD_ROWS = [
    *BIRDS.drop(["species"]).slice(3, 8).to_pylist(),
    {"island": "Dream", "bill_length_mm": 49.3, "sex": "male", "year": 2009},
    {"island": "Atlantis", "bill_depth_mm": 17.0, "flipper_length_mm": 195.5, "year": 1999},
]
BIRD_ROWS = [{name: row.get(name) for name in BIRDS.column_names if name != "species"} for row in BIRD_ROWS]
MEASURED = {"island": "ignore", "sex": "ignore", "year": "ignore"}
YEAR = {"year": "categorical"}
WEIGHTS = np.resize([0.25, 1.0, 3.0, 0.5], BIRDS.num_rows)

# Numbers that are constant within a class: what a floor of variances is for.
SPIKES = {
    "wings": [2.0, 2, 2, 2, 2, 2, 4, 4, 4, 4, 2, 4],
    "legs": [2.0, 2, 2, 3, 2, 2, 6, 6, 6, 6, 6, 6],
    "weight": [1.5, 2.5, 3.25, 2.0, 4.0, 3.5, 0.25, 0.5, 0.125, 0.25, 0.75, 0.5],
    "kind": ["bird"] * 6 + ["fly"] * 6,
}
SPIKE_ROWS = [
    {"wings": 2.0, "legs": 2.0, "weight": 2.0},
    {"wings": 4.0, "legs": 2.0, "weight": 0.5},
    {"wings": 3.0, "legs": None, "weight": 1.0},
]

TOPICS = {
    "animal": "the cat and the dog chase a cow; the horse barks not, the dog barks and the cat sleeps",
    "weather": "rain and wind, then sun; the storm was cold and the rain colder than wind in an été",
    "law": "the judge in the court asked for a vote; the court and the jury heard the judge",
}
_rng = np.random.default_rng(7)
LABELS = [str(label) for label in _rng.choice(list(TOPICS), 45)]
TEXTS = [" ".join(_rng.choice(TOPICS[label].split(), _rng.integers(1, 9))) for label in LABELS]
TEXT_ROWS = [
    "the dog barks",
    "rain, rain and sun",
    "a judge, a cat and the storm",
    "",
    "never seen",
    "ÉTÉ in the court",
]
NOTES = {"note": TEXTS, "length": [float(len(text)) for text in TEXTS], "topic": LABELS}
NOTE_ROWS = [{"note": text, "length": float(len(text))} for text in TEXT_ROWS]

Case = tuple[Any, Callable[[Any], Any], list[Any]]


def birds(model: Any, **more: Any) -> Case:
    """A model of penguins, and its questions."""
    return model, lambda m: m.fit(BIRDS, "species", **more), BIRD_ROWS


def spikes(model: Any) -> Case:
    """A model of a table whose numbers are constant within a class."""
    return model, lambda m: m.fit(SPIKES, "kind"), SPIKE_ROWS


def texts(model: Any, **more: Any) -> Case:
    """A model of documents."""
    return model, lambda m: m.fit(TEXTS, LABELS, **more), TEXT_ROWS


def cases() -> dict[str, Case]:
    """Name → (model, how it is fitted, what it is asked)"""
    naive, text = bk.NaiveBayes, bk.TextClassifier
    rules = {"island": bk.MEstimate(2), "sex": bk.Dirichlet(2), "year": "auto"}
    return {
        "naive": birds(naive()),
        "naive-tuned": birds(naive(temperature=1.5, unseen="smooth", missing="value", prior=bk.Laplace(), roles=YEAR)),
        "naive-rules": birds(naive(smoothing=rules, roles=YEAR)),
        "naive-mle": birds(naive(smoothing=bk.MLE(), undecidable="prior", roles=YEAR, variance="feature", ddof=0)),
        "naive-domains": birds(naive(smoothing=bk.Lidstone(0.5), domains={"year": range(2000, 2012)})),
        "naive-prior": birds(naive(prior={"Adelie": 0.2, "Chinstrap": 0.5, "Gentoo": 0.3}, variance="class")),
        "naive-all": birds(naive(variance="all", prior="uniform")),
        "naive-weighted": birds(naive(roles=YEAR), sample_weight=WEIGHTS),
        "naive-histogram": birds(naive(numeric="histogram", cuts={"year": [2007, 2008], "body_mass_g": 5})),
        "naive-histogram-mdl": birds(naive(numeric="histogram", cuts="mdl", roles=YEAR)),
        "naive-kernel": birds(naive(numeric="kernel", roles=YEAR)),
        "naive-kernel-few": birds(naive(numeric={"bill_depth_mm": "kernel"}, max_values=16), sample_weight=WEIGHTS),
        "naive-spikes": spikes(naive()),
        "naive-spikes-tied": spikes(naive(variance="feature", ddof=0)),
        "naive-spikes-kernel": spikes(naive(numeric="kernel")),
        "naive-text": (
            naive(roles={"note": bk.Text(bk.Tokenizer("words1", (1, 2)))}),
            lambda m: m.fit(NOTES, "topic"),
            NOTE_ROWS,
        ),
        "naive-codes": (
            naive(roles="categorical"),
            lambda m: m.fit(np.array([[0, 1], [1, 1], [0, 2], [1, 0]]), [3, 3, 7, 7]),
            [[0, 1], [1, 5], [1, 0]],
        ),
        "gaussian-full": birds(bk.GaussianBayes(roles=MEASURED)),
        "gaussian-tied": birds(bk.GaussianBayes("tied", roles=MEASURED)),
        "gaussian-shrunk": birds(bk.GaussianBayes("shrunk", roles=MEASURED), sample_weight=WEIGHTS),
        "gaussian-spikes": spikes(bk.GaussianBayes()),
        "gaussian-spikes-tied": spikes(bk.GaussianBayes("tied", ddof=0)),
        "tan": birds(bk.TAN(roles=YEAR)),
        "tan-laplace": birds(bk.TAN(smoothing=1.0, roles=YEAR), sample_weight=WEIGHTS),
        "aode": birds(bk.AODE(roles=YEAR)),
        "aode-weights": birds(bk.AODE(weights="log-linear", roles=YEAR)),
        "kdb": birds(bk.KDB(roles=YEAR)),
        "kdb-selective": birds(bk.KDB(selective=True, roles=YEAR, smoothing=bk.BackOff(3))),
        "nbtree": birds(bk.NBTree(roles=YEAR, min_rows=10)),
        "full-joint": birds(bk.FullJointBayes(smoothing=1.0, roles=YEAR)),
        "full-joint-mle": birds(bk.FullJointBayes(roles=YEAR)),
        "subclass": birds(bk.SubclassBayes(2, roles=YEAR)),
        "subclass-spikes": spikes(bk.SubclassBayes(2)),
        "bayes": birds(bk.BayesClassifier(n_members=2, n_chains=3)),
        "bayes-fast": birds(bk.BayesClassifier(fast=True, roles=YEAR), sample_weight=WEIGHTS),
        "bayes-forests": birds(bk.BayesClassifier(n_members=2, n_chains=3, n_trees=3)),
        "bayes-without-rows": birds(bk.BayesClassifier(keep_rows=False, n_trees=3, roles=YEAR), sample_weight=WEIGHTS),
        **{
            f"text-{recipe.replace('_', '-')}": texts(text(recipe))
            for recipe in (
                *("multinomial", "set_of_words", "complement", "wcnb", "twcnb"),
                *("tfidf", "nbsvm", "weighted", "auto", "fast", "best"),
            )
        },
        "text-best-two": (text("best", ngrams=(1, 2)), lambda m: m.fit(TEXTS, [x == "law" for x in LABELS]), TEXT_ROWS),
        "text-nbsvm-scaled": texts(text("nbsvm")),
        "text-pruned": texts(text("multinomial", min_df=2, max_features=12, smoothing="auto")),
        "text-hashed": texts(text("multinomial", hash_bits=8, ngrams=(1, 2), smoothing=0.3)),
        "text-chars": texts(text("complement", pattern="char_wb", ngrams=(2, 3), stop_words=["the"])),
        "text-weighted-rows": texts(text("multinomial"), sample_weight=np.resize([0.5, 2.0, 1.0], len(TEXTS))),
        **of_models(),
    }


def of_models() -> dict[str, Case]:
    """Models that are made of others."""
    dear = {"Adelie": {"Gentoo": 9, "ask": 0.3}, "Chinstrap": {"Gentoo": 2, "ask": 0.3}, "Gentoo": {"ask": 0.3}}
    dear = {
        label: dict.fromkeys(("Adelie", "Chinstrap", "Gentoo"), 1) | {label: 0} | own for label, own in dear.items()
    }
    few = [label if i % 3 == 0 else None for i, label in enumerate(BIRDS["species"].to_pylist())]
    few_topics = [label if i % 3 else None for i, label in enumerate(LABELS)]
    rows = BIRDS.drop(["species"])
    numbers = np.random.default_rng(1).poisson(1.0, (40, 3)).astype(float)
    return {
        "logistic": birds(bk.LogisticRegression(roles=YEAR)),
        "logistic-evidence": birds(bk.LogisticRegression("evidence", coding="reference", roles=YEAR)),
        "logistic-cv": spikes(bk.LogisticRegression("cv", cv=3, random_state=3)),
        "logistic-sparse": (
            bk.LogisticRegression(),
            lambda m: m.fit(csr_matrix(numbers), numbers.argmax(axis=1)),
            [[0.0, 1.0, 4.0], [2.0, 0.0, 0.5]],
        ),
        "discriminative": birds(bk.DiscriminativeWeights(bk.NaiveBayes(roles=YEAR), penalty=2.0)),
        "semi-supervised": (
            bk.SemiSupervised(bk.NaiveBayes(roles=YEAR), folds=2),
            lambda m: m.fit(rows, few),
            BIRD_ROWS,
        ),
        "semi-supervised-documents": (
            bk.SemiSupervised(bk.TextClassifier(min_df=2), folds=0),
            lambda m: m.fit(TEXTS, few_topics),
            TEXT_ROWS,
        ),
        "cost-sensitive": birds(bk.CostSensitive(bk.TAN(roles=YEAR), costs=dear, reject_cost=0.9)),
        "calibrated": birds(bk.Calibrated(bk.NaiveBayes(roles=YEAR))),
        "calibrated-beta": birds(bk.Calibrated(bk.TAN(roles=YEAR), "beta", capped=False)),
        "calibrated-temperature": birds(bk.Calibrated(bk.AODE(roles=YEAR), "temperature", folds=3)),
        "cost-sensitive-nested": birds(bk.CostSensitive(bk.DiscriminativeWeights(bk.NaiveBayes(roles=YEAR)))),
    }


def others() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Name → (a regression, a distribution, a tagger or topics, what it is asked and what it says)."""
    roles = {**MEASURED, "bill_depth_mm": "ignore", "flipper_length_mm": "ignore"}
    heavy = BIRDS.filter(BIRDS["body_mass_g"].is_valid()).drop(["year"])
    line, ridge = bk.LinearRegression(), bk.LinearRegression("evidence", roles={"sex": "ignore"})
    edges = [("species", "island"), ("species", "bill_length_mm"), ("island", "bill_length_mm")]
    cut = {"year": "categorical", "bill_length_mm": bk.Numeric((40.0, 45.0)), "body_mass_g": "ignore"}
    counted = bk.BayesianNetwork.from_data(edges, BIRDS, smoothing=0.5, roles=roles | cut | {"island": "categorical"})
    sneezes = {(True, True): 0.95, (True, False): 0.9, (False, True): 0.8, (False, False): 0.05}
    written = bk.BayesianNetwork(
        [("cold", "sneezes"), ("hay fever", "sneezes")], {"cold": 0.1, "hay fever": 0.2, "sneezes": sneezes}
    )
    table = {"sky": ["sun", "sun", "rain"], "wet": [True, False, True], "probability": [0.1, 0.6, 0.3]}
    of_birds = BIRDS.select(["species", "island", "year"])
    rows = [{name: row.get(name) for name in heavy.column_names if name != "body_mass_g"} for row in BIRD_ROWS]
    rows = [row | {"species": "Gentoo"} for row in rows]
    questions = {
        "counted-network": (
            counted,
            ["P(species = Gentoo | island = Biscoe and bill_length_mm > 45)", "P(year = 2008)"],
        ),
        "network": (written, ["P(cold | sneezes)", "P(cold | sneezes and 'hay fever')"]),
        "joint": (bk.JointDistribution.from_data(of_birds), ["P(island = Dream | species = Adelie)", "P(year > 2007)"]),
        "joint-smoothed": (bk.JointDistribution.from_data(of_birds, 1.0), ["P(island = Dream | species = Gentoo)"]),
        "joint-table": (bk.JointDistribution.from_table(table), ["P(sky = rain | wet)"]),
    }
    said = {name: (made, {q: answer(made, q) for q in asked}) for name, (made, asked) in questions.items()}
    for name, model in (("linear", line), ("linear-evidence", ridge)):
        model.fit(heavy, "body_mass_g")
        numbers = {"predict": model.predict(rows).tolist(), "predict_interval": model.predict_interval(rows).tolist()}
        said[name] = model, {"rows": rows, **numbers}
    sentences = [["The", "dog", "barks", "."], ["A", "cat", "can", "sleep"], ["They", "can", "bark", "!"]]
    tags = [["D", "N", "V", "."], ["D", "N", "X", "V"], ["P", "X", "V", "."]]
    fine = [["DT", "NN", "VBZ", "."], ["DT", "NN", "MD", "VB"], ["PRP", "MD", "VBP", "."]]
    for name, tagger in (
        ("tagger", bk.Tagger().fit(sentences, tags)),
        ("tagger-fine", bk.Tagger(own_states=2).fit(sentences, tags, fine)),
    ):
        said[name] = tagger, {"rows": sentences, "classes": tags, "predict": tagger.predict(sentences)}
    news = ["ball goal match", "goal ball ball team", "vote law party", "law party vote vote", ""]
    counts = [[3, 0, 1], [0, 2, 1], [1, 1, 4]]
    for name, topics, rows in (
        ("topics", bk.TopicModel(2, n_sweeps=30, seed_words=[["goal"]]).fit(news), news),
        ("topics-held", bk.TopicModel(2, n_sweeps=30, keep_assignments=True).fit(news), news),
        ("topics-counts", bk.TopicModel(3, n_sweeps=30, alpha=[0.1, 0.2, 0.3]).fit(counts), counts),
    ):
        said[name] = topics, {"rows": rows, "transform": topics.transform(rows).tolist(), "words": topics.top_words(3)}
    letters = [list(word) for word in ("sole", "luna", "mare", "wind", "rain", "then")]
    languages = ["italian"] * 3 + ["english"] * 3
    chain = bk.MarkovChain(order=2, smoothing="back-off").fit(letters)
    hidden = bk.HiddenMarkovModel(n_states=2, random_state=0)
    said["chain"] = chain, {"rows": letters, "log_likelihood": chain.log_likelihood(letters).tolist()}
    for name, classifier in (
        ("sequences-by-chains", bk.SequenceClassifier(bk.MarkovChain(), prior="uniform")),
        ("sequences-by-hidden-states", bk.SequenceClassifier({"english": hidden, "italian": hidden})),
    ):
        classifier.fit(letters, languages)
        scores = classifier.predict_joint_log_proba(letters).tolist()
        said[name] = classifier, {"rows": letters, "predict_joint_log_proba": scores}
    return said | hidden_states()


def hidden_states() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Hidden Markov models that were counted, found and both, and one of given tables."""
    sky = [["sun", "sun", "rain"], ["rain", "rain", "sun", "sun"], ["sun", "rain"]]
    half = [["sun", None, "rain"], ["rain", "rain", "sun", "sun"], [None, None]]
    days = [
        [{"wet": "no", "wind": 1.0}, {"wet": "no", "wind": 2.5}, {"wet": "yes", "wind": None}],
        [{"wet": "yes", "wind": 7.5}, {"wet": "yes", "wind": 6.0}, {"wet": None, "wind": 2.0},
         {"wet": "no", "wind": 1.5}],
        [{"wet": "no", "wind": 2.0}, {"wet": "yes", "wind": 8.0}],
    ]  # fmt: skip
    numbers = [[[1.0, 2.0], [1.5, 2.5], [8.0, 1.0]], [[8.5, 1.5], [7.5, 1.0], [1.0, 2.5], [2.0, 2.0]], [[1.0, 3.0]]]
    calls = [[[0, 3], [1, 2], [9, 1]], [[8, 0], [7, 1], [1, 4], [0, 5]], [[1, 6]]]
    weather = bk.HiddenMarkovModel.from_tables(
        {"rain": 0.5, "sun": 0.5},
        {"rain": {"rain": 0.7, "sun": 0.3}, "sun": {"rain": 0.3, "sun": 0.7}},
        {"rain": {"no": 0.1, "yes": 0.9}, "sun": {"no": 0.8, "yes": 0.2}},
    )
    models = {
        "hidden-markov": (bk.HiddenMarkovModel(min_stay={"sun": 2}).fit(days, sky), days),
        "hidden-markov-half": (bk.HiddenMarkovModel(unseen="smooth", states=["sun", "rain"]).fit(days, half), days),
        "hidden-markov-full": (
            bk.HiddenMarkovModel(2, covariance="full", transitions="ordered", n_starts=1).fit(numbers),
            numbers,
        ),
        "hidden-markov-counts": (bk.HiddenMarkovModel(2, numeric={0: "poisson", 1: "gaussian"}).fit(calls), calls),
        "hidden-markov-tables": (weather, [["yes", "yes"], ["no"], ["yes", "no", "yes"]]),
    }
    said = {}
    for name, (model, rows) in models.items():
        paths, scores = model.predict(rows), model.log_likelihood(rows).tolist()
        said[name] = model, {"rows": rows, "classes": paths, "predict": paths, "log_likelihood": scores}
    return said


def answer(distribution: Any, question: str) -> float:
    """What a network or a joint distribution says."""
    return float(distribution.query(question) if hasattr(distribution, "query") else distribution.probability(question))


def write(name: str, case: Case) -> None:
    """The file of a model, and beside it what it is asked and what it says."""
    model, fit, rows = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BayesWarning)
        fit(model).save(FOLDER / f"{name}.bayes")
        said = {"rows": rows, "classes": model.classes_.tolist(), "predict": model.predict(rows).tolist()}
        for method in METHODS:
            if hasattr(model, method):
                said[method] = getattr(model, method)(rows).tolist()
    (FOLDER / f"{name}.json").write_text(json.dumps(said, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, case in cases().items():
        if not (FOLDER / f"{name}.bayes").exists():
            write(name, case)
            print(name)
    OTHERS.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BayesWarning)
        for name, (made, said) in others().items():
            if not (OTHERS / f"{name}.bayes").exists():
                made.save(OTHERS / f"{name}.bayes")
                text = json.dumps(said, ensure_ascii=False, indent=0) + "\n"
                (OTHERS / f"{name}.json").write_text(text, encoding="utf-8")
                print(name)
