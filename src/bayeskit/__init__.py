"""bayeskit: counted data into probabilities and decisions.

A model is a plan of what to count, an estimate made from the counts, and a score for a row.
"""

from bayeskit.lazy import lazy_names

__version__ = "0.2.0"

_HOMES = {
    "AdviceWarning": "errors",
    "BayesError": "errors",
    "BayesWarning": "errors",
    "UndecidableWarning": "errors",
    "Categorical": "data.schema",
    "Ignored": "data.schema",
    "Numeric": "data.schema",
    "Schema": "data.schema",
    "Date": "data.schema",
    "Text": "data.schema",
    "Sequences": "data.sequences",
    "Tokenizer": "data.text.tokenizer",
    "Tally": "tally.tally",
    "BackOff": "estimate.back_off",
    "Dirichlet": "estimate.smoothing",
    "Laplace": "estimate.smoothing",
    "Lidstone": "estimate.smoothing",
    "MEstimate": "estimate.smoothing",
    "MLE": "estimate.smoothing",
    "VarianceFloor": "estimate.variance",
    "BetaBernoulli": "beliefs",
    "DirichletCategorical": "beliefs",
    "NormalInverseGamma": "beliefs",
    "Reply": "network.ask",
    "ask": "network.ask",
    "BayesianNetwork": "network.network",
    "JointDistribution": "network.joint_distribution",
    "read_bif": "network.bif",
    "write_bif": "network.bif",
    "Evaluation": "evaluate.evaluation",
    "Selection": "evaluate.selection",
    "LearningCurve": "evaluate.curves",
    "learning_curve": "evaluate.curves",
    "Comparison": "evaluate.comparison",
    "Duel": "evaluate.signed_ranks",
    "Diagnosis": "evaluate.diagnosis",
    "compare": "evaluate.side_by_side",
    "Encoded": "models.wrappers.encoded",
    "model_named": "models.catalogue",
    "model_names": "models.catalogue",
    "BrierParts": "evaluate.reliability",
    "Reliability": "evaluate.reliability",
    "brier_parts": "evaluate.reliability",
    "calibration_error": "evaluate.reliability",
    "reliability": "evaluate.reliability",
    "LiftCurve": "evaluate.ranking",
    "PrecisionRecall": "evaluate.ranking",
    "RocCurve": "evaluate.ranking",
    "lift_curve": "evaluate.ranking",
    "precision_recall_curve": "evaluate.ranking",
    "roc_curve": "evaluate.ranking",
    "cross_validate": "evaluate.cross_validation",
    "f_measure": "evaluate.metrics",
    "NaiveBayes": "models.naive_bayes.classifier",
    "GaussianBayes": "models.gaussian",
    "SubclassBayes": "models.subclass",
    "NBTree": "models.nbtree",
    "Discretizer": "models.discretizer",
    "TAN": "models.tan",
    "AODE": "models.aode",
    "KDB": "models.kdb",
    "FullJointBayes": "models.full_joint",
    "Tagger": "models.tagger",
    "HiddenMarkovModel": "sequence.hidden_markov",
    "MarkovChain": "sequence.markov_chain",
    "SequenceClassifier": "sequence.classifier",
    "CategoricalHMM": "sequence.drop_in.categorical_hmm",
    "GaussianHMM": "sequence.drop_in.gaussian_hmm",
    "TokenCounter": "models.text.token_counter",
    "BayesOptimalClassifier": "models.wrappers.optimal",
    "CostSensitive": "models.wrappers.cost_sensitive",
    "Calibrated": "models.wrappers.calibrated",
    "GibbsClassifier": "models.wrappers.optimal",
    "Hypotheses": "beliefs.hypotheses",
    "LinearRegression": "models.linear",
    "Costs": "decisions.costs",
    "read_costs": "decisions.costs",
    "mistake_probability": "decisions.mistake",
    "generative_vs_discriminative": "evaluate.generative_discriminative",
    "LogisticRegression": "models.logistic",
    "DiscriminativeWeights": "models.wrappers.discriminative_weights",
    "BayesClassifier": "models.ensemble.classifier",
    "BernoulliNB": "compat.sklearn",
    "CategoricalNB": "compat.sklearn",
    "ComplementNB": "compat.sklearn",
    "GaussianNB": "compat.sklearn",
    "MultinomialNB": "compat.sklearn",
    "SemiSupervised": "models.wrappers.semi_supervised",
    "TextClassifier": "models.text.classifier",
    "TopicModel": "topics.topic_model",
    "load": "models",
    "updating": "models.base.storage",
    "open_source": "data.source",
}

_MODULES = ("charts", "datasets", "decisions.costs", "errors")

__all__ = ["__version__", *_HOMES, *_MODULES]

__getattr__, _names = lazy_names(__name__, _HOMES, _MODULES)


def __dir__() -> list[str]:
    return sorted(["__version__", *_names()])


