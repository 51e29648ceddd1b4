"""The tokenizer, with a vocabulary small enough to cut words by hand."""

import numpy as np
import pytest

from attention_utils.models.wordpiece import WordPiece
from tests.helpers import refuses

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
PIECES = ["un", "##aff", "##able", "##a", "aff", "cafe", "it", "don", "'", "t", "!", "$", "-"]
LETTERS = ["a", "##b", "我", "爱", "ai", "。", "[", "]", "mask", "ˇ"]
SMALL = WordPiece(MARKS + PIECES + LETTERS)


def pieces(text):
    first, *inside, last = SMALL.tokens(text)
    assert (first, last) == ("[CLS]", "[SEP]")
    return inside


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("it", ["it"]),
        ("unaffable", ["un", "##aff", "##able"]),  # the longest piece first: not ##a, ##ff
        ("Unaffable IT", ["un", "##aff", "##able", "it"]),
        ("Café", ["cafe"]),
        ("Cafe\u0301", ["cafe"]),  # the accent as a character of its own
        ("don't!", ["don", "'", "t", "!"]),
        ("it$it-it", ["it", "$", "it", "-", "it"]),  # ASCII signs that Unicode calls no punctuation
        ("!!", ["!", "!"]),
        ("affunn", ["[UNK]"]),  # it begins well and cannot be finished
        ("it xyz it", ["it", "[UNK]", "it"]),
        ("我爱AI。", ["我", "爱", "ai", "。"]),
        ("it\u00a0it\u3000it", ["it", "it", "it"]),  # other blanks
        ("i\u200bt\x00\ufffd", ["it"]),  # characters that nobody sees
        ("[MASK]", ["[", "mask", "]"]),
    ],
)
def test_cutting(text, expected):
    assert pieces(text) == expected


def test_a_word_of_more_than_100_letters_is_unknown():
    assert pieces("a" + 99 * "b") == ["a"] + 99 * ["##b"]
    assert pieces("a" + 100 * "b") == ["[UNK]"]


def test_numbers_are_places_in_the_vocabulary():
    ids = SMALL.numbers(["[CLS]", "un", "[PAD]"])
    np.testing.assert_array_equal(ids, [2, 4, 0])
    assert ids.dtype == np.int64
    assert SMALL.numbers([]).shape == (0,)
    with refuses("tokens", "'xyz'"):
        SMALL.numbers(["it", "xyz"])


def test_a_batch_is_filled_up():
    ids, lengths = SMALL.batch(["it", "unaffable", ""])
    np.testing.assert_array_equal(lengths, [3, 5, 2])
    np.testing.assert_array_equal(ids[0], [*SMALL.numbers(SMALL.tokens("it")), 0, 0])
    np.testing.assert_array_equal(ids[2], [2, 3, 0, 0, 0])


@pytest.mark.parametrize("texts", ["it", []])
def test_a_batch_is_a_list_of_texts(texts):
    with refuses("texts"):
        SMALL.batch(texts)


@pytest.mark.parametrize("text", [None, b"it", 3])
def test_a_text_is_a_string(text):
    with refuses("text", type(text).__name__):
        SMALL.tokens(text)


def test_what_is_no_vocabulary():
    with refuses("vocabulary", "[UNK]"):
        WordPiece(["[PAD]", "[CLS]", "[SEP]"])
    with refuses("vocabulary", "'it'"):
        WordPiece([*MARKS, "it", "it"])


def test_a_vocabulary_from_a_file(tmp_path):
    path = tmp_path / "vocab.txt"
    # \u2028 ends a line for str.splitlines, and is a token of its own in some vocabularies.
    path.write_text("\n".join([*MARKS, "\u2028", "我"]) + "\n", "utf-8")
    assert WordPiece.from_file(path).vocabulary == (*MARKS, "\u2028", "我")
