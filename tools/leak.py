"""Train the translator with and without the causal mask, for three seeds; store the results."""

import json

from attention_utils.models.measure import LEAK, leak_experiment

SEEDS = (0, 1, 2)


def main():
    """Print each result as it comes, about a minute in all, and write them to one file."""
    results = []
    for causal in (False, True):
        for seed in SEEDS:
            result = leak_experiment(seed, causal=causal)
            print(result, flush=True)
            results.append(result._asdict())
    text = json.dumps(results, indent=1, ensure_ascii=False)
    LEAK.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
