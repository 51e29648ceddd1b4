"""Attention in NumPy, one idea a module: the package behind the course notes.

Everything listed here is the public contract; each function says which chapter derives it.
"""

from attention_utils.attention import (
    AttentionResult,
    attention_weights,
    scaled_dot_product_attention,
)
from attention_utils.backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attention_utils.block import layer_norm, sinusoidal_positions
from attention_utils.blockwise import blockwise_attention
from attention_utils.maps import AttentionMap
from attention_utils.masks import additive_mask, causal_mask, combine_masks, padding_mask
from attention_utils.mistakes import diagnose
from attention_utils.multihead import (
    MultiHeadAttention,
    MultiHeadResult,
    merge_heads,
    split_heads,
)
from attention_utils.sites import cross_attention, decoder_self_attention, encoder_self_attention
from attention_utils.softmax import entropy, log_softmax, softmax, softmax_jacobian

__all__ = [
    "AttentionGradients",
    "AttentionMap",
    "AttentionResult",
    "MultiHeadAttention",
    "MultiHeadResult",
    "additive_mask",
    "attention_weights",
    "blockwise_attention",
    "causal_mask",
    "combine_masks",
    "cross_attention",
    "decoder_self_attention",
    "diagnose",
    "encoder_self_attention",
    "entropy",
    "layer_norm",
    "log_softmax",
    "merge_heads",
    "padding_mask",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_backward",
    "sinusoidal_positions",
    "softmax",
    "softmax_jacobian",
    "split_heads",
]
