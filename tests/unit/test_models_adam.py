"""Adam, by hand."""

import numpy as np

from attention_utils.models.adam import Adam
from tests.helpers import assert_close


def test_the_first_step_moves_every_entry_by_the_rate():
    parameters = {"w": np.zeros((2, 2))}
    Adam(parameters).step({"w": np.array([[3.0, -0.001], [1e3, -2.0]])}, rate=0.01)
    assert_close(parameters["w"], [[-0.01, 0.01], [-0.01, 0.01]], atol=1e-6)


def test_two_steps_by_hand():
    parameters = {"a": np.array([1.0, 1.0, 1.0])}
    adam = Adam(parameters)
    adam.step({"a": np.array([4.0, -0.01, 0.0])}, 0.1)
    assert_close(parameters["a"], [0.9, 1.1, 1.0], atol=1e-7)
    adam.step({"a": np.array([-4.0, -0.01, 0.0])}, 0.1)
    # the averages are (0.9 * 0.4 - 0.4) / (1 - 0.81) and 16
    assert_close(parameters["a"], [0.9 + 0.1 * (0.04 / 0.19) / 4, 1.2, 1.0], atol=1e-7)


def test_a_parameter_without_a_gradient_stays():
    parameters = {"w": np.ones(2), "b": np.ones(1)}
    Adam(parameters).step({"w": np.ones(2)}, rate=0.1)
    assert_close(parameters["b"], [1.0])
