"""``bayes demo``: a tour on bundled data."""

from __future__ import annotations


def command() -> None:
    """Demonstrate bayeskit on the bundled data of 344 penguins.

    \b
    Example:
      bayes demo
    """
    from bayeskit.demo import main

    main()
