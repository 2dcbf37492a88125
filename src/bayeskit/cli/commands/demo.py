"""``bayes demo``: a tour on bundled data."""

from __future__ import annotations


def command() -> None:
    """Show what bayeskit does, on 344 penguins that come with it.

    \b
    Example:
      bayes demo
    """
    from bayeskit.demo import main

    main()
