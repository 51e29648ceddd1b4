"""A toy piece of English with its French: as many sentence pairs as you like, words aligned.

A sentence is NOUN PHRASE [never] VERB NOUN PHRASE. It is small, but word for word does not work:

- articles and adjectives take the gender and number of their noun, verbs the number of theirs;
- some adjectives follow their noun: *the red cars* becomes *les voitures rouges*;
- *never* becomes two words around the verb, *ne … jamais*;
- *of the* becomes one word or two: *du*, *de la*, *des*.

Every noun, adjective and verb begins with a consonant, in French, and every plural ends in -s: no
further rule is needed. The past tense is always the imparfait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attention_utils._arrays import count

Ids = NDArray[np.int64]

PAD, END, START = "<pad>", "</s>", "<s>"
PAD_ID, END_ID, START_ID = 0, 1, 2  # in both vocabularies, but START in French alone


class Noun(NamedTuple):
    """A noun with its gender; both plurals add an -s."""

    english: str
    french: str
    feminine: bool


class Adjective(NamedTuple):
    """An adjective; both French plurals add an -s."""

    english: str
    masculine: str
    feminine: str
    follows: bool  # does it stand behind its noun in French?


class Verb(NamedTuple):
    """A verb in the past tense."""

    english: str
    singular: str
    plural: str


NOUNS = (
    Noun("cat", "chat", False),
    Noun("dog", "chien", False),
    Noun("book", "livre", False),
    Noun("garden", "jardin", False),
    Noun("train", "train", False),
    Noun("boy", "garçon", False),
    Noun("bridge", "pont", False),
    Noun("teacher", "professeur", False),
    Noun("girl", "fille", True),
    Noun("house", "maison", True),
    Noun("car", "voiture", True),
    Noun("door", "porte", True),
    Noun("flower", "fleur", True),
    Noun("street", "rue", True),
    Noun("apple", "pomme", True),
    Noun("table", "table", True),
)
ADJECTIVES = (
    Adjective("small", "petit", "petite", False),
    Adjective("big", "grand", "grande", False),
    Adjective("pretty", "joli", "jolie", False),
    Adjective("black", "noir", "noire", True),
    Adjective("green", "vert", "verte", True),
    Adjective("red", "rouge", "rouge", True),
    Adjective("blue", "bleu", "bleue", True),
    Adjective("heavy", "lourd", "lourde", True),
)
VERBS = (
    Verb("saw", "voyait", "voyaient"),
    Verb("carried", "portait", "portaient"),
    Verb("wanted", "voulait", "voulaient"),
    Verb("found", "trouvait", "trouvaient"),
    Verb("followed", "suivait", "suivaient"),
    Verb("painted", "peignait", "peignaient"),
)
# English article -> French before a masculine, a feminine, a plural noun
ARTICLES = {
    "the": ("le", "la", "les"),
    "my": ("mon", "ma", "mes"),
    "this": ("ce", "cette", None),
    "these": (None, None, "ces"),
}
OF_THE = (("du",), ("de", "la"), ("des",))

# The pairs that training never shows, such as (cat, small): each noun has one, each adjective two.
HELD_OUT = frozenset(
    (noun.english, ADJECTIVES[i % len(ADJECTIVES)].english) for i, noun in enumerate(NOUNS)
)


def _vocabulary(marks: tuple[str, ...], words: Iterable[str]) -> tuple[str, ...]:
    return (*marks, *sorted(set(words)))


SOURCE_VOCABULARY = _vocabulary(
    (PAD, END),
    [
        *(noun.english + ending for noun in NOUNS for ending in ("", "s")),
        *(adjective.english for adjective in ADJECTIVES),
        *(verb.english for verb in VERBS),
        *ARTICLES,
        *("never", "of"),
    ],
)
TARGET_VOCABULARY = _vocabulary(
    (PAD, END, START),
    [
        *(noun.french + ending for noun in NOUNS for ending in ("", "s")),
        *(form + s for a in ADJECTIVES for form in (a.masculine, a.feminine) for s in ("", "s")),
        *(form for verb in VERBS for form in (verb.singular, verb.plural)),
        *(form for forms in ARTICLES.values() for form in forms if form),
        *(form for forms in OF_THE for form in forms),
        *("ne", "jamais"),
    ],
)
_MARKS = {PAD, END, START}
_SOURCE_ID = {word: i for i, word in enumerate(SOURCE_VOCABULARY) if word not in _MARKS}
_TARGET_ID = {word: i for i, word in enumerate(TARGET_VOCABULARY) if word not in _MARKS}


class SentencePair(NamedTuple):
    """An English sentence, its French, and which word comes from which.

    Attributes
    ----------
    source : tuple of str
        English words.
    target : tuple of str
        French words.
    alignment : tuple of tuple of int
        ``alignment[t]`` are the positions in `source` that ``target[t]`` translates: one, or two
        for *du* and *des*.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, ...], ...]


class Batch(NamedTuple):
    """Sentence pairs as ids, padded with 0 at the end to equal length.

    Attributes
    ----------
    source : ndarray of int, shape (n_pairs, n_source)
        The English words, then ``</s>``.
    target_input : ndarray of int, shape (n_pairs, n_target)
        What the decoder reads: ``<s>``, then the French words.
    target : ndarray of int, shape (n_pairs, n_target)
        What it is to write at the same position: the French words, then ``</s>``.
    """

    source: Ids
    target_input: Ids
    target: Ids


def random_pairs(rng: np.random.Generator, n: int, *, held_out: bool = False) -> list[SentencePair]:
    """Draw sentence pairs.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
    held_out : bool, default False
        False: no noun stands with an adjective it has in `HELD_OUT`, as in training. True: both
        noun phrases of every sentence contain such a pair.

    Returns
    -------
    pairs : list of SentencePair, length n

    Raises
    ------
    ValueError
        If `n` is not an integer >= 0.
    """
    return [_sentence(rng, held_out) for _ in range(count("n", n))]


def words_of(sentence: str) -> tuple[str, ...]:
    """The words of an English sentence, checked against the vocabulary.

    Parameters
    ----------
    sentence : str
        Words between spaces; capitals and a full stop at the end do not matter.

    Returns
    -------
    words : tuple of str

    Raises
    ------
    ValueError
        If there is no word, or one that is not in the vocabulary; the message lists near ones.

    Examples
    --------
    >>> words_of("The cat never saw these cars.")
    ('the', 'cat', 'never', 'saw', 'these', 'cars')
    """
    if not isinstance(sentence, str):
        raise ValueError(f"sentence must be a string, got {sentence!r}")
    words = tuple(sentence.lower().rstrip(" .").split())
    source_ids([words])
    return words


def source_ids(sentences: Sequence[Sequence[str]]) -> Ids:
    """English sentences as the encoder reads them: ids, ``</s>``, and 0 up to equal length.

    Parameters
    ----------
    sentences : sequence of sequences of str

    Returns
    -------
    ids : ndarray of int, shape (n_sentences, length of the longest + 1)

    Raises
    ------
    ValueError
        If a sentence is empty or has an unknown word.
    """
    return _padded([[*_ids(words, _SOURCE_ID, "English"), END_ID] for words in sentences])


def batch_of(pairs: Sequence[SentencePair]) -> Batch:
    """Sentence pairs as the padded ids that a model is trained and measured with.

    Parameters
    ----------
    pairs : sequence of SentencePair

    Returns
    -------
    Batch

    Raises
    ------
    ValueError
        As `source_ids`, for both languages.
    """
    french = [_ids(pair.target, _TARGET_ID, "French") for pair in pairs]
    return Batch(
        source_ids([pair.source for pair in pairs]),
        _padded([[START_ID, *ids] for ids in french]),
        _padded([[*ids, END_ID] for ids in french]),
    )


def target_tokens(ids: Iterable[int]) -> tuple[str, ...]:
    """The French tokens of one row of ids, ``</s>`` included, padding left out.

    Parameters
    ----------
    ids : iterable of int

    Returns
    -------
    tokens : tuple of str
    """
    return tuple(TARGET_VOCABULARY[i] for i in ids if i != PAD_ID)


def _ids(words: Sequence[str], known: dict[str, int], language: str) -> list[int]:
    if isinstance(words, str):
        raise ValueError(f"sentences must each be a list of words, got the string {words!r}")
    if not words:
        raise ValueError(f"sentence must have at least one {language} word, got none")
    for word in words:
        if word not in known:
            near = get_close_matches(str(word), known, n=3, cutoff=0.5)
            hint = f"near it: {', '.join(near)}" if near else f"it knows {', '.join(known)}"
            raise ValueError(f"sentence has {word!r}, not a word of the toy {language}; {hint}")
    return [known[word] for word in words]


def _padded(rows: Sequence[Sequence[int]]) -> Ids:
    ids = np.full((len(rows), max(map(len, rows), default=0)), PAD_ID, dtype=np.int64)
    for row, values in zip(ids, rows, strict=True):
        row[: len(values)] = values
    return ids


class _Phrase(NamedTuple):
    """English words, and French words each with the positions it translates."""

    english: tuple[str, ...]
    french: tuple[tuple[str, tuple[int, ...]], ...]


def _joined(*phrases: _Phrase) -> _Phrase:
    english: tuple[str, ...] = ()
    french: tuple[tuple[str, tuple[int, ...]], ...] = ()
    for phrase in phrases:
        n = len(english)
        french += tuple((word, tuple(n + i for i in places)) for word, places in phrase.french)
        english += phrase.english
    return _Phrase(english, french)


def _sentence(rng: np.random.Generator, held_out: bool) -> SentencePair:
    subject, plural = _noun_phrase(rng, held_out)
    verb = _verb(rng, plural)
    object_, _ = _noun_phrase(rng, held_out)
    english, french = _joined(subject, verb, object_)
    words, places = zip(*french, strict=True)
    return SentencePair(english, words, places)


def _verb(rng: np.random.Generator, plural: bool) -> _Phrase:
    verb = VERBS[rng.integers(len(VERBS))]
    french = verb.plural if plural else verb.singular
    if rng.random() < 0.3:
        return _Phrase(("never", verb.english), (("ne", (0,)), (french, (1,)), ("jamais", (0,))))
    return _Phrase((verb.english,), ((french, (0,)),))


def _noun_phrase(rng: np.random.Generator, held_out: bool) -> tuple[_Phrase, bool]:
    """Article, up to two adjectives, noun; one in five goes on with "of the NOUN"."""
    while True:
        noun, adjectives = NOUNS[rng.integers(len(NOUNS))], _adjectives(rng)
        if held_out == any((noun.english, a.english) in HELD_OUT for a in adjectives):
            break
    plural = bool(rng.random() < 0.5)
    form = 2 if plural else int(noun.feminine)  # the column of ARTICLES and OF_THE
    articles = [(english, forms[form]) for english, forms in ARTICLES.items() if forms[form]]
    english, article = articles[rng.integers(len(articles))]

    words = (english, *(a.english for a in adjectives), _number(noun.english, plural))
    before: list[tuple[str, tuple[int, ...]]] = []
    after: list[tuple[str, tuple[int, ...]]] = []
    for i, adjective in enumerate(adjectives, start=1):
        french = _number(adjective.feminine if noun.feminine else adjective.masculine, plural)
        (after if adjective.follows else before).append((french, (i,)))
    middle = (_number(noun.french, plural), (len(words) - 1,))
    phrase = _Phrase(words, ((str(article), (0,)), *before, middle, *after))
    return (_joined(phrase, _of_the_noun(rng)) if rng.random() < 0.2 else phrase), plural


def _adjectives(rng: np.random.Generator) -> list[Adjective]:
    """None, one, or one of each kind: English puts those that French puts first first, too."""
    before = [a for a in ADJECTIVES if not a.follows]
    after = [a for a in ADJECTIVES if a.follows]
    kind = rng.random()
    chosen = []
    if kind < 0.2 or kind >= 0.75:
        chosen.append(before[rng.integers(len(before))])
    if 0.2 <= kind < 0.45 or kind >= 0.75:
        chosen.append(after[rng.integers(len(after))])
    return chosen


def _of_the_noun(rng: np.random.Generator) -> _Phrase:
    noun, plural = NOUNS[rng.integers(len(NOUNS))], bool(rng.random() < 0.5)
    of_the = OF_THE[2 if plural else int(noun.feminine)]
    places = ((0, 1),) if len(of_the) == 1 else ((0,), (1,))
    french = (*zip(of_the, places, strict=True), (_number(noun.french, plural), (2,)))
    return _Phrase(("of", "the", _number(noun.english, plural)), french)


def _number(word: str, plural: bool) -> str:
    return word + "s" if plural else word
