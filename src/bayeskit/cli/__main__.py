"""``python -m bayeskit.cli`` is ``bayes``."""

from bayeskit.cli import main

main()
