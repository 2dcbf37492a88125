"""Text models: TextClassifier with its recipes, and TokenCounter."""
