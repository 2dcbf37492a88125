"""Sphinx's settings for make site: Markdown by MyST, Furo's theme, nothing fetched from the net."""

import bayeskit

project = "bayeskit"
author = "the bayeskit authors"
version = release = bayeskit.__version__
extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 4
highlight_language = "none"
html_theme = "furo"
html_title = f"bayeskit {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
suppress_warnings = ["misc.highlighting_failure"]  # a transcript with an ellipsis is no Python
html_show_copyright = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True  # only the lines after a prompt are copied, without the prompt
