"""A shell completes commands, options and what options may say, and leaves file names to itself."""

import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def completed(bayes, monkeypatch):
    """``completed("bayes fit --mo")``: what a shell would offer for the last word."""

    def offer(line):
        monkeypatch.setenv("_BAYES_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        return bayes().out.split()

    return offer


def test_commands_options_and_their_values_are_offered(completed):
    assert completed("bayes pre") == ["predict"]
    assert completed("bayes fit --mo") == ["--model"]
    assert completed("bayes fit -m n") == ["naive", "nbtree", "network"]
    assert completed("bayes predict m.bayes d.csv --unreadable ") == ["error", "missing"]


def test_file_names_are_left_to_the_shell(completed):
    assert completed("bayes fit bir") == []
    assert completed("bayes predict birds.bayes -o ") == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_by_the_script_that_is_shown(tmp_path):
    program = tmp_path / "bayes"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bayeskit.cli "$@"\n')
    program.chmod(0o755)
    lines = [
        'script="$(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 bayes --show-completion bash)"',
        '[[ "$script" == *"-o default"* ]] || exit 1  # file names, where nothing is offered',
        'eval "$script"',
        "COMP_WORDS=(bayes fit -m n); COMP_CWORD=3",
        "_bayes_completion bayes",
        'echo "${COMPREPLY[@]}"',
    ]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "naive nbtree network\n"
