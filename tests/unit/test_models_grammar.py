"""The toy language: its rules by hand, its alignments, its ids."""

import numpy as np
import pytest

from attention_utils.models.grammar import (
    ADJECTIVES,
    ARTICLES,
    HELD_OUT,
    NOUNS,
    SOURCE_VOCABULARY,
    TARGET_VOCABULARY,
    VERBS,
    SentencePair,
    batch_of,
    random_pairs,
    source_ids,
    target_tokens,
    words_of,
)
from attention_utils.models.translator import MAX_TOKENS
from tests.helpers import refuses

NOUN_OF = {noun.english + s: noun for noun in NOUNS for s in ("", "s")}


def some(n=2000, *, seed=0, held_out=False):
    return random_pairs(np.random.default_rng(seed), n, held_out=held_out)


def noun_phrases(source):
    """Cut at each noun: article and adjectives, or "of the", or [never] verb, stay before it."""
    phrase = []
    for word in source:
        phrase.append(word)
        if word in NOUN_OF:
            yield phrase
            phrase = []


def by_rule(source):
    """The translation, phrase by phrase."""
    out, verb_form = [], None
    for *before, last in noun_phrases(source):
        noun = NOUN_OF[last]
        plural = last != noun.english
        s, form = "s" * plural, 2 if plural else int(noun.feminine)
        verb_form = verb_form or ("plural" if plural else "singular")
        verbs = [getattr(v, verb_form) for v in VERBS if v.english in before]
        out += ["ne", *verbs, "jamais"] if "never" in before else verbs
        if before[0] == "of":
            out += [*("du", "de la", "des")[form].split(), noun.french + s]
            continue
        out += [ARTICLES[word][form] for word in before if word in ARTICLES]
        adjectives = [a for word in before for a in ADJECTIVES if a.english == word]
        spelled = {a: (a.feminine if noun.feminine else a.masculine) + s for a in adjectives}
        out += [spelled[a] for a in adjectives if not a.follows]
        out += [noun.french + s, *(spelled[a] for a in adjectives if a.follows)]
    return tuple(out)


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("the cat saw the dog", "le chat voyait le chien"),
        ("the red cars saw my girl", "les voitures rouges voyaient ma fille"),
        ("my dog never saw this door", "mon chien ne voyait jamais cette porte"),
        (
            "this small red apple of the boys wanted these big blue tables of the street",
            "cette petite pomme rouge des garçons voulait ces grandes tables bleues de la rue",
        ),
        (
            "my pretty gardens never followed the heavy train of the teacher",
            "mes jolis jardins ne suivaient jamais le train lourd du professeur",
        ),
    ],
)
def test_the_rules_of_this_test_by_hand(english, french):
    assert by_rule(english.split()) == tuple(french.split())


@pytest.mark.parametrize("held_out", [False, True])
def test_every_translation_follows_the_rules(held_out):
    for pair in some(held_out=held_out):
        assert pair.target == by_rule(pair.source), " ".join(pair.source)


def test_alignment_by_hand():
    source = "these cars of the dog never carried my pretty black girls"
    target = "ces voitures du chien ne portaient jamais mes jolies filles noires"
    places = ((0,), (1,), (2, 3), (4,), (5,), (6,), (5,), (7,), (8,), (10,), (9,))
    assert (tuple(source.split()), tuple(target.split()), places) in some()


def test_each_word_is_aligned_with_what_it_translates():
    meaning = {"ne": "never", "jamais": "never", "du": "of the", "des": "of the", "de": "of"}
    for noun in NOUNS:
        meaning |= {noun.french + s: noun.english + s for s in ("", "s")}
    for a in ADJECTIVES:
        forms = (a.masculine, a.feminine)
        meaning |= {form + s: a.english for form in forms for s in ("", "s")}
    meaning |= {form: v.english for v in VERBS for form in (v.singular, v.plural)}
    meaning |= {form: english for english, forms in ARTICLES.items() for form in forms if form}
    for pair in some():
        assert len(pair.alignment) == len(pair.target)
        for word, places in zip(pair.target, pair.alignment, strict=True):
            assert " ".join(pair.source[i] for i in places) == meaning[word], pair
        assert {i for places in pair.alignment for i in places} == set(range(len(pair.source)))


def held_out_pairs(pair):
    adjectives = {a.english for a in ADJECTIVES}
    for *before, noun in noun_phrases(pair.source):
        found = [(NOUN_OF[noun].english, word) for word in before if word in adjectives]
        yield before[0] == "of", bool(HELD_OUT.intersection(found))


def test_held_out_pairs_are_where_they_should_be():
    assert not any(held for pair in some() for _, held in held_out_pairs(pair))
    for pair in some(held_out=True):
        assert [held for of, held in held_out_pairs(pair) if not of] == [True, True], pair


def test_each_noun_and_each_adjective_has_its_share_of_held_out_pairs():
    nouns, adjectives = zip(*HELD_OUT, strict=True)
    assert sorted(nouns) == sorted(noun.english for noun in NOUNS)
    assert sorted(adjectives) == sorted(2 * [a.english for a in ADJECTIVES])


def test_all_words_occur_in_training():
    pairs = some(5000)
    assert {w for pair in pairs for w in pair.source} == set(SOURCE_VOCABULARY[2:])
    assert {w for pair in pairs for w in pair.target} == set(TARGET_VOCABULARY[3:])


def test_the_longest_translation_can_be_written():
    lengths = [len(pair.target) for pair in some(20_000)]
    assert 15 <= max(lengths) <= 17 < MAX_TOKENS


def test_the_same_generator_gives_the_same_sentences():
    assert some(20) == some(20) != some(20, seed=1)


# Ids


def test_batch_by_hand():
    cat, saw, the, girls = (SOURCE_VOCABULARY.index(w) for w in ("cat", "saw", "the", "girls"))
    pairs = [
        SentencePair(("the", "cat"), ("le", "chat"), ((0,), (1,))),
        SentencePair(("girls", "saw", "the"), ("fille",), ((0,),)),
    ]
    le, chat, fille = (TARGET_VOCABULARY.index(w) for w in ("le", "chat", "fille"))
    batch = batch_of(pairs)
    assert batch.source.tolist() == [[the, cat, 1, 0], [girls, saw, the, 1]]
    assert batch.target_input.tolist() == [[2, le, chat], [2, fille, 0]]
    assert batch.target.tolist() == [[le, chat, 1], [fille, 1, 0]]
    assert target_tokens(batch.target[1]) == ("fille", "</s>")


def test_no_pairs_give_an_empty_batch():
    assert [array.shape for array in batch_of([])] == [(0, 0)] * 3


def test_words_of_a_sentence():
    assert words_of("  The cat   SAW these cars. ") == ("the", "cat", "saw", "these", "cars")


def test_an_unknown_word_is_named_with_near_ones():
    with refuses("sentence", "'kat'", "English", "cat"):
        words_of("the kat saw the dog")
    with refuses("'xyzzy'", "it knows", "apple", "wanted"):
        words_of("the xyzzy saw the dog")
    with refuses("'<pad>'"):
        words_of("the cat <pad>")
    with refuses("'voitur'", "French", "voiture"):
        batch_of([SentencePair(("cat",), ("voitur",), ((0,),))])


@pytest.mark.parametrize("nothing", ["", "  ", "."])
def test_a_sentence_needs_a_word(nothing):
    with refuses("sentence", "at least one"):
        words_of(nothing)


def test_a_sentence_is_a_string():
    with refuses("sentence", "string", "cat"):
        words_of(["the", "cat"])


def test_source_ids_refuse_one_sentence_in_place_of_many():
    with refuses("sentences", "list of words"):
        source_ids("the cat")


@pytest.mark.parametrize("n", [-1, 2.0, True, "3"])
def test_the_number_of_pairs_is_an_integer(n):
    with refuses("n", "integer"):
        random_pairs(np.random.default_rng(0), n)
