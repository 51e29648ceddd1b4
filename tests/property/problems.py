"""Random inputs for the property tests: small shapes, entries that are exact in every dtype."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_utils.examples import Example
from tests import reference

# Quarters between -4 and 4: their dot products are exact even in float32
QUARTERS = st.integers(-16, 16).map(lambda n: n / 4)


def arrays(*shape):
    return hnp.arrays(float, shape, elements=QUARTERS)


@dataclass
class Problem:
    """One call of attention."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    options: dict = field(default_factory=dict)
    seed: int = 0

    def run(self, attention, **changes):
        """Call `attention`; `changes` replace inputs or options."""
        named = {"query": self.query, "key": self.key, "value": self.value}
        named |= self.options | changes
        return attention(named.pop("query"), named.pop("key"), named.pop("value"), **named)

    @property
    def n_q(self):
        return self.query.shape[-2]

    @property
    def n_k(self):
        return self.key.shape[-2]

    @property
    def rng(self):
        """For what a property chooses by itself: an order, a shift."""
        return np.random.default_rng(self.seed)

    @property
    def shown(self):
        """Which query may read which key, by the reference."""
        options = {name: o for name, o in self.options.items() if name != "scale"}
        batch = np.broadcast_shapes(
            *(np.shape(a)[:-2] for a in (self.query, self.key, *options.values()))
        )
        shown = np.ones((*batch, self.n_q, self.n_k), bool)
        for *place, i, j in np.ndindex(shown.shape):
            shown[(*place, i, j)] = reference.visible(i, j, place, self.n_q, self.n_k, **options)
        return shown


SIZES = st.integers(1, 5)
SCALES = st.sampled_from([None, 0.25, 1, 2, -0.5])


@st.composite
def problems(draw, *, batch=False, square=False, options=("bias", "mask", "causal", "scale")):
    """A call with any of the `options`; with `batch`, batch axes that broadcast."""
    n_q, n_k, d_k, d_v = (draw(SIZES) for _ in range(4))
    n_k = n_q if square else n_k
    axes = [()] * 5
    if batch:
        shapes = hnp.mutually_broadcastable_shapes(num_shapes=5, max_dims=2, max_side=3)
        axes = draw(shapes).input_shapes
    given = {}
    if "bias" in options and draw(st.booleans()):
        given["bias"] = draw(arrays(*axes[3], n_q, n_k))
    if "mask" in options and draw(st.booleans()):
        given["mask"] = draw(hnp.arrays(bool, (*axes[4], n_q, n_k)))
    if "causal" in options:
        given["causal"] = draw(st.booleans())
    if "scale" in options:
        given["scale"] = draw(SCALES)
    return Problem(
        draw(arrays(*axes[0], n_q, d_k)),
        draw(arrays(*axes[1], n_k, d_k)),
        draw(arrays(*axes[2], n_k, d_v)),
        given,
        draw(st.integers(0, 99)),
    )


@st.composite
def long_problems(draw):
    """A call of up to 20 positions with a block size; hidden places may hold NaN, scores be huge.

    The block size is one of the options. Numbers come from a seed: there are too many to draw.
    """
    n_q, n_k = draw(st.integers(0, 20)), draw(st.integers(0, 20))
    d_k, d_v = draw(SIZES), draw(SIZES)
    rng = np.random.default_rng(draw(st.integers(0, 999)))

    def quarters(*shape):
        return rng.integers(-16, 17, shape) / 4

    factor = 2.0 ** draw(st.sampled_from([-40, -4, 0, 4, 16, 40]))
    problem = Problem(factor * quarters(n_q, d_k), quarters(n_k, d_k), quarters(n_k, d_v))
    problem.options |= {"causal": draw(st.booleans()), "scale": draw(SCALES)}
    if draw(st.booleans()):
        problem.options["bias"] = quarters(n_q, draw(st.sampled_from([1, n_k])))
    if draw(st.booleans()):
        share = draw(st.sampled_from([0.1, 0.5, 0.9]))
        problem.options["mask"] = rng.random((n_q, n_k)) < share
    if draw(st.booleans()):
        spoiled = ~problem.shown.all(axis=0) & (rng.random(n_k) < 0.5)
        problem.key[spoiled] = problem.value[spoiled] = np.nan
    problem.options["block_size"] = draw(st.integers(1, 22))
    return problem


@st.composite
def layers(draw):
    """A multi-head layer with its input, as a worked example: two sequences, padded."""
    n_q, n_k, d_k, d_v, d_model, d_memory, n_heads = (draw(st.integers(1, 3)) for _ in range(7))
    return Example(
        name="drawn",
        x=draw(arrays(2, n_q, d_model)),
        memory=draw(arrays(2, n_k, d_memory)),
        w_q=draw(arrays(d_model, n_heads * d_k)),
        w_k=draw(arrays(d_memory, n_heads * d_k)),
        w_v=draw(arrays(d_memory, n_heads * d_v)),
        w_o=draw(arrays(n_heads * d_v, d_model)),
        n_heads=n_heads,
        lengths=draw(st.tuples(*[st.integers(0, n_k)] * 2)),
    )
