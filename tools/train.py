"""Train the translator that comes with the package, and measure it: `make train`."""

import hashlib
import time

import numpy as np

from attention_utils.models.grammar import random_pairs
from attention_utils.models.measure import teacher_forced
from attention_utils.models.training import train
from attention_utils.models.translator import SHA256, WEIGHTS, Translator

SEED = 1
TEST_SEED = 2026  # of sentences drawn for measuring only


def main():
    """Write the weights, read them again, and say what they can do."""
    print("training, about half a minute", flush=True)
    start = time.process_time()
    run = train(SEED)
    print(f"{len(run.losses)} steps in {time.process_time() - start:.0f} CPU seconds")
    print(f"loss: {run.losses[0]:.3f} at first, {run.losses[-50:].mean():.5f} in the last 50 steps")
    run.translator.save(WEIGHTS)

    stored = Translator.load(WEIGHTS)
    for held_out in (False, True):
        pairs = random_pairs(np.random.default_rng(TEST_SEED), 1000, held_out=held_out)
        kind = "a held-out pair in each noun phrase" if held_out else "pairs as in training"
        print(f"1000 sentences, {kind}")
        for name, translator in (("float32", run.translator), ("float16", stored)):
            loss, accuracy = teacher_forced(translator, pairs)
            print(
                f"  {name}: loss {loss:.5f}, next token {accuracy:.4f}, "
                f"greedy exact match {translator.exact_match(pairs):.4f}"
            )

    content = WEIGHTS.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    print(f"{WEIGHTS.name}: {len(content) / 1000:.0f} kB, SHA-256 {digest}")
    if digest != SHA256:
        print("This is a new file: put its SHA-256 into attention_utils/models/translator.py.")


if __name__ == "__main__":
    main()
