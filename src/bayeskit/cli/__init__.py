"""The command ``bayes``: one file a command, listed in ``app.py``. Nothing heavy is imported before a command runs."""


def main() -> None:
    """Run ``bayes`` with the words of the command line."""
    from bayeskit.cli.app import run

    run()
