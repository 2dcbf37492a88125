"""Interactive teaching pages, which need no data."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayeskit.report.html import document, escape
from bayeskit.report.page import model_tables
from bayeskit.report.payload import classifier_payload, network_payload, sequence_payload
from bayeskit.storage.files import write_file

TOPIC_DOCUMENTS = (
    "river bank water fish river boat",
    "bank money loan credit money bank",
    "water river stream fish boat water",
    "loan bank credit interest money loan",
    "stream bank river fish water stream",
    "interest money credit bank interest loan",
    "boat stream water bank river fish",
    "money bank river interest loan credit",
)


@dataclass(frozen=True)
class Lesson:
    """A teaching page: its component, its text without JavaScript, its model if it has one, and its data."""

    title: str
    component: str
    text: str
    static: str
    model: Callable[[], Any] = lambda: None
    payload: Callable[[Any], dict[str, Any]] = lambda _: {}


def _tennis() -> Any:
    from bayeskit.datasets import load_worked_example
    from bayeskit.models.naive_bayes import NaiveBayes

    return NaiveBayes(smoothing=0).fit(load_worked_example("tennis"), "play")


def _tennis_payload(model: Any) -> dict[str, Any]:
    from bayeskit.datasets import load_worked_example

    days, names = load_worked_example("tennis"), model.schema_.used
    cells = [list(map(str, day.values())) for day in days.select(names).to_pylist()]
    classes = list(map(str, days["play"].to_pylist()))
    case = "outlook=sunny&temperature=cool&humidity=high&wind=strong"
    return classifier_payload(model) | {
        "rows": {"names": names, "cells": cells, "classes": classes},
        "first_case": case,
    }


def _alarm() -> Any:
    from bayeskit.network.network import BayesianNetwork

    alarm = {(True, True): 0.95, (True, False): 0.94, (False, True): 0.29, (False, False): 0.001}
    edges = [("burglary", "alarm"), ("earthquake", "alarm"), ("alarm", "John calls"), ("alarm", "Mary calls")]
    calls = {"John calls": {True: 0.9, False: 0.05}, "Mary calls": {True: 0.7, False: 0.01}}
    return BayesianNetwork(edges, {"burglary": 0.001, "earthquake": 0.002, "alarm": alarm, **calls})


def _umbrella() -> Any:
    from bayeskit.sequence.hidden_markov import HiddenMarkovModel

    return HiddenMarkovModel.from_tables(
        {"rain": 0.5, "dry": 0.5},
        {"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"rain": 0.3, "dry": 0.7}},
        {"day": {"rain": {"umbrella": 0.9, "no umbrella": 0.1}, "dry": {"umbrella": 0.2, "no umbrella": 0.8}}},
    )


LESSONS: dict[str, Lesson] = {
    "bayes-rule": Lesson(
        "Bayes' rule",
        "rule",
        "A test is positive. How probable is the illness? Move the prior, the sensitivity and the false-alarm rate.",
        "With P(ill) = 1%, P(positive | ill) = 90% and P(positive | well) = 9%: 10 of 1,000 are ill, 9 of them "
        "test positive, and so do 89 of the other 990. So P(ill | positive) = 9 / 98, about 9%.",
    ),
    "naive-bayes": Lesson(
        "Naive Bayes by hand",
        "classifier",
        "Fourteen days of tennis. Click the weather of a new day: matching rows light up and the product follows.",
        "For a sunny, cool day of high humidity and strong wind: no 5/14 · 3/5 · 1/5 · 4/5 · 3/5 = 0.0206, "
        "yes 9/14 · 2/9 · 3/9 · 3/9 · 3/9 = 0.0053, so P(no) = 0.0206 / (0.0206 + 0.0053) = 79.5%.",
        _tennis,
        _tennis_payload,
    ),
    "beta": Lesson(
        "Beta posterior of a coin",
        "beta",
        "Click heads or tails, and watch the posterior of the share of heads become narrower.",
        "The prior Beta(1, 1), three heads and one tail give the posterior Beta(4, 2), and P(next is heads) = 4/6.",
    ),
    "densities": Lesson(
        "Two densities and a decision boundary",
        "densities",
        "A number comes from one of two classes. Drag their densities, and set the cost of each mistake.",
        "The decision is the class with the larger prior · density · cost of missing it. P(mistake) is the area under "
        "the other class.",
    ),
    "alarm": Lesson(
        "The alarm network",
        "network",
        "Burglars and earthquakes set off the alarm, and two neighbors call. Click a state to observe it.",
        "P(burglary | both call) = 0.284, since the prior is only 0.001 and alarms have other causes, too.",
        _alarm,
        network_payload,
    ),
    "umbrella": Lesson(
        "The umbrella hidden Markov model",
        "sequence",
        "The weather is hidden; you see whether people carry umbrellas. Click an observation for each day.",
        "P(rain) is 0.818 after one day with umbrellas and 0.883 after two.",
        _umbrella,
        lambda model: sequence_payload(model) | {"first_case": "day=umbrella,umbrella"},
    ),
    "topics": Lesson(
        "Topics by Gibbs sampling",
        "topics",
        "Each sweep draws the topic of every word given all others. After some sweeps, related words agree.",
        "P(topic k | all other words) ∝ (words of topic k in the document + α) · (count of the word in topic k + β) "
        "/ (words of topic k + Vβ), for V different words.",
        payload=lambda _: {"documents": list(TOPIC_DOCUMENTS), "k": 2},
    ),
    "regions": Lesson(
        "Decision regions of four models",
        "regions",
        "Naive Bayes, TAN, a tree and nearest neighbors learn the same points. Click to add a point.",
        "Gaussian naive Bayes has one smooth boundary. TAN depends on both coordinates at once, in boxes; a tree "
        "splits one coordinate at a time; nearest neighbors follow every point.",
    ),
}  # fmt: skip


def lesson_page(name: str) -> str:
    """Return the HTML of a teaching page."""
    lesson = LESSONS[name]
    model = lesson.model()
    parts = [
        f'<nav><a href="index.html">All pages</a></nav><h1>{escape(lesson.title)}</h1>',
        f'<p class="lead">{escape(lesson.text)}</p>',
        '<noscript><p class="note">The interactive part needs JavaScript; the text below does not.</p></noscript>',
        f'<div data-bayeskit="{lesson.component}" data-payload="payload-1"></div>',
        f'<section class="card figures"><h2>Summary</h2><p>{escape(lesson.static)}</p></section>',
        "" if model is None else model_tables(model),
    ]
    return document(f"{lesson.title}: bayeskit", parts, {"payload-1": lesson.payload(model)}, large=True)


def index_page() -> str:
    """Return the HTML of the list of teaching pages."""
    links = [
        f'<li class="card"><h2><a href="{html.escape(name)}.html">{escape(lesson.title)}</a></h2>'
        f"{escape(lesson.text)}</li>"
        for name, lesson in LESSONS.items()
    ]
    parts = [
        "<h1>Play with probabilities</h1>",
        '<p class="lead">Eight interactive pages, which need no data and no internet connection.</p>',
        f'<ul class="lessons">{"".join(links)}</ul>',
    ]
    return document("Play with probabilities: bayeskit", parts, large=True)


def write_lessons(folder: str | Path) -> list[Path]:
    """Write the teaching pages and their list into a folder, which is made, and return the files."""
    pages = {"index": index_page()} | {name: lesson_page(name) for name in LESSONS}
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = [Path(folder, f"{name}.html") for name in pages]
    for path, page in zip(paths, pages.values(), strict=True):
        write_file(path, page.encode())
    return paths
