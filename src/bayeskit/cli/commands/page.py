"""``bayes page``: write the page of a model."""

from __future__ import annotations

from bayeskit.cli.options import MODEL, option


def command(
    model: str = MODEL,
    output: str = option("--output -o", "FILE", "HTML file to write; - for stdout.", "-"),
) -> None:
    """Write a page on which to try a model.

    The page is one HTML file that works without a network: a form for the
    columns, the posterior, its evidence and the tables of the model. On the
    page of a Bayesian network a click observes a state.

    \b
    Example:
      bayes page birds.bayes -o birds.html
    """
    from bayeskit.cli.inputs import check_writable, load_model
    from bayeskit.cli.notes import note
    from bayeskit.cli.outputs import write_output
    from bayeskit.errors import BayesError, with_article

    check_writable(output, is_model=False, reads=[model], mark=b"<!doctype html>")
    loaded = load_model(model)
    if not hasattr(loaded, "page"):
        raise BayesError(f"{model} holds {with_article(type(loaded).__name__)}, which has no page")
    page = loaded.page()
    write_output(output, page.html.encode())
    if page.no_form:
        note(f"the page has tables and no form: {page.no_form}")
