"""Attention one number at a time: the second opinion the tests compare with.

Arrays only hold numbers here. Every sum is a loop over Python floats, so that each line can be
checked against the definition by eye. A hidden pair is skipped before its numbers are read.
"""

import math
from itertools import product
from math import exp, fsum, inf, isnan, nan, sqrt

import numpy as np


def pick(array, index):
    """The number at `index` after broadcasting: axes match from the right, length 1 repeats."""
    own = index[len(index) - array.ndim :]
    return array[tuple(0 if n == 1 else i for n, i in zip(array.shape, own, strict=True))]


def softmax(row):
    """Weights of one list of scores; -inf is hidden, and nothing visible gives zeros."""
    if any(isnan(x) or x == inf for x in row):
        return [nan] * len(row)
    largest = max(row, default=-inf)
    if largest == -inf:
        return [0.0] * len(row)
    terms = [exp(x - largest) for x in row]
    total = fsum(terms)
    return [term / total for term in terms]


def visible(i, j, batch, n_q, n_k, bias=None, mask=None, causal=False):
    """May query i read key j?"""
    return (
        (mask is None or bool(pick(mask, (*batch, i, j))))
        and (bias is None or pick(bias, (*batch, i, j)) != -inf)
        and (not causal or j <= i + (n_k - n_q))
    )


def attention(query, key, value, *, bias=None, mask=None, causal=False, scale=None):
    """(output, weights, scores) in float64, by the definition."""
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    bias = None if bias is None else np.asarray(bias)
    mask = None if mask is None else np.asarray(mask)
    (n_q, d_k), (n_k, d_v) = query.shape[-2:], value.shape[-2:]
    scale = 1 / sqrt(d_k) if scale is None else float(scale)

    pairs = [a for a in (query, key, bias, mask) if a is not None]
    pair_batch = np.broadcast_shapes(*(a.shape[:-2] for a in pairs))
    scores = np.zeros((*pair_batch, n_q, n_k))
    weights = np.zeros((*pair_batch, n_q, n_k))
    for batch in product(*map(range, pair_batch)):
        for i in range(n_q):
            row = []
            for j in range(n_k):
                if not visible(i, j, batch, n_q, n_k, bias, mask, causal):
                    row.append(-inf)
                    continue
                q = [float(pick(query, (*batch, i, f))) for f in range(d_k)]
                k = [float(pick(key, (*batch, j, f))) for f in range(d_k)]
                dot = fsum(q[f] * k[f] for f in range(d_k))
                row.append(
                    dot * scale + (0.0 if bias is None else float(pick(bias, (*batch, i, j))))
                )
            for j, (score, weight) in enumerate(zip(row, softmax(row), strict=True)):
                scores[(*batch, i, j)] = score
                weights[(*batch, i, j)] = weight

    output_batch = np.broadcast_shapes(pair_batch, value.shape[:-2])
    output = np.zeros((*output_batch, n_q, d_v))
    for batch in product(*map(range, output_batch)):
        for i in range(n_q):
            seen = [j for j in range(n_k) if pick(scores, (*batch, i, j)) != -inf]
            for f in range(d_v):
                output[(*batch, i, f)] = fsum(
                    float(pick(weights, (*batch, i, j))) * float(pick(value, (*batch, j, f)))
                    for j in seen
                )
    return output, weights, scores


def project(x, w, b=None):
    """x @ w + b for x of any batch axes."""
    x, w = np.asarray(x), np.asarray(w)
    result = np.zeros((*x.shape[:-1], w.shape[1]))
    for place in product(*map(range, x.shape[:-1])):
        for column in range(w.shape[1]):
            total = fsum(float(x[(*place, f)]) * float(w[f, column]) for f in range(w.shape[0]))
            result[(*place, column)] = total + (0.0 if b is None else float(b[column]))
    return result


def multi_head(
    x, memory, w_q, w_k, w_v, w_o, n_heads, *, b_q=None, b_k=None, b_v=None, b_o=None, **options
):
    """(output, weights, head_outputs): each head by itself, then side by side, then through w_o."""
    q, k, v = project(x, w_q, b_q), project(memory, w_k, b_k), project(memory, w_v, b_v)
    d_k, d_v = q.shape[-1] // n_heads, v.shape[-1] // n_heads
    heads = []
    for h in range(n_heads):
        columns, v_columns = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
        heads.append(attention(q[..., columns], k[..., columns], v[..., v_columns], **options))
    output = project(np.concatenate([head[0] for head in heads], axis=-1), w_o, b_o)
    weights = np.stack([head[1] for head in heads], axis=-3)
    return output, weights, np.stack([head[0] for head in heads], axis=-3)


def layer_norm(row, eps=1e-5):
    """One list of numbers moved to mean 0 and divided by its standard deviation."""
    mean = fsum(row) / len(row)
    variance = fsum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / sqrt(variance + eps) for x in row]


def sinusoid(position, column, d_model):
    """Vaswani et al. 2017, section 3.5: sine in even columns, cosine in odd ones."""
    angle = position / 10000 ** (2 * (column // 2) / d_model)
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)
