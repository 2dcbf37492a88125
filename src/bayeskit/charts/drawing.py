"""Which function draws which kind of record: the one list of pictures."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bayeskit.errors import BayesError, with_article

PICTURES = {
    "sequence.explanation.StateExplanation": "sequences.state_evidence_chart",
    "explain.evidence.Explanation": "evidence.evidence_chart",
    "models.text.words_for_and_against.WordsForAndAgainst": "evidence.evidence_chart",
    "explain.work.Work": "work.work_chart",
    "explain.nomogram.Nomogram": "nomogram.nomogram_chart",
    "beliefs.beta_dirichlet.BetaBernoulli": "belief_curves.belief_chart",
    "beliefs.beta_dirichlet.DirichletCategorical": "belief_curves.belief_chart",
    "beliefs.normal.NormalInverseGamma": "belief_curves.belief_chart",
    "beliefs.belief.Beliefs": "belief_curves.belief_chart",
    "beliefs.belief.BeliefCurves": "belief_curves.curves_chart",
    "beliefs.belief.BeliefIntervals": "belief_curves.intervals_chart",
    "beliefs.belief.LikelihoodCurve": "belief_curves.likelihood_chart",
    "explain.densities.ClassDensities": "densities.density_chart",
    "explain.regions.DecisionRegions": "regions.regions_chart",
    "explain.dependence.DependenceGraph": "dependence.dependence_chart",
    "explain.images.ClassImages": "images.images_chart",
    "models.text.words_for_and_against.TellingWords": "word_weights.words_chart",
    "explain.structure.StructureDescription": "graphs.structure_chart",
    "explain.structure.StructureGraph": "graphs.graph_chart",
    "network.network.BayesianNetwork": "graphs.network_chart",
    "explain.informative.Telling": "summaries.telling_chart",
    "evaluate.evaluation.Evaluation": "summaries.confusion_chart",
    "evaluate.ranking.RocCurve": "curves.roc_chart",
    "evaluate.ranking.PrecisionRecall": "curves.precision_recall_chart",
    "evaluate.ranking.LiftCurve": "curves.lift_chart",
    "evaluate.reliability.Reliability": "reliability.reliability_chart",
    "evaluate.reliability.BrierParts": "reliability.brier_chart",
    "evaluate.curves.LearningCurve": "curves.learning_chart",
    "evaluate.comparison.Comparison": "comparison.comparison_chart",
    "evaluate.diagnosis.Diagnosis": "dependence.diagnosis_chart",
    "topics.topic_table.TopicTable": "topics.topics_chart",
    "topics.document_topics.DocumentTopics": "topics.document_chart",
    "topics.number_of_topics.TopicChoice": "topics.topic_choice_chart",
    "evaluate.selection.Selection": "summaries.selection_chart",
    "decisions.costs.Costs": "summaries.costs_chart",
    "decisions.costs.Decisions": "summaries.decisions_chart",
    "data.probability_table.ProbabilityTable": "conditional_tables.conditional_chart",
    "network.ask.Reply": "probabilities.reply_chart",
    "network.answers.Distribution": "probabilities.distribution_chart",
    "network.joint_distribution.JointDistribution": "probabilities.joint_chart",
    "beliefs.hypotheses.Hypotheses": "probabilities.hypotheses_chart",
}
"""The kind of record, and the function of ``bayeskit.charts`` that draws it."""


def draw(record: Any, **options: Any) -> Any:
    """The picture of a record.

    >>> draw("a text")
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: a str has no picture: charts are drawn from records, such as model.explain(rows)[0]
    """
    for kind in type(record).__mro__:
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("bayeskit.")
        if name in PICTURES:
            module, _, function = PICTURES[name].rpartition(".")
            return getattr(import_module(f"bayeskit.charts.{module}"), function)(record, **options)
    raise BayesError(
        f"{with_article(type(record).__name__)} has no picture: charts are drawn from records, such as "
        "model.explain(rows)[0]"
    )
