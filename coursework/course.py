"""A course variant: every choice and every number of an assignment follows from one key."""

import hashlib

import numpy as np


class Course:
    """Where an assignment takes its numbers and twists from.

    Parameters
    ----------
    assignment : str
        Name of the assignment, so that two assignments of a course do not share numbers.
    key : str, optional
        The course's secret. Without one this is the open variant: the first choice everywhere.
    """

    def __init__(self, assignment, key=None):
        self.assignment, self.key = assignment, key

    def rng(self, purpose):
        """Generator for one purpose; other purposes do not disturb it."""
        text = f"{self.assignment}/{self.key or ''}/{purpose}"
        return np.random.default_rng(list(hashlib.sha256(text.encode()).digest()))

    def numbers(self, purpose, *shape):
        """Normal numbers with two decimals: short enough to read in feedback."""
        return np.round(self.rng(purpose).normal(size=shape), 2)

    def whole(self, purpose, *shape, low=-2, high=3):
        """Small whole numbers from low to high - 1."""
        return self.rng(purpose).integers(low, high, size=shape)

    def choose(self, purpose, options):
        """One of the options: the first for the open variant, never the first for a course."""
        options = list(options)
        if self.key is None or len(options) == 1:
            return options[0]
        return options[1 + self.rng(purpose).integers(len(options) - 1)]

    def size(self, purpose, low, high):
        """A size from low to high; the open variant takes the lowest."""
        return low if self.key is None else int(self.rng(purpose).integers(low, high + 1))
