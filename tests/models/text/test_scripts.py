"""Documents without spaces between words, and emoji, get advice that leads to tokens."""

import warnings

import pytest

from bayeskit import AdviceWarning, BayesClassifier, NaiveBayes, Text, TextClassifier, Tokenizer

CHINESE = [
    "今天天气很好，去公园散步",
    "这部电影太难看了，浪费时间",
    "天气不好，不想出门",
    "电影非常精彩，推荐看",
]
JAPANESE = [
    "今日は天気がいいです",
    "この映画はつまらなかった",
    "明日は雨が降るでしょう",
    "その映画はとても面白い",
]
THAI = ["วันนี้อากาศดีมาก", "หนังเรื่องนี้ไม่สนุก", "พรุ่งนี้ฝนจะตก", "หนังสนุกมาก"]
KOREAN = ["오늘 날씨가 정말 좋다", "이 영화는 재미없다", "내일은 비가 온다", "정말 재미있는 영화다"]
LABELS = ["weather", "film"] * 2


@pytest.mark.parametrize("texts", [CHINESE, JAPANESE, THAI])
@pytest.mark.parametrize("recipe", ["multinomial", "auto"])
def test_scripts_without_spaces_get_advice_that_gives_shorter_words(texts, recipe):
    with pytest.warns(AdviceWarning, match=r'pattern="char", ngrams=\(1, 2\)'):
        TextClassifier(recipe).fit(texts * 4, LABELS * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TextClassifier("multinomial", pattern="char", ngrams=(1, 2)).fit(texts * 4, LABELS * 4)
    assert max(map(len, model.words_)) == 2


def test_scripts_with_spaces_get_no_advice():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TextClassifier("multinomial").fit([*KOREAN, "Grüße aus Köln"], [*LABELS, "film"])


@pytest.mark.parametrize("model", [NaiveBayes, BayesClassifier])
def test_a_column_of_text_without_spaces_gets_advice_that_gives_shorter_words(model):
    table = {"note": [f"{text}{chr(ord('一') + i)}" for i, text in enumerate(CHINESE * 10)], "topic": LABELS * 10}
    with pytest.warns(AdviceWarning, match=r"of column 'note' are written without spaces .* Text\(Tokenizer\("):
        model(roles={"note": "text"}).fit(table, "topic")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(roles={"note": Text(Tokenizer("char", (1, 2)))}).fit(table, "topic")


@pytest.mark.parametrize("recipe", ["multinomial", "set_of_words", "tfidf", "auto"])
def test_emoji_are_words(recipe):
    texts = [f"day{i // 2} {'😡👎🏽' if i % 2 else '😀'}" for i in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TextClassifier(recipe).fit(texts, ["glad", "angry"] * 20)
    assert {"😀", "😡", "👎"} <= set(model.words_)
    assert model.predict(["👎", "😀"]).tolist() == ["angry", "glad"]


def test_emoji_that_a_pattern_leaves_out_get_advice_that_makes_them_words():
    texts = ["see you 😀", "see you 😡"] * 4
    with pytest.warns(AdviceWarning, match='pattern="words_and_emoji"'):
        TextClassifier("multinomial", pattern="words").fit(texts, ["glad", "angry"] * 4)


def test_a_column_of_chinese_reviews_is_recognized_as_free_text():
    reviews = [f"{text}{'一二三四五六七八九十'[i % 10]}{'甲乙丙'[i // 10]}" for i, text in enumerate(CHINESE * 6)]
    with pytest.warns(AdviceWarning, match="'review' holds free text"):
        NaiveBayes().fit({"review": reviews, "topic": LABELS * 6}, "topic")
