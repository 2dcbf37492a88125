"""Manual pages: every command and option of the help, in roff without warnings."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bayeskit.cli.app import COMMANDS, options

if not (Path(__file__).parents[2] / "scripts" / "man.py").exists():
    pytest.skip("the scripts are not here", allow_module_level=True)

from scripts.man import pages


def test_every_option_is_in_the_page_of_its_command():
    written = pages()
    assert [*written] == ["bayes.1", *(f"bayes-{name}.1" for name in COMMANDS)]
    for name, known in options().items():
        text = written[f"bayes-{name}.1"].replace("\\-", "-")
        assert [option for option in known if option.startswith("--") and option not in text] == []


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here")
def test_the_pages_are_clean_roff():
    for text in pages().values():
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=text.encode(), capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
