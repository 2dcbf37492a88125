"""Every terminal transcript in the documentation is what the program prints.

``BAYESKIT_WRITE=1 pytest tests/test_transcripts.py`` writes them anew.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from bayeskit.cli.app import COMMANDS
from bayeskit.cli.options import Reading
from bayeskit.datasets import path

ROOT = Path(__file__).parents[1]
if not (ROOT / "README.md").exists():
    pytest.skip("the documentation is not here", allow_module_level=True)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if BLOCK.search(page.read_text("utf-8"))
]


def said(command: str, folder: Path) -> str:
    """What a terminal of 80 columns shows."""
    env = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
        "LC_ALL": "C.UTF-8",
    }
    env.pop("BAYESKIT_KERNELS", None)
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, check=False)
    text = (done.stdout + done.stderr).decode()
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n" * bool(text)


@pytest.fixture
def folder(tmp_path):
    """The bundled data, and the program."""
    for name in ("penguins", "tennis"):
        shutil.copy(path(name), tmp_path)
    program = tmp_path / "bin" / "bayes"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bayeskit.cli "$@"\n')
    program.chmod(0o755)
    return tmp_path


def retold(transcript: str, folder: Path) -> str:
    """The transcript as it should be: each line that starts with ``$`` and what it prints."""
    commands = re.findall(r"^\$ (.*?)$", transcript, re.MULTILINE)
    return "".join(f"$ {command}\n{said(command, folder)}" for command in commands)


def rounded(text: str) -> str:
    """Long numbers to nine digits: the last ones are the processor's."""
    return re.sub(r"\d\.\d{10,}(e-?\d+)?", lambda found: f"{float(found[0]):.9g}", text)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="transcripts are of a POSIX shell")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_transcripts_of_a_page_are_what_the_program_prints(page, folder):
    text = page.read_text("utf-8")
    new = BLOCK.sub(lambda found: f"```console\n{retold(found[1], folder)}```", text)
    if os.environ.get("BAYESKIT_WRITE"):
        page.write_text(new, "utf-8")
    assert rounded(new) == rounded(page.read_text("utf-8"))


def test_every_command_and_option_is_documented():
    import inspect
    from importlib import import_module

    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    sections = dict(re.findall(r"^## bayes ([\w-]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert sorted(sections) == sorted(COMMANDS), "a command without a section in docs/cli.md, or a section without one"
    shared = {option.name for option in fields(Reading)}
    for name in COMMANDS:
        command = import_module(f"bayeskit.cli.commands.{name.replace('-', '_')}").command
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            option = parameter.default
            told = [word.split("/")[0] for word in option.param_decls or () if word.startswith("--")]
            if type(option).__name__ == "OptionInfo":
                place = page if parameter.name in shared else sections[name]
                word = told[0] if told else f"--{parameter.name.replace('_', '-')}"
                assert f"`{word}" in place, f"docs/cli.md does not tell of bayes {name} {word}"
