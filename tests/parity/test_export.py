"""The cell of chapter 12 that writes a layer as an ONNX model: saved, read back, run."""

from pathlib import Path

import nbformat
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from attention_utils import MultiHeadAttention, causal_mask, combine_masks, padding_mask
from tests.helpers import assert_close, normal

CHAPTER = Path(__file__).parents[2] / "chapters" / "12_to_the_libraries.ipynb"


@pytest.fixture(scope="module")
def to_onnx():
    sources = {cell.id: cell.source for cell in nbformat.read(CHAPTER, as_version=4).cells}
    names = {"onnx": onnx, "helper": helper, "numpy_helper": numpy_helper}
    exec(sources["ports"] + "\n" + sources["to-onnx"], names)
    return names["to_onnx"]


def layer_of(d_memory=6, biases="", dtype=float):
    """Two heads with d_k = 3 and d_v = 5; `biases` names the matrices that have one."""
    shapes = {"q": (6, 6), "k": (d_memory, 6), "v": (d_memory, 10), "o": (10, 6)}
    matrices = [normal(*shape, seed=n, dtype=dtype) for n, shape in enumerate(shapes.values())]
    given = {f"b_{x}": normal(shapes[x][1], seed=9, dtype=dtype) for x in biases}
    return MultiHeadAttention(*matrices, 2, **given)


def through_a_file(model, folder, **inputs):
    onnx.save(model, folder / "layer.onnx")
    model = onnx.load(folder / "layer.onnx")
    onnx.checker.check_model(model, full_check=True)
    return ReferenceEvaluator(model).run(None, inputs)[0]


@pytest.mark.parametrize("biases", ["", "qkvo", "o", "qv"])
@pytest.mark.parametrize("d_memory", [6, 7])
def test_the_file_computes_what_the_layer_does(to_onnx, tmp_path, d_memory, biases):
    layer = layer_of(d_memory, biases)
    x, memory = normal(2, 4, 6), normal(2, 5, d_memory, seed=1)
    mask = combine_masks(padding_mask([5, 3], 5), causal_mask(4, 5))
    theirs = through_a_file(to_onnx(layer), tmp_path, x=x, memory=memory, mask=mask[:, None])
    assert_close(layer(x, memory, mask=mask).output, theirs, atol=1e-12)


def test_nothing_to_read_gives_the_output_bias(to_onnx, tmp_path):
    layer, x, mask = layer_of(biases="qkvo"), normal(2, 5, 6), padding_mask([0, 5], 5)
    theirs = through_a_file(
        to_onnx(layer), tmp_path, x=x, memory=x, mask=np.tile(mask, (1, 5, 1))[:, None]
    )
    assert_close(theirs[0], np.tile(layer.b_o, (5, 1)), atol=0)
    assert_close(layer(x, mask=mask).output, theirs, atol=1e-12)


def test_float32_stays_float32(to_onnx, tmp_path):
    layer, x = layer_of(dtype=np.float32), normal(2, 5, 6, dtype=np.float32)
    theirs = through_a_file(
        to_onnx(layer), tmp_path, x=x, memory=x, mask=np.ones((1, 1, 5, 5), bool)
    )
    assert theirs.dtype == np.float32
    assert_close(layer(x).output, theirs, atol=1e-4)
