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


@pytest.fixture
def environment(tmp_path):
    """An environment in which the program ``bayes`` is the one of this tree."""
    program = tmp_path / "bayes"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bayeskit.cli "$@"\n')
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_by_the_script_that_is_shown(environment):
    lines = [
        'script="$(bayes --show-completion bash)"',
        '[[ "$script" == *"-o default"* ]] || exit 1  # file names, where nothing is offered',
        'eval "$script"',
        "COMP_WORDS=(bayes fit -m n); COMP_CWORD=3",
        "_bayes_completion bayes",
        'echo "${COMPREPLY[@]}"',
    ]
    done = subprocess.run(["bash", "-c", "\n".join(lines)], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "naive nbtree network\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_completes_by_the_script_that_is_shown(environment, tmp_path):
    (tmp_path / "birds.csv").touch()
    lines = "bayes --show-completion fish | source\n" + "\n".join(
        f'complete -C "bayes {words}"' for words in ("fit -m n", "export m.bayes --to sql:d", "fit bir")
    )
    done = subprocess.run(
        ["fish", "-c", lines], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["naive", "nbtree", "network", "sql:duckdb", "birds.csv"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
@pytest.mark.parametrize(
    ("typed", "word"), [("fit -m nb", "nbtree"), ("export m --to sql:d", "sql:duckdb"), ("fit bir", "birds")]
)
def test_zsh_completes_at_a_terminal_by_the_script_that_is_shown(environment, tmp_path, typed, word):
    (tmp_path / "birds").touch()
    lines = [
        "zmodload zsh/zpty; zpty shell zsh -f -i",
        "zpty -w shell 'autoload -Uz compinit; compinit -u -d dump'",
        "zpty -w shell 'source <(bayes --show-completion zsh); echo re''ady'",
        "zpty -r -m shell out '*ready*'",
        f"zpty -w -n shell 'bayes {typed}'$'\\t'",
        f"zpty -r -m shell out '*{word}*' && echo done",
    ]
    done = subprocess.run(
        ["zsh", "-f", "-c", "\n".join(lines)],
        env=environment,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=100,
    )
    assert done.stdout == "done\n"
