"""The exercises of chapter 11."""

from attention_utils.exercises.checking import Exercise, exercise

EXERCISES: dict[str, Exercise] = {
    "11.1": exercise(
        192,
        {
            "That is one head; the layer has 12.": 16,
            "Two bytes a number would be float16; float32 has four.": 96,
            "Each pair of positions has a weight: 2048 times 2048.": 12 * 2048 * 4 / 2**20,
            "That is 1024 positions; twice as many have four times the weights.": 48,
        },
    ),
    "11.2": exercise(
        [7 / 4, 6, 24 / 7],
        {
            "You did not rescale: both old sums belong to the old largest score.": [
                5 / 2,
                9,
                18 / 5,
            ],
            "You rescaled the sum and not the weighted sum.": [7 / 4, 9, 36 / 7],
            "You rescaled the weighted sum and not the sum.": [5 / 2, 6, 12 / 5],
            "The output is right, but the sums are still relative to 0, not to the new largest.": [
                7 / 2,
                12,
                24 / 7,
            ],
        },
    ),
    "11.3": exercise(
        [5, 17],
        {
            "Width 3 means two neighbours on each side, and the query itself.": [3, 13],
            "Windows of two layers overlap: each adds 2 places on each side.": [5, 20],
            "That is how far it reaches to one side; there are two, and the query itself.": [5, 8],
            "The query itself counts too.": [4, 16],
        },
    ),
    "11.4": exercise(
        96,
        {
            "Only the heads of keys and values are kept, not the 16 that ask.": 384,
            "Keys and values: two arrays.": 48,
            "In float16 a number has 2 bytes.": 192,
            "That is one layer of 24.": 4,
        },
    ),
    "11.5": exercise(
        [5050, 1055],
        {
            "You counted hidden pairs in the prefill too.": [10000, 1055],
            "A new word also reads itself and the new words before it.": [5050, 1000],
            "A new word also reads the prompt.": [5050, 55],
            "A new word also reads itself.": [5050, 1045],
        },
    ),
}
