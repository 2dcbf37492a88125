"""bayeskit: counted data into probabilities and decisions.

A model is a plan of what to count, an estimate made from the counts, and a score for a row.

This file is written by `make stubs`.
"""

from bayeskit import charts as charts
from bayeskit import datasets as datasets
from bayeskit import decide as decide
from bayeskit import errors as errors
from bayeskit.data.schema import Categorical as Categorical
from bayeskit.data.schema import Date as Date
from bayeskit.data.schema import Ignored as Ignored
from bayeskit.data.schema import Numeric as Numeric
from bayeskit.data.schema import Schema as Schema
from bayeskit.data.schema import Text as Text
from bayeskit.data.sequences import Sequences as Sequences
from bayeskit.data.source import open_source as open_source
from bayeskit.data.text.tokenizer import Tokenizer as Tokenizer
from bayeskit.decisions.costs import Costs as Costs
from bayeskit.decisions.costs import read_costs as read_costs
from bayeskit.errors import AdviceWarning as AdviceWarning
from bayeskit.errors import BayesError as BayesError
from bayeskit.errors import BayesWarning as BayesWarning
from bayeskit.errors import UndecidableWarning as UndecidableWarning
from bayeskit.estimate.back_off import BackOff as BackOff
from bayeskit.beliefs import BetaBernoulli as BetaBernoulli
from bayeskit.beliefs import DirichletCategorical as DirichletCategorical
from bayeskit.beliefs import NormalInverseGamma as NormalInverseGamma
from bayeskit.estimate.smoothing import MLE as MLE
from bayeskit.estimate.smoothing import Dirichlet as Dirichlet
from bayeskit.estimate.smoothing import Laplace as Laplace
from bayeskit.estimate.smoothing import Lidstone as Lidstone
from bayeskit.estimate.smoothing import MEstimate as MEstimate
from bayeskit.estimate.variance import VarianceFloor as VarianceFloor
from bayeskit.evaluate.comparison import Comparison as Comparison
from bayeskit.evaluate.cross_validation import cross_validate as cross_validate
from bayeskit.evaluate.curves import LearningCurve as LearningCurve
from bayeskit.evaluate.curves import learning_curve as learning_curve
from bayeskit.evaluate.diagnosis import Diagnosis as Diagnosis
from bayeskit.evaluate.evaluation import Evaluation as Evaluation
from bayeskit.evaluate.generative_discriminative import generative_vs_discriminative as generative_vs_discriminative
from bayeskit.evaluate.metrics import f_measure as f_measure
from bayeskit.decisions.mistake import mistake_probability as mistake_probability
from bayeskit.evaluate.ranking import LiftCurve as LiftCurve
from bayeskit.evaluate.ranking import PrecisionRecall as PrecisionRecall
from bayeskit.evaluate.ranking import RocCurve as RocCurve
from bayeskit.evaluate.ranking import lift_curve as lift_curve
from bayeskit.evaluate.ranking import precision_recall_curve as precision_recall_curve
from bayeskit.evaluate.ranking import roc_curve as roc_curve
from bayeskit.evaluate.reliability import BrierParts as BrierParts
from bayeskit.evaluate.reliability import Reliability as Reliability
from bayeskit.evaluate.reliability import brier_parts as brier_parts
from bayeskit.evaluate.reliability import calibration_error as calibration_error
from bayeskit.evaluate.reliability import reliability as reliability
from bayeskit.evaluate.selection import Selection as Selection
from bayeskit.evaluate.side_by_side import compare as compare
from bayeskit.evaluate.signed_ranks import Duel as Duel
from bayeskit.models import load as load
from bayeskit.models.base.storage import updating as updating
from bayeskit.models.wrappers.calibrated import Calibrated as Calibrated
from bayeskit.models.catalogue import model_named as model_named
from bayeskit.models.catalogue import model_names as model_names
from bayeskit.models.wrappers.cost_sensitive import CostSensitive as CostSensitive
from bayeskit.models.discretizer import Discretizer as Discretizer
from bayeskit.models.wrappers.discriminative_weights import DiscriminativeWeights as DiscriminativeWeights
from bayeskit.compat.sklearn import BernoulliNB as BernoulliNB
from bayeskit.compat.sklearn import CategoricalNB as CategoricalNB
from bayeskit.compat.sklearn import ComplementNB as ComplementNB
from bayeskit.compat.sklearn import GaussianNB as GaussianNB
from bayeskit.compat.sklearn import MultinomialNB as MultinomialNB
from bayeskit.models.wrappers.encoded import Encoded as Encoded
from bayeskit.models.ensemble.classifier import BayesClassifier as BayesClassifier
from bayeskit.models.gaussian import GaussianBayes as GaussianBayes
from bayeskit.beliefs.hypotheses import Hypotheses as Hypotheses
from bayeskit.models.linear import LinearRegression as LinearRegression
from bayeskit.models.logistic import LogisticRegression as LogisticRegression
from bayeskit.models.naive_bayes.classifier import NaiveBayes as NaiveBayes
from bayeskit.models.nbtree import NBTree as NBTree
from bayeskit.models.wrappers.optimal import BayesOptimalClassifier as BayesOptimalClassifier
from bayeskit.models.wrappers.optimal import GibbsClassifier as GibbsClassifier
from bayeskit.network.ask import Reply as Reply
from bayeskit.network.ask import ask as ask
from bayeskit.models.aode import AODE as AODE
from bayeskit.models.full_joint import FullJointBayes as FullJointBayes
from bayeskit.models.kdb import KDB as KDB
from bayeskit.models.tan import TAN as TAN
from bayeskit.models.wrappers.semi_supervised import SemiSupervised as SemiSupervised
from bayeskit.models.subclass import SubclassBayes as SubclassBayes
from bayeskit.models.tagger import Tagger as Tagger
from bayeskit.models.text.classifier import TextClassifier as TextClassifier
from bayeskit.models.text.token_counter import TokenCounter as TokenCounter
from bayeskit.network.bif import read_bif as read_bif
from bayeskit.network.bif import write_bif as write_bif
from bayeskit.network.joint_distribution import JointDistribution as JointDistribution
from bayeskit.network.network import BayesianNetwork as BayesianNetwork
from bayeskit.sequence.classifier import SequenceClassifier as SequenceClassifier
from bayeskit.sequence.drop_in.categorical_hmm import CategoricalHMM as CategoricalHMM
from bayeskit.sequence.drop_in.gaussian_hmm import GaussianHMM as GaussianHMM
from bayeskit.sequence.hidden_markov import HiddenMarkovModel as HiddenMarkovModel
from bayeskit.sequence.markov_chain import MarkovChain as MarkovChain
from bayeskit.tally.tally import Tally as Tally
from bayeskit.topics.topic_model import TopicModel as TopicModel

__version__: str
__all__ = [
    "__version__",
    "AdviceWarning",
    "BayesError",
    "BayesWarning",
    "UndecidableWarning",
    "Categorical",
    "Ignored",
    "Numeric",
    "Schema",
    "Date",
    "Text",
    "Sequences",
    "Tokenizer",
    "Tally",
    "BackOff",
    "Dirichlet",
    "Laplace",
    "Lidstone",
    "MEstimate",
    "MLE",
    "VarianceFloor",
    "BetaBernoulli",
    "DirichletCategorical",
    "NormalInverseGamma",
    "Reply",
    "ask",
    "BayesianNetwork",
    "JointDistribution",
    "read_bif",
    "write_bif",
    "Evaluation",
    "Selection",
    "LearningCurve",
    "learning_curve",
    "Comparison",
    "Duel",
    "Diagnosis",
    "compare",
    "Encoded",
    "model_named",
    "model_names",
    "BrierParts",
    "Reliability",
    "brier_parts",
    "calibration_error",
    "reliability",
    "LiftCurve",
    "PrecisionRecall",
    "RocCurve",
    "lift_curve",
    "precision_recall_curve",
    "roc_curve",
    "cross_validate",
    "f_measure",
    "NaiveBayes",
    "GaussianBayes",
    "SubclassBayes",
    "NBTree",
    "Discretizer",
    "TAN",
    "AODE",
    "KDB",
    "FullJointBayes",
    "Tagger",
    "HiddenMarkovModel",
    "MarkovChain",
    "SequenceClassifier",
    "CategoricalHMM",
    "GaussianHMM",
    "TokenCounter",
    "BayesOptimalClassifier",
    "CostSensitive",
    "Calibrated",
    "GibbsClassifier",
    "Hypotheses",
    "LinearRegression",
    "Costs",
    "read_costs",
    "mistake_probability",
    "generative_vs_discriminative",
    "LogisticRegression",
    "DiscriminativeWeights",
    "BayesClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MultinomialNB",
    "SemiSupervised",
    "TextClassifier",
    "TopicModel",
    "load",
    "updating",
    "open_source",
    "charts",
    "datasets",
    "decide",
    "errors",
]
