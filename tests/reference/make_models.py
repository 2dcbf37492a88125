"""Write one small file of every kind of model, and its answers, to ``files/``: ``python make_models.py``.

A file that exists is never written again: it stands for the files that users have. A later version adds new names only.
Beside ``NAME.bayes``, ``NAME.json`` lists ``[method, argument, answer]``.
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import bayeskit as bk
from bayeskit import datasets

FOLDER = Path(__file__).parent / "files"
CLASSIFY = ("predict", "predict_proba", "predict_joint_log_proba")
RECIPES = (
    *("multinomial", "set_of_words", "complement", "wcnb", "twcnb"),
    *("tfidf", "nbsvm", "weighted", "fast", "best"),
)

BIRDS = datasets.load_penguins().take(np.arange(0, 344, 4))
BIRD_ROWS = [
    *BIRDS.slice(3, 4).to_pylist(),
    {"island": "Dream", "bill_length_mm": 49.3, "sex": "male", "year": 2009},
    {"island": "Atlantis", "bill_depth_mm": 17.0, "flipper_length_mm": 195.5, "year": 1999},
]
BIRD_ROWS = [{name: row.get(name) for name in BIRDS.column_names if name != "species"} for row in BIRD_ROWS]
YEAR = {"year": "categorical"}
MEASURED = {"island": "ignore", "sex": "ignore", "year": "ignore"}
WEIGHTS = np.resize([0.25, 1.0, 3.0, 0.5], BIRDS.num_rows)

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

Case = tuple[Any, list[tuple[str, Any]]]
"""A fitted model, and the questions it is asked: method and argument."""


def tables() -> Iterator[tuple[str, Case]]:
    """Yield classifiers of tables and models that wrap them."""
    costs = {
        a: {b: float(a != b) for b in ("Adelie", "Chinstrap", "Gentoo")} for a in ("Adelie", "Chinstrap", "Gentoo")
    }
    few = [label if i % 3 == 0 else None for i, label in enumerate(BIRDS["species"].to_pylist())]
    models = {
        "naive": bk.NaiveBayes(
            roles=YEAR, smoothing={"island": bk.MEstimate(2), "sex": bk.Dirichlet(2), "year": "auto"}
        ),
        "naive-histogram": bk.NaiveBayes(numeric="histogram", cuts={"year": [2007, 2008], "body_mass_g": 5}),
        "naive-kernel": bk.NaiveBayes(numeric={"bill_depth_mm": "kernel"}, max_values=16),
        "gaussian": bk.GaussianBayes("shrunk", roles=MEASURED),
        "tan": bk.TAN(roles=YEAR),
        "aode": bk.AODE(weights="log-linear", roles=YEAR),
        "kdb": bk.KDB(selective=True, roles=YEAR, smoothing=bk.BackOff(3)),
        "nbtree": bk.NBTree(roles=YEAR, min_rows=10),
        "network-classifier": bk.NetworkClassifier(roles=YEAR),
        "network-classifier-edges": bk.NetworkClassifier(
            [("island", "species"), ("sex", "body_mass_g"), ("species", "body_mass_g")], roles=YEAR, smoothing=1.0
        ),
        "full-joint": bk.FullJointBayes(smoothing=1.0, roles=YEAR),
        "subclass": bk.SubclassBayes(2, roles=YEAR),
        "bayes": bk.BayesClassifier(n_members=2, n_chains=3, n_trees=3),
        "bayes-without-rows": bk.BayesClassifier(keep_rows=False, n_members=2, n_chains=3, n_trees=3, roles=YEAR),
        "logistic": bk.LogisticRegression(roles=YEAR),
        "discriminative": bk.DiscriminativeWeights(bk.NaiveBayes(roles=YEAR), penalty=2.0),
        "cost-sensitive": bk.CostSensitive(bk.TAN(roles=YEAR), costs=costs, reject_cost=0.9),
        "calibrated": bk.Calibrated(bk.NaiveBayes(roles=YEAR)),
    }
    for name, model in models.items():
        yield name, ask_classes(model.fit(BIRDS, "species"), BIRD_ROWS)
    weighted = bk.NaiveBayes(roles=YEAR).fit(BIRDS, "species", sample_weight=WEIGHTS)
    yield "naive-weighted", ask_classes(weighted, BIRD_ROWS)
    half = bk.SemiSupervised(bk.NaiveBayes(roles=YEAR), folds=2).fit(BIRDS.drop(["species"]), few)
    yield "semi-supervised", ask_classes(half, BIRD_ROWS)
    numbers = np.random.default_rng(1).poisson(1.0, (40, 3)).astype(float)
    sparse = bk.LogisticRegression().fit(csr_matrix(numbers), [f"c{i}" for i in numbers.argmax(axis=1)])
    yield "logistic-sparse", ask_classes(sparse, [[0.0, 1.0, 4.0], [2.0, 0.0, 0.5]])
    heavy = BIRDS.filter(BIRDS["body_mass_g"].is_valid()).drop(["year", "species"])
    line = bk.LinearRegression("evidence").fit(heavy, "body_mass_g")
    rows = [{name: row[name] for name in heavy.column_names if name != "body_mass_g"} for row in BIRD_ROWS]
    yield "linear", (line, [("predict", rows), ("predict_interval", rows)])


def texts() -> Iterator[tuple[str, Case]]:
    """Yield classifiers of documents, of every recipe."""
    for recipe in RECIPES:
        model = bk.TextClassifier(recipe).fit(TEXTS, LABELS)
        yield f"text-{recipe.replace('_', '-')}", ask_classes(model, TEXT_ROWS)
    few = [label if i % 3 == 0 else None for i, label in enumerate(LABELS)]
    half = bk.SemiSupervised(bk.TextClassifier(min_df=2), folds=0).fit(TEXTS, few)
    yield "semi-supervised-documents", ask_classes(half, TEXT_ROWS)
    column = bk.NaiveBayes(roles={"note": bk.Text(bk.Tokenizer("words1", (1, 2)))})
    column.fit({"note": TEXTS, "topic": LABELS}, "topic")
    yield "naive-text", ask_classes(column, [{"note": text} for text in TEXT_ROWS])
    news = ["ball goal match", "goal ball ball team", "vote law party", "law party vote vote", ""]
    topics = bk.TopicModel(2, n_sweeps=30, keep_assignments=True).fit(news)
    yield "topics", (topics, [("transform", news), ("top_words", 3)])


def distributions() -> Iterator[tuple[str, Case]]:
    """Yield networks and joint distributions."""
    edges = [("species", "island"), ("species", "bill_length_mm"), ("island", "bill_length_mm")]
    birds = BIRDS.select(["species", "island", "bill_length_mm"])
    counted = bk.BayesianNetwork.from_data(
        edges, birds, smoothing=0.5, roles={"bill_length_mm": bk.Numeric((40.0, 45.0))}
    )
    yield "network-counted", (counted, [("query", "P(species = Gentoo | island = Biscoe and bill_length_mm > 45)")])
    sneezes = {(True, True): 0.95, (True, False): 0.9, (False, True): 0.8, (False, False): 0.05}
    written = bk.BayesianNetwork(
        [("cold", "sneezes"), ("hay fever", "sneezes")], {"cold": 0.1, "hay fever": 0.2, "sneezes": sneezes}
    )
    yield "network", (written, [("query", "P(cold | sneezes and 'hay fever')")])
    joint = bk.JointDistribution.from_data(BIRDS.select(["species", "island"]), 1.0)
    yield "joint", (joint, [("probability", "P(island = Dream | species = Gentoo)")])


def sequences() -> Iterator[tuple[str, Case]]:
    """Yield taggers, chains and hidden Markov models."""
    sentences = [["The", "dog", "barks", "."], ["A", "cat", "can", "sleep"], ["They", "can", "bark", "!"]]
    tags = [["D", "N", "V", "."], ["D", "N", "X", "V"], ["P", "X", "V", "."]]
    yield "tagger", (bk.Tagger(own_states=2).fit(sentences, tags), [("predict", sentences)])
    letters = [list(word) for word in ("sole", "luna", "mare", "wind", "rain", "then")]
    chain = bk.MarkovChain(order=2, smoothing="back-off").fit(letters)
    yield "chain", (chain, [("log_likelihood", letters)])
    hidden = bk.HiddenMarkovModel(n_states=2, random_state=0)
    by_language = bk.SequenceClassifier({"english": hidden, "italian": hidden})
    by_language.fit(letters, ["italian"] * 3 + ["english"] * 3)
    yield "sequence-classifier", (by_language, [("predict_joint_log_proba", letters)])
    sky = [["sun", "sun", "rain"], ["rain", "rain", "sun", "sun"]]
    days = [
        [{"wet": "no", "wind": 1.0}, {"wet": "no", "wind": 2.5}, {"wet": "yes", "wind": None}],
        [
            {"wet": "yes", "wind": 7.5},
            {"wet": "yes", "wind": 6.0},
            {"wet": None, "wind": 2.0},
            {"wet": "no", "wind": 1.5},
        ],
    ]
    labeled = bk.HiddenMarkovModel(min_stay={"sun": 2}).fit(days, sky)
    yield "hidden-markov", (labeled, [("predict", days), ("log_likelihood", days)])
    numbers = [[[1.0, 2.0], [1.5, 2.5], [8.0, 1.0]], [[8.5, 1.5], [7.5, 1.0], [1.0, 2.5], [2.0, 2.0]]]
    learned = bk.HiddenMarkovModel(2, covariance="full", n_starts=1, random_state=0).fit(numbers)
    yield "hidden-markov-full", (learned, [("predict", numbers), ("log_likelihood", numbers)])


def ask_classes(model: Any, rows: list[Any]) -> Case:
    """Return a classifier with the questions that it can answer."""
    return model, [(method, rows) for method in CLASSIFY if hasattr(model, method)]


def cases() -> Iterator[tuple[str, Case]]:
    """Yield all files: name, fitted model and questions."""
    for kinds in (tables, texts, distributions, sequences):
        yield from kinds()


def plain(answer: Any) -> Any:
    """Return an answer as JSON holds it."""
    return answer.tolist() if isinstance(answer, (np.ndarray, np.generic)) else answer


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore", bk.BayesWarning)
    for name, (model, questions) in cases():
        if (FOLDER / f"{name}.bayes").exists():
            continue
        model.save(FOLDER / f"{name}.bayes")
        answers = [[method, given, plain(getattr(model, method)(given))] for method, given in questions]
        (FOLDER / f"{name}.json").write_text(json.dumps(answers, ensure_ascii=False) + "\n", encoding="utf-8")
        print(name)
