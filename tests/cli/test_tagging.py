"""``bayes fit --tags`` and ``bayes tag``: files in, a line a sentence out, as they come."""

import json
import subprocess
import sys

import pytest

CONLLU = "".join(
    "".join(f"{i + 1}\t{word}\t_\t{tag}\t{fine}\t_\t_\t_\t_\t_\n" for i, (word, tag, fine) in enumerate(one)) + "\n"
    for one in (
        [("The", "D", "DT"), ("dog", "N", "NN"), ("barks", "V", "VBZ"), (".", "P", ".")],
        [("A", "D", "DT"), ("cat", "N", "NN"), ("sleeps", "V", "VBZ")],
    )
)


@pytest.fixture
def tagger(bayes, here):
    (here / "train.conllu").write_text(CONLLU)
    told = bayes("fit", "train.conllu", "--tags", "-o", "tags.bayes")
    assert told.out.startswith("train.conllu: 2 sentences, 7 words, 4 tags\n")
    return "tags.bayes"


def test_lines_are_answered_word_by_word(bayes, tagger):
    assert bayes("tag", tagger, "-", stdin=b"The cat barks.\n\nA dog\n").out == "The/D cat/N barks/V ./P\n\nA/D dog/N\n"
    told = bayes("tag", tagger, "-", "--json", stdin=b"The cat\n")
    assert json.loads(told.out) == {"words": ["The", "cat"], "tags": ["D", "N"]}


def test_words_of_conllu_are_tagged_and_scored(bayes, tagger):
    told = bayes("tag", tagger, "train.conllu")
    assert told.out.splitlines()[1] == "A/D cat/N sleeps/V"
    assert told.err == "100.0% of 7 words right, 100.0% of 2 sentences all right\n"


def test_lines_of_words_with_tags_are_learned(bayes, here):
    (here / "train.txt").write_text("The/D dog/N\n//P\n")
    record = bayes("fit", "train.txt", "--tags", "--own-states", "0", "--json").json
    assert record["tags"] == {"D": 1, "N": 1, "P": 1}
    assert record["own_states"] == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["fit", "tennis.csv", "--tags"], 1, "which is not a word/TAG"),
        (["fit", "train.conllu", "--tags", "-t", "x"], 2, "does not go with --tags"),
        (["fit", "tennis.csv", "-t", "play", "--own-states", "3"], 2, "add --tags"),
    ],
)
def test_what_does_not_go_together_is_refused(bayes, here, words, code, said):
    (here / "train.conllu").write_text(CONLLU)
    assert said in bayes(*words, code=code).err


def test_a_model_of_something_else_tags_nothing(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "-o", "play.bayes")
    assert "holds a NaiveBayes, which tags no words" in bayes("tag", "play.bayes", "-", code=1, stdin=b"a\n").err


def test_what_would_steer_a_terminal_is_shown(bayes, tagger):
    assert "\x1b" not in bayes("tag", tagger, "-", stdin=b"The \x1b[2J dog\n").out


def test_a_line_of_a_pipe_is_answered_before_the_next(tagger, here):
    command = [sys.executable, "-m", "bayeskit.cli", "tag", tagger, "-"]
    with subprocess.Popen(command, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        for line, answer in ((b"The dog\n", b"The/D dog/N\n"), (b"A cat\n", b"A/D cat/N\n")):
            process.stdin.write(line)
            assert process.stdout.readline() == answer
        process.stdin.close()
    assert process.returncode == 0
