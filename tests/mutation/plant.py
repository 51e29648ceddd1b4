"""Plant a mistake: wherever the package has the right function bound, bind the wrong one.

The wrong functions come from the one mistake machinery, `attention_utils.mistakes`, which itself
stays as it is. Nothing on disk is changed: what is planted dies with the process.
"""

import sys

import numpy as np

import attention_utils.exercises  # noqa: F401  (computes its right answers before planting)
from attention_utils import (
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    cross_attention,
    merge_heads,
    scaled_dot_product_attention,
    softmax,
    split_heads,
)
from attention_utils.mistakes import _merge, _split, attend, attend_in_heads


def replace(right, wrong):
    """Bind `wrong` in every module and class of the package that has `right`, under any name."""
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.split(".")[0] == "attention_utils" and name != "attention_utils.mistakes"
    ]
    classes = [c for module in modules for c in vars(module).values() if isinstance(c, type)]
    for owner in [*modules, *(c for c in classes if c.__module__.startswith("attention_utils."))]:
        for name, value in list(vars(owner).items()):
            if value is right:
                setattr(owner, name, wrong)


def mistaken_weights(query, key, **options):
    return attend(query, key, key, **options).weights


def mistaken_softmax(x, axis=-1, *, where=None, **switches):
    """Softmax as `attend` does it: `x` is a bias on dot products that are all zero."""
    x = np.asarray(x)
    rows = np.moveaxis(x, axis, -1)
    mask = None if where is None else np.moveaxis(np.broadcast_to(where, x.shape), axis, -1)
    if x.ndim == 1:
        rows, mask = rows[None], None if mask is None else mask[None]
        if switches.get("softmax_over") == "queries":
            del switches["softmax_over"]  # a single row has only one axis to sum over
    nothing = [np.zeros((n, 1)) for n in rows.shape[-2:]]
    weights = attend(*nothing, nothing[1], bias=rows, mask=mask, **switches).weights
    return np.moveaxis(weights[0] if x.ndim == 1 else weights, -1, axis)


def mistaken_causal_mask(n_q, n_k=None, **switches):
    """The pairs that `attend` shows with causal=True."""
    nothing = [np.zeros((n, 1)) for n in (n_q, n_q if n_k is None else n_k)]
    return attend(*nothing, nothing[1], causal=True, **switches).scores > -np.inf


def mistaken_cross_attention(mha, y, memory, *, memory_padding=None, **switches):
    return attend_in_heads(mha, y, memory, mask=memory_padding, **switches)


def mistaken_split(x, n_heads, *, split="features"):
    return _split(split, np.asarray(x), n_heads)


def mistaken_merge(x, *, merge="side by side"):
    return _merge(merge, np.asarray(x))


# The functions of the package that the machinery can stand in for
MISTAKEN = {
    scaled_dot_product_attention: attend,
    attention_weights: mistaken_weights,
    softmax: mistaken_softmax,
    causal_mask: mistaken_causal_mask,
    split_heads: mistaken_split,
    merge_heads: mistaken_merge,
    MultiHeadAttention.__call__: attend_in_heads,
    cross_attention: mistaken_cross_attention,
}
ATTENTION = (scaled_dot_product_attention, attention_weights)
LAYER = (MultiHeadAttention.__call__,)
# and those among them in which a switch can be in a wrong position.
PLACES = {
    "projections": LAYER,
    "sources": (cross_attention,),
    "split": (*LAYER, split_heads),
    "head_axis": LAYER,
    "scale_by": ATTENTION,
    "causal_edge": (causal_mask,),
    "padding_hides": ATTENTION,
    "polarity": (*ATTENTION, softmax),
    "masking": (*ATTENTION, softmax),
    "nothing_to_read": (*ATTENTION, softmax),
    "softmax_over": (*ATTENTION, softmax),
    "weights_used": ATTENTION,
    "merge": (*LAYER, merge_heads),
    "head_order": LAYER,
    "output_projection": LAYER,
}


def plant_switches(functions, **switches):
    """Let these functions be those of the machinery, with the switches given."""
    for right in functions:
        wrong = MISTAKEN[right]
        replace(right, lambda *a, wrong=wrong, **options: wrong(*a, **options, **switches))
