"""What the translator does, in numbers: loss, alignment, heads it needs, a mask left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attention_utils._arrays import Array
from attention_utils.models.grammar import (
    ARTICLES,
    NOUNS,
    PAD_ID,
    SentencePair,
    batch_of,
    random_pairs,
)
from attention_utils.models.training import train
from attention_utils.models.translator import N_HEADS, SITES, Translator
from attention_utils.softmax import log_softmax

LEAK = Path(__file__).with_name("leak.json")
LEAK_STEPS = 500
LEAK_EXAMPLE = "my cat never saw these red cars"


class TeacherForced(NamedTuple):
    """What `teacher_forced` returns.

    Attributes
    ----------
    loss : float
        Mean of -log(probability of the right token), in nats.
    accuracy : float
        Share of the tokens, ``</s>`` included, for which the right one is the most probable.
    """

    loss: float
    accuracy: float


class Alignment(NamedTuple):
    """What `alignment` returns: shares of the French words.

    Attributes
    ----------
    heads : ndarray, shape (n_heads,)
        How often the largest weight of each head lies on a word that is translated.
    average : float
        The same for the average of the maps of all heads.
    chance : float
        The same for a position drawn at random, ``</s>`` included.
    """

    heads: Array
    average: float
    chance: float


class LeakResult(NamedTuple):
    """What `leak_experiment` returns.

    Attributes
    ----------
    seed : int
    causal : bool
        Was the causal mask there, in training and after it?
    loss, accuracy : float
        As in `TeacherForced`.
    exact_match : float
        Share of the sentences that are translated without a mistake.
    example : str
        What became of `LEAK_EXAMPLE`.
    """

    seed: int
    causal: bool
    loss: float
    accuracy: float
    exact_match: float
    example: str


def teacher_forced(translator: Translator, pairs: Sequence[SentencePair]) -> TeacherForced:
    """How well each next token is predicted when all tokens before it are the right ones.

    Parameters
    ----------
    translator : Translator
    pairs : sequence of SentencePair

    Returns
    -------
    TeacherForced
    """
    batch = batch_of(pairs)
    log_probability = log_softmax(translator(batch.source, batch.target_input).logits)
    right = np.take_along_axis(log_probability, batch.target[..., None], axis=-1)[..., 0]
    real = batch.target != PAD_ID
    hits = log_probability.argmax(axis=-1) == batch.target
    return TeacherForced(-float(right[real].mean()), float(hits[real].mean()))


def alignment(translator: Translator, pairs: Sequence[SentencePair]) -> Alignment:
    """Does cross-attention look at the word that is being translated?

    Parameters
    ----------
    translator : Translator
    pairs : sequence of SentencePair
        Their alignments are the gold that the maps are compared with.

    Returns
    -------
    Alignment
    """
    batch = batch_of(pairs)
    cross = translator(batch.source, batch.target_input).cross
    maps = np.concatenate([cross, cross.mean(axis=1, keepdims=True)], axis=1)
    looked_at = maps.argmax(axis=-1)
    hits = [
        np.isin(looked_at[b, :, row], places)
        for b, pair in enumerate(pairs)
        for row, places in enumerate(pair.alignment)
    ]
    chance = [len(p) / (len(pair.source) + 1) for pair in pairs for p in pair.alignment]
    *heads, average = np.mean(hits, axis=0)
    return Alignment(np.array(heads), float(average), float(np.mean(chance)))


def agreement(translator: Translator, pairs: Sequence[SentencePair]) -> Array:
    """Weight on the noun, by each head of cross-attention, while its article is being written.

    Parameters
    ----------
    translator : Translator
    pairs : sequence of SentencePair

    Returns
    -------
    weights : ndarray, shape (n_heads,)
        Averages over the articles that open a noun phrase.

    Notes
    -----
    The article alone does not say whether *the* becomes *le*, *la* or *les*: the noun does.
    """
    batch = batch_of(pairs)
    cross = translator(batch.source, batch.target_input).cross
    nouns = {noun.english + ending for noun in NOUNS for ending in ("", "s")}
    weights = []
    for b, pair in enumerate(pairs):
        noun_places = [i for i, word in enumerate(pair.source) if word in nouns]
        for row, places in enumerate(pair.alignment):
            if len(places) == 1 and pair.source[places[0]] in ARTICLES:
                noun = next(i for i in noun_places if i > places[0])
                weights.append(cross[b, :, row, noun])
    return np.mean(weights, axis=0)


def ablation(translator: Translator, pairs: Sequence[SentencePair]) -> dict[str, list[float]]:
    """Exact match after removing each head in turn.

    Parameters
    ----------
    translator : Translator
    pairs : sequence of SentencePair

    Returns
    -------
    shares : dict of str to list of float
        For each site, one share a head.
    """
    return {
        site: [translator.without_head(site, h).exact_match(pairs) for h in range(N_HEADS)]
        for site in SITES
    }


def leak_experiment(seed: int, *, causal: bool) -> LeakResult:
    """Train with or without the causal mask, then measure on 1000 fresh sentences.

    Parameters
    ----------
    seed : int
        Of the training.
    causal : bool
        False: at each position the decoder also sees the word that it is to write there.

    Returns
    -------
    LeakResult

    Notes
    -----
    Some ten seconds. Teacher forcing does not notice the leak: the word to copy is there. When the
    model writes by itself, there is nothing yet to copy. Chapter 9.
    """
    translator = train(seed, LEAK_STEPS, causal=causal).translator
    pairs = random_pairs(np.random.default_rng([seed, 1]), 1000)
    return LeakResult(
        seed,
        causal,
        *teacher_forced(translator, pairs),
        translator.exact_match(pairs),
        translator.translate(LEAK_EXAMPLE).text,
    )


def stored_leak_results() -> list[LeakResult]:
    """Results of `leak_experiment` for three seeds, with and without the mask.

    Returns
    -------
    results : list of LeakResult

    Notes
    -----
    ``tools/leak.py`` wrote them, since six trainings take a minute; a test repeats one.
    """
    return [LeakResult(**result) for result in json.loads(LEAK.read_text(encoding="utf-8"))]
