"""Several heads side by side: project, split, attend, merge, project."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import (
    Array,
    BoolArray,
    batch_of_pairs,
    bool_array,
    check_matrix,
    check_rows,
    common_shape,
    count,
    dtypes,
    float_arrays,
    matmul_where,
    quiet_rounding,
    real_array,
)
from attention_utils.attention import scaled_dot_product_attention


class MultiHeadResult(NamedTuple):
    """What calling a `MultiHeadAttention` returns.

    Attributes
    ----------
    output : ndarray, shape (..., n_q, d_model)
    weights : ndarray, shape (..., n_heads, n_q, n_k)
        One map a head; row i of each belongs to query i.
    head_outputs : ndarray, shape (..., n_heads, n_q, d_v)
        What each head read, before `w_o` mixes the heads.
    """

    output: Array
    weights: Array
    head_outputs: Array


def split_heads(x: ArrayLike, n_heads: int) -> Array:
    """Cut the features of each position into heads: (..., n, h*d) -> (..., h, n, d).

    Parameters
    ----------
    x : array_like, shape (..., n, n_heads * d)
    n_heads : int

    Returns
    -------
    heads : ndarray, shape (..., n_heads, n, d)
        ``heads[..., a, i, :] = x[..., i, a*d : (a+1)*d]``

    Raises
    ------
    ValueError
        If the last axis of `x` cannot be cut into `n_heads` equal parts.

    Notes
    -----
    A reshape cuts the features, then the head axis moves in front of the positions. A single
    reshape to (h, n, d) would mix positions into heads. Inverse: `merge_heads`. Chapter 6.

    Examples
    --------
    >>> split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2)
    array([[[1., 2.],
            [5., 6.]],
    <BLANKLINE>
           [[3., 4.],
            [7., 8.]]])
    """
    (array,), dtype = float_arrays(x=x)
    n_heads = count("n_heads", n_heads, least=1)
    check_matrix("x", array)
    *batch, n, width = array.shape
    if width % n_heads:
        raise ValueError(f"x has {width} features, which {n_heads} heads (n_heads) cannot share")
    cut = array.reshape(*batch, n, n_heads, width // n_heads)
    return np.swapaxes(cut, -3, -2).astype(dtype)


def merge_heads(x: ArrayLike) -> Array:
    """Put the heads of each position side by side: (..., h, n, d) -> (..., n, h*d).

    Parameters
    ----------
    x : array_like, shape (..., h, n, d)

    Returns
    -------
    merged : ndarray, shape (..., n, h * d)
        ``merged[..., i, :]`` is head 0 of position i, then head 1, and so on.

    Raises
    ------
    ValueError
        If `x` has fewer than 3 axes.

    Notes
    -----
    The concatenation of "Attention is all you need", section 3.2.2. Inverse: `split_heads`.

    Examples
    --------
    >>> merge_heads([[[1, 2], [5, 6]], [[3, 4], [7, 8]]])
    array([[1., 2., 3., 4.],
           [5., 6., 7., 8.]])
    """
    (array,), dtype = float_arrays(x=x)
    if array.ndim < 3:
        raise ValueError(
            f"x must have at least 3 axes (heads, positions, features), got shape {array.shape}"
        )
    *batch, h, n, d = array.shape
    return np.swapaxes(array, -3, -2).reshape(*batch, n, h * d).astype(dtype)


class MultiHeadAttention:
    """Multi-head attention with given weights: ``concat(head_1, ..., head_h) @ w_o + b_o``.

    Parameters
    ----------
    w_q : array_like, shape (d_model, n_heads * d_k)
        Columns ``a*d_k : (a+1)*d_k`` are the projection of head a.
    w_k : array_like, shape (d_memory, n_heads * d_k)
    w_v : array_like, shape (d_memory, n_heads * d_v)
        `d_memory` is `d_model` unless keys and values come from a memory of another width.
    w_o : array_like, shape (n_heads * d_v, d_model)
        Rows ``a*d_v : (a+1)*d_v`` say what head a writes into the output.
    n_heads : int
    b_q, b_k, b_v, b_o : array_like, optional
        Biases, each as long as its matrix has columns.

    Attributes
    ----------
    d_model, d_memory, n_heads, d_k, d_v : int

    Raises
    ------
    ValueError
        If shapes do not fit; the message names the argument, what it got and what it needs.

    Notes
    -----
    Vaswani et al. (2017), section 3.2.2. `nn.Linear` and `nn.MultiheadAttention` store the
    transposes of these matrices: `from_torch` takes care of it. Derived in chapter 6.
    """

    def __init__(
        self,
        w_q: ArrayLike,
        w_k: ArrayLike,
        w_v: ArrayLike,
        w_o: ArrayLike,
        n_heads: int,
        *,
        b_q: ArrayLike | None = None,
        b_k: ArrayLike | None = None,
        b_v: ArrayLike | None = None,
        b_o: ArrayLike | None = None,
    ) -> None:
        self.n_heads = count("n_heads", n_heads, least=1)
        given = {"b_q": b_q, "b_k": b_k, "b_v": b_v, "b_o": b_o}
        named: dict[str, ArrayLike] = {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
        named |= {name: bias for name, bias in given.items() if bias is not None}
        given_arrays = [real_array(name, value) for name, value in named.items()]
        self._dtype = np.result_type(*[array.dtype for array in given_arrays])
        arrays = [array.astype(dtypes(self._dtype)[1]) for array in given_arrays]
        parameters = dict(zip(named, arrays, strict=True))

        for name in ("w_q", "w_k", "w_v", "w_o"):
            if parameters[name].ndim != 2:
                raise ValueError(f"{name} must be a matrix, got shape {parameters[name].shape}")
        self.w_q, self.w_k, self.w_v, self.w_o = arrays[:4]
        self.d_model = self.w_q.shape[0]
        self.d_memory = self.w_k.shape[0]
        self.d_k = self._width_of_one_head("w_q", self.w_q)
        self.d_v = self._width_of_one_head("w_v", self.w_v)
        if self.w_k.shape[1] != self.w_q.shape[1]:
            raise ValueError(
                f"w_k has {self.w_k.shape[1]} columns but w_q has {self.w_q.shape[1]}; "
                "queries and keys need the same width (n_heads * d_k)"
            )
        if self.w_v.shape[0] != self.d_memory:
            raise ValueError(
                f"w_v has {self.w_v.shape[0]} rows but w_k has {self.d_memory}; "
                "both project the same memory (d_memory rows)"
            )
        if self.w_o.shape != (self.w_v.shape[1], self.d_model):
            raise ValueError(
                f"w_o must have shape {(self.w_v.shape[1], self.d_model)}, "
                f"which is (n_heads * d_v, d_model), got {self.w_o.shape}"
            )
        for name in given:
            bias, width = parameters.get(name), parameters["w" + name[1:]].shape[1]
            if bias is not None and bias.shape != (width,):
                raise ValueError(
                    f"{name} must have shape {(width,)}, one number a column of w{name[1:]}, "
                    f"got {bias.shape}"
                )
            setattr(self, name, bias)

    b_q: Array | None
    b_k: Array | None
    b_v: Array | None
    b_o: Array | None

    def __repr__(self) -> str:
        return (
            f"MultiHeadAttention(d_model={self.d_model}, n_heads={self.n_heads}, "
            f"d_k={self.d_k}, d_v={self.d_v}, d_memory={self.d_memory})"
        )

    @classmethod
    def random(
        cls,
        d_model: int,
        n_heads: int,
        rng: np.random.Generator,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
    ) -> Self:
        """Fresh weights, each entry drawn from N(0, 1 / number of rows of its matrix).

        Parameters
        ----------
        d_model, n_heads : int
        rng : numpy.random.Generator
            Drawn from in the order `w_q`, `w_k`, `w_v`, `w_o`.
        d_k, d_v : int, optional
            Width of one head; ``d_model // n_heads`` if left out, which must then divide evenly.

        Returns
        -------
        MultiHeadAttention
            In float64, without biases. Rows of unit variance stay at unit variance.

        Raises
        ------
        ValueError
            If a size is not a positive integer, or `n_heads` does not divide `d_model`.

        Notes
        -----
        Why this variance and not another: chapter 2 (a bad start) and chapter 4 (the reason).
        """
        d_model, n_heads = count("d_model", d_model, least=1), count("n_heads", n_heads, least=1)
        if not isinstance(rng, np.random.Generator):
            raise ValueError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
        if (d_k is None or d_v is None) and d_model % n_heads:
            raise ValueError(
                f"d_model={d_model} is not a multiple of n_heads={n_heads}; give d_k and d_v"
            )
        d_k = d_model // n_heads if d_k is None else count("d_k", d_k, least=1)
        d_v = d_model // n_heads if d_v is None else count("d_v", d_v, least=1)

        def draw(rows: int, columns: int) -> Array:
            return rng.standard_normal((rows, columns)) / math.sqrt(rows)

        return cls(
            draw(d_model, n_heads * d_k),
            draw(d_model, n_heads * d_k),
            draw(d_model, n_heads * d_v),
            draw(n_heads * d_v, d_model),
            n_heads,
        )

    @classmethod
    def from_torch(cls, module: Any) -> Self:
        """The weights of a `torch.nn.MultiheadAttention`, transposed to this package's layout.

        Parameters
        ----------
        module : torch.nn.MultiheadAttention
            With ``kdim == vdim`` and without ``add_bias_kv`` and ``add_zero_attn``. Dropout is
            ignored: this is the module in evaluation mode.

        Returns
        -------
        MultiHeadAttention

        Raises
        ------
        ValueError
            If the module uses a feature that has no counterpart here.

        Notes
        -----
        torch computes ``x @ W.T + b`` and stacks the three input projections in one matrix; its
        masks have the opposite polarity of ours. torch itself is not imported. Chapter 12.
        """
        if not hasattr(module, "in_proj_weight") or not hasattr(module, "out_proj"):
            raise ValueError(
                f"module must be a torch.nn.MultiheadAttention, got {type(module).__name__}"
            )
        if module.bias_k is not None or module.bias_v is not None or module.add_zero_attn:
            raise ValueError("module uses add_bias_kv or add_zero_attn, which have no counterpart")
        if module.kdim != module.vdim:
            raise ValueError(
                f"module has kdim={module.kdim} and vdim={module.vdim}; here keys and values "
                "are projections of one memory, so they must be equal"
            )

        def numpy(tensor: Any) -> Array:
            return np.array(tensor.detach().cpu().numpy())

        if module.in_proj_weight is None:
            inputs = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
            w_q, w_k, w_v = (numpy(w).T for w in inputs)
        else:
            w_q, w_k, w_v = (w.T for w in np.split(numpy(module.in_proj_weight), 3))
        biases: dict[str, Array] = {}
        if module.in_proj_bias is not None:
            b_q, b_k, b_v = np.split(numpy(module.in_proj_bias), 3)
            biases = {"b_q": b_q, "b_k": b_k, "b_v": b_v, "b_o": numpy(module.out_proj.bias)}
        return cls(w_q, w_k, w_v, numpy(module.out_proj.weight).T, module.num_heads, **biases)

    def __call__(
        self,
        x: ArrayLike,
        memory: ArrayLike | None = None,
        *,
        mask: ArrayLike | None = None,
    ) -> MultiHeadResult:
        """Let each position of `x` read from `memory`.

        Parameters
        ----------
        x : array_like, shape (..., n_q, d_model)
            Where the queries come from.
        memory : array_like, shape (..., n_k, d_memory), optional
            Where keys and values come from; `x` itself if left out (self-attention).
        mask : array_like of bool, shape (..., n_q, n_k), optional
            True = may read; the mask of one head, which all heads share. The head axis is
            inserted here: do not add it yourself.

        Returns
        -------
        MultiHeadResult
            A query that may read nothing gets `b_o` (or zeros) as its output.

        Raises
        ------
        ValueError
            If shapes do not fit or `mask` is not boolean.
        """
        named: dict[str, ArrayLike] = {"x": x} | ({} if memory is None else {"memory": memory})
        arrays = [real_array(name, value) for name, value in named.items()]
        dtype, work = dtypes(self._dtype, *[array.dtype for array in arrays])
        arrays = [array.astype(work, copy=False) for array in arrays]
        check_rows("x", arrays[0], self.d_model)
        if memory is None and self.d_memory != self.d_model:
            raise ValueError(
                f"memory is needed: w_k and w_v read rows of width {self.d_memory} (d_memory), "
                f"but x has width {self.d_model} (d_model)"
            )
        source = arrays[-1]
        check_rows("x" if memory is None else "memory", source, self.d_memory)

        shapes = {name: a.shape[:-2] for name, a in zip(named, arrays, strict=True)}
        head_mask, read = None, None
        if mask is not None:
            mask = np.atleast_2d(bool_array("mask", mask))
            shapes["mask"] = batch_of_pairs("mask", mask, arrays[0].shape[-2], source.shape[-2])
            head_mask = mask[..., None, :, :]
            read = np.any(mask, axis=-2, keepdims=True).swapaxes(-1, -2)
        common_shape("the batch axes", **shapes)
        query = self._project(arrays[0], self.w_q, self.b_q, None)
        key = self._project(source, self.w_k, self.b_k, read)
        value = self._project(source, self.w_v, self.b_v, read)
        head_outputs, weights, _ = scaled_dot_product_attention(
            *(split_heads(p, self.n_heads) for p in (query, key, value)), mask=head_mask
        )
        output = self._project(merge_heads(head_outputs), self.w_o, self.b_o, None)
        with quiet_rounding():
            return MultiHeadResult(
                output.astype(dtype, copy=False),
                weights.astype(dtype, copy=False),
                head_outputs.astype(dtype, copy=False),
            )

    def _width_of_one_head(self, name: str, matrix: Array) -> int:
        if matrix.shape[1] % self.n_heads or matrix.shape[1] == 0:
            raise ValueError(
                f"{name} has {matrix.shape[1]} columns, "
                f"which {self.n_heads} heads (n_heads) cannot share"
            )
        return matrix.shape[1] // self.n_heads

    @staticmethod
    def _project(rows: Array, matrix: Array, bias: Array | None, read: BoolArray | None) -> Array:
        """One linear projection; a row that nobody reads may hold anything without a warning."""
        product = matmul_where(rows, matrix, read)
        return product if bias is None else product + bias
