from .classifier import TextClassifier as TextClassifier
from .token_counter import TokenCounter as TokenCounter
