"""Dispatch of a record to the function that draws it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bayeskit.errors import BayesError, with_article

PICTURES = {
    "StateExplanation": "sequences.state_evidence_chart",
    "Explanation": "evidence.evidence_chart",
    "WordsForAndAgainst": "evidence.evidence_chart",
    "Work": "evidence.work_chart",
    "Nomogram": "evidence.nomogram_chart",
    "BetaBernoulli": "probabilities.belief_chart",
    "DirichletCategorical": "probabilities.belief_chart",
    "NormalInverseGamma": "probabilities.belief_chart",
    "Beliefs": "probabilities.belief_chart",
    "BeliefCurves": "probabilities.curves_chart",
    "BeliefIntervals": "probabilities.intervals_chart",
    "LikelihoodCurve": "probabilities.likelihood_chart",
    "ClassDensities": "densities.density_chart",
    "DecisionRegions": "densities.regions_chart",
    "DependenceGraph": "graphs.dependence_chart",
    "ClassImages": "densities.images_chart",
    "TellingWords": "words.words_chart",
    "StructureDescription": "graphs.structure_chart",
    "StructureGraph": "graphs.graph_chart",
    "BayesianNetwork": "graphs.network_chart",
    "ArcStrengths": "graphs.strengths_chart",
    "ColumnImportance": "scores.importance_chart",
    "LossImportance": "scores.loss_importance_chart",
    "Evaluation": "scores.confusion_chart",
    "RocCurve": "scores.roc_chart",
    "PrecisionRecall": "scores.precision_recall_chart",
    "LiftCurve": "scores.lift_chart",
    "Reliability": "scores.reliability_chart",
    "BrierParts": "scores.brier_chart",
    "DriftReport": "scores.drift_chart",
    "LearningCurve": "scores.learning_chart",
    "Comparison": "scores.comparison_chart",
    "Diagnosis": "graphs.diagnosis_chart",
    "TopicTable": "words.topics_chart",
    "DocumentTopics": "words.document_chart",
    "TopicChoice": "words.topic_choice_chart",
    "Selection": "scores.selection_chart",
    "Costs": "scores.costs_chart",
    "Decisions": "scores.decisions_chart",
    "ProbabilityTable": "probabilities.conditional_chart",
    "Reply": "probabilities.reply_chart",
    "Distribution": "probabilities.distribution_chart",
    "JointDistribution": "probabilities.joint_chart",
    "Hypotheses": "probabilities.hypotheses_chart",
}
"""Class of a record, and the function of ``bayeskit.charts`` that draws it."""


def draw(record: Any, **options: Any) -> Any:
    """Draw a record as a chart.

    >>> draw("a text")
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: a str has no picture: charts are drawn from records, such as model.explain(rows)[0]
    """
    for kind in type(record).__mro__:
        if kind.__name__ in PICTURES and kind.__module__.startswith("bayeskit."):
            module, _, function = PICTURES[kind.__name__].rpartition(".")
            return getattr(import_module(f"bayeskit.charts.{module}"), function)(record, **options)
    raise BayesError(
        f"{with_article(type(record).__name__)} has no picture: charts are drawn from records, such as "
        "model.explain(rows)[0]"
    )
