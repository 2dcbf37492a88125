"""Tagged sentences of files: CoNLL-U with all that stands in it, lines of word/TAG, and what is neither."""

import gzip

import pytest

from bayeskit.data.text.tagged import read_tagged
from bayeskit.errors import BayesError

CONLLU = """\
# sent_id = 1
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_


# a comment
1\t#\t#\tSYM\tNN\t_\t0\troot\t_\t_
"""


def written(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.txt"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_words_of_conllu_are_its_syntactic_words(tmp_path, name, ending):
    read = read_tagged(written(tmp_path / name, CONLLU.replace("\n", ending)))
    assert read.words.to_pylist() == [["do", "n't"], ["#"]]
    assert read.tags.to_pylist() == [["AUX", "PART"], ["SYM"]]
    assert read.fine.to_pylist() == [["VB", "RB"], ["NN"]]


def test_tags_that_are_not_there_are_none(tmp_path):
    bare = CONLLU.replace("\tVB\t", "\t_\t").replace("\tRB\t", "\t_\t").replace("\tNN\t", "\t_\t")
    assert read_tagged(written(tmp_path / "a.conllu", bare)).fine is None
    for tag in ("AUX", "PART", "SYM"):
        bare = bare.replace(f"\t{tag}\t", "\t_\t")
    assert read_tagged(written(tmp_path / "a.conllu", bare)).tags is None


def test_a_sentence_a_line_with_the_tag_after_the_last_slash(tmp_path):
    file = written(tmp_path / "a.txt", "The/D  dog/N\n\n 1/2/NUM //PUNCT \n")
    read = read_tagged(file)
    assert read.words.to_pylist() == [["The", "dog"], [], ["1/2", "/"]]
    assert read.tags.to_pylist() == [["D", "N"], [], ["NUM", "PUNCT"]]
    assert read_tagged([file, file]).words.to_pylist() == 2 * read.words.to_pylist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The/D dog\n", "line 1 has 'dog', which is not a word/TAG"),
        ("a/X\n/X\n", "line 2 has '/X'"),
        ("a/X b/\n", "line 1 has 'b/'"),
        (CONLLU + "2\tx\ty\n", "line 10 is not a line of CoNLL-U"),
        (CONLLU + "no fields\n", "line 10 is not a line of CoNLL-U"),
        (CONLLU.replace("PART", "_"), "the word in line 4 has no tag"),
    ],
)
def test_what_is_no_tagged_sentence_is_told_by_its_line(tmp_path, text, said):
    with pytest.raises(BayesError, match=said):
        read_tagged(written(tmp_path / "a.conllu", text))


def test_an_empty_file_has_no_sentences(tmp_path):
    assert len(read_tagged(written(tmp_path / "a.conllu", "")).words) == 0
