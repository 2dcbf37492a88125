"""``bayes play``: teaching pages, without data."""

from __future__ import annotations

from bayeskit.cli.options import option


def command(
    output: str = option("--output -o", "FOLDER", "Write the pages there; without it a browser opens them.", ""),
) -> None:
    """Open interactive pages that teach probability.

    They need no data: Bayes' rule, naive Bayes by hand, the Beta posterior of a
    coin, two densities, the alarm network, the umbrella, topics, and decision
    regions of four models.

    \b
    Example:
      bayes play
      bayes play -o lessons
    """
    import tempfile
    import webbrowser
    from pathlib import Path

    from bayeskit.errors import BayesError
    from bayeskit.report.play import write_lessons

    if output and Path(output).exists() and not Path(output).is_dir():
        raise BayesError(f"{output} is a file; the pages go into a folder")
    index, *_ = write_lessons(output or tempfile.mkdtemp(prefix="bayes-play-"))
    if not output:
        print(index)
        webbrowser.open(index.resolve().as_uri())
