"""Adam: gradient steps in which every parameter has a step size of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attention_utils._arrays import Array

Parameters = Mapping[str, Array]


class Adam:
    """Steps against the gradient, divided by how large the gradient usually is.

    Parameters
    ----------
    parameters : mapping of str to ndarray
        Changed in place by `step`.
    beta_2 : float, default 0.999
        How long the size of past gradients is remembered: about 1 / (1 - beta_2) steps.

    Notes
    -----
    Kingma and Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.
    """

    def __init__(self, parameters: Parameters, *, beta_2: float = 0.999) -> None:
        self._parameters = parameters
        self._beta_2 = beta_2
        self._mean = {name: np.zeros_like(array) for name, array in parameters.items()}
        self._square = {name: np.zeros_like(array) for name, array in parameters.items()}
        self._n = 0

    def step(self, gradients: Parameters, rate: float) -> None:
        """Move the parameters, each by about `rate`.

        Parameters
        ----------
        gradients : mapping of str to ndarray
        rate : float
        """
        beta_1, beta_2, eps = 0.9, self._beta_2, 1e-9
        self._n += 1
        # The averages start at 0 and are too small by these factors.
        short_1, short_2 = 1 - beta_1**self._n, 1 - beta_2**self._n
        for name, gradient in gradients.items():
            mean, square = self._mean[name], self._square[name]
            mean += (1 - beta_1) * (gradient - mean)
            square += (1 - beta_2) * (gradient**2 - square)
            update = (mean / short_1) / (np.sqrt(square / short_2) + eps)
            self._parameters[name][...] -= rate * update
