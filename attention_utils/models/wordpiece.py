"""WordPiece: how BERT cuts a text into pieces that all have a number."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

CLS, SEP, PAD, UNKNOWN = "[CLS]", "[SEP]", "[PAD]", "[UNK]"
INSIDE = "##"  # marks a piece that does not begin a word
LONGEST_WORD = 100  # longer ones are unknown without a search

# Blocks of Chinese characters; each character becomes a word. Kana and Hangul are not among them.
IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """The tokenizer of the uncased BERT models.

    Parameters
    ----------
    vocabulary : iterable of str
        The tokens, in the order of their numbers.

    Attributes
    ----------
    vocabulary : tuple of str

    Raises
    ------
    ValueError
        If a token is missing that every text needs, or occurs twice.

    Notes
    -----
    A text is put into lower case and loses its accents; words end at blanks and at punctuation;
    each word is then cut from the left, every time at the longest piece in the vocabulary (Devlin
    et al., 2019, follow Wu et al., 2016). Names such as "[MASK]" in a text are not special here:
    they are cut like anything else. Chapter 10.

    Examples
    --------
    >>> small = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##read", "##able", "!"])
    >>> small.tokens("Unreadable!")
    ['[CLS]', 'un', '##read', '##able', '!', '[SEP]']
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self.vocabulary = tuple(vocabulary)
        self._numbers = {token: i for i, token in enumerate(self.vocabulary)}
        if len(self._numbers) != len(self.vocabulary):
            twice = next(t for i, t in enumerate(self.vocabulary) if self._numbers[t] != i)
            raise ValueError(f"vocabulary must hold each token once, got {twice!r} twice")
        missing = [token for token in (PAD, UNKNOWN, CLS, SEP) if token not in self._numbers]
        if missing:
            raise ValueError(
                f"vocabulary must hold {missing[0]}, got {len(self.vocabulary)} others"
            )

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """A tokenizer whose vocabulary stands in a text file, one token a line.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        WordPiece

        Raises
        ------
        ValueError
            If the file is not such a vocabulary.
        """
        text = Path(path).read_text("utf-8")
        return cls(text.removesuffix("\n").split("\n"))

    def tokens(self, text: str) -> list[str]:
        """Cut a text into tokens, from [CLS] to [SEP].

        Parameters
        ----------
        text : str

        Returns
        -------
        tokens : list of str
            An empty text gives the two marks alone.

        Raises
        ------
        ValueError
            If `text` is not a string.
        """
        if not isinstance(text, str):
            raise ValueError(f"text must be one string, got {type(text).__name__}")
        return [CLS, *(piece for word in _words(text) for piece in self._pieces(word)), SEP]

    def numbers(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """Look up the number of each token.

        Parameters
        ----------
        tokens : sequence of str

        Returns
        -------
        ids : ndarray of int, shape (n,)

        Raises
        ------
        ValueError
            If a token is not in the vocabulary.
        """
        for token in tokens:
            if token not in self._numbers:
                raise ValueError(f"tokens must be in the vocabulary, got {token!r}")
        return np.array([self._numbers[token] for token in tokens], dtype=np.int64)

    def batch(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Several texts in one array, the shorter ones filled up with [PAD].

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ids : ndarray of int, shape (n_texts, n)
        lengths : ndarray of int, shape (n_texts,)
            How many tokens of each row are real; `padding_mask(lengths, n)` hides the others.

        Raises
        ------
        ValueError
            If `texts` is one string, or empty, or holds anything but strings.
        """
        if isinstance(texts, str) or not len(texts):
            raise ValueError(f"texts must be a list of at least one text, got {texts!r}")
        rows = [self.numbers(self.tokens(text)) for text in texts]
        lengths = np.array([len(row) for row in rows])
        ids = np.full((len(rows), lengths.max()), self._numbers[PAD])
        for row, its_numbers in zip(ids, rows, strict=True):
            row[: len(its_numbers)] = its_numbers
        return ids, lengths

    def _pieces(self, word: str) -> list[str]:
        """The longest known piece, then the longest that continues it, and so on."""
        pieces: list[str] = []
        start = 0
        while start < len(word):
            mark = INSIDE if start else ""
            ends = range(len(word), start, -1) if len(word) <= LONGEST_WORD else ()
            end = next((end for end in ends if mark + word[start:end] in self._numbers), None)
            if end is None:
                return [UNKNOWN]
            pieces.append(mark + word[start:end])
            start = end
        return pieces


def _words(text: str) -> Iterator[str]:
    """Words and punctuation marks of a text, in lower case and without accents."""
    plain = "".join(_readable(text)).lower()
    plain = "".join(c for c in unicodedata.normalize("NFD", plain) if _category(c) != "Mn")
    for chunk in plain.split():
        word = ""
        for letter in chunk:
            if _is_punctuation(letter):
                if word:
                    yield word
                yield letter
                word = ""
            else:
                word += letter
        if word:
            yield word


def _readable(text: str) -> Iterator[str]:
    """The characters of a text: blanks made alike, invisible ones left out, ideographs apart."""
    for letter in text:
        if letter in "\t\n\r" or _category(letter) == "Zs":
            yield " "
        elif letter == "\N{REPLACEMENT CHARACTER}" or _category(letter).startswith("C"):
            continue
        elif any(first <= ord(letter) <= last for first, last in IDEOGRAPHS):
            yield f" {letter} "
        else:
            yield letter


def _is_punctuation(letter: str) -> bool:
    """Punctuation in Unicode, and every ASCII sign that is neither letter nor digit."""
    return _category(letter).startswith("P") or (33 <= ord(letter) <= 126 and not letter.isalnum())


_category = unicodedata.category
