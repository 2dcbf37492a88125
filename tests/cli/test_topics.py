"""``bayes topics``: documents in, lists of words out."""

import pytest

TEXTS = ["ball goal match", "goal ball ball team", "vote law party", "law party vote vote"] * 6


@pytest.fixture
def news(here):
    (here / "news.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    (here / "news.csv").write_text("id,body\n" + "".join(f"{i},{text}\n" for i, text in enumerate(TEXTS)))
    (here / "letters").mkdir()
    for i, text in enumerate(TEXTS):
        (here / "letters" / f"{i}.txt").write_text(text)
    return here


def topics_of(told):
    return sorted(sorted(line.split()[-3:]) for line in told.out.splitlines()[3:5])


@pytest.mark.parametrize(
    "words", [["news.txt"], ["news.csv", "--text", "body"], ["letters"], ["news.txt", "--seed", "3"]], ids=" ".join
)
def test_topics_are_printed_with_their_words(bayes, news, words):
    told = bayes("topics", *words, "-k", "2", "--words", "3", "--sweeps", "60")
    assert told.out.splitlines()[0].endswith("24 documents, 84 words, 7 different, 2 topics")
    assert topics_of(told) == [["ball", "goal", "team"], ["law", "party", "vote"]] or topics_of(told) == [
        ["ball", "goal", "match"], ["law", "party", "vote"],
    ]  # fmt: skip


def test_a_pipe_is_read_and_json_written(bayes, news):
    told = bayes("topics", "-", "-k", "2", "--json", "--by", "probability", stdin="\n".join(TEXTS).encode()).json
    assert told["documents"] == 24
    assert told["vocabulary"] == 7
    assert [one["topic"] for one in told["topics"]] == [0, 1]
    assert sum(one["share"] for one in told["topics"]) == pytest.approx(1)
    assert told["topics"][0]["words"][0].keys() == {"word", "probability", "lift"}


def test_a_model_is_kept_and_shown_again(bayes, news):
    told = bayes("topics", "news.txt", "-k", "2", "-o", "news.bayes")
    assert "model written to news.bayes" in told.out
    shown = bayes("inspect", "news.bayes")
    assert shown.out.startswith("news.bayes: TopicModel, 24 documents, 84 words, 7 different\n")
    assert len(bayes("inspect", "news.bayes", "--json").json["topics"]) == 2
    assert "no columns" in bayes("inspect", "news.bayes", "--column", "x", code=1).err
    assert "bayes inspect shows its topics" in bayes("predict", "news.bayes", "news.csv", code=1).err


def test_one_seed_gives_one_answer(bayes, news):
    once, again, other = (bayes("topics", "news.txt", "-k", "3", "--seed", seed, "--json").out for seed in (1, 1, 2))
    assert once == again != other


def test_what_would_steer_a_terminal_is_shown(bayes, news):
    texts = b"red\x1b[2J\xc2\x9bblue\nred green\n"
    told = bayes("topics", "-", "-k", "1", "--min-df", "1", "--max-df", "1.0", stdin=texts)
    assert "\x1b" not in told.out
    assert "\x9b" not in told.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["topics", "news.csv"], 1, "which column of news.csv holds the text? --text COLUMN (id, body)"),
        (["topics", "nowhere.txt"], 1, "nowhere.txt"),
        (["topics", "news.txt", "-k", "0"], 2, "Invalid value for '--topics' / '-k'"),
        (["topics", "news.txt", "--by", "chance"], 2, "is none of relevance, probability, lift"),
        (["topics", "news.txt", "--min-df", "99"], 1, "none of the 24 documents has a word to learn from"),
    ],
)
def test_what_cannot_be_done_is_said(bayes, news, words, code, said):
    assert said in bayes(*words, code=code).err
