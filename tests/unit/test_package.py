"""The public names: signatures, docstrings, examples in docstrings, and what importing loads."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import attention_utils

ATTENTION = "*, bias=None, mask=None, causal=False, scale=None"
SIGNATURES = {
    "softmax": "x, axis=-1, *, where=None",
    "log_softmax": "x, axis=-1",
    "softmax_jacobian": "p",
    "entropy": "p, axis=-1",
    "causal_mask": "n_q, n_k=None",
    "padding_mask": "lengths, n_k",
    "combine_masks": "*masks",
    "additive_mask": "mask, dtype=float",
    "attention_weights": f"query, key, {ATTENTION}",
    "scaled_dot_product_attention": f"query, key, value, {ATTENTION}",
    "blockwise_attention": f"query, key, value, {ATTENTION}, block_size=None",
    "split_heads": "x, n_heads",
    "merge_heads": "x",
    "MultiHeadAttention": "w_q, w_k, w_v, w_o, n_heads, *, b_q=None, b_k=None, b_v=None, b_o=None",
    "MultiHeadAttention.random": "d_model, n_heads, rng, *, d_k=None, d_v=None",
    "MultiHeadAttention.from_torch": "module",
    "MultiHeadAttention.__call__": "self, x, memory=None, *, mask=None",
    "encoder_self_attention": "mha, x, *, padding=None",
    "decoder_self_attention": "mha, y, *, padding=None",
    "cross_attention": "mha, y, memory, *, memory_padding=None",
    "sinusoidal_positions": "n, d_model",
    "layer_norm": "x, gain=None, shift=None, *, eps=1e-5",
    "AttentionMap": "weights, query_tokens, key_tokens",
    "AttentionMap.row": "self, query",
    "AttentionMap.top": "self, query, k",
    "AttentionMap.plot": "self, ax=None",
    "diagnose": "output, example",
}


def find(name):
    value = attention_utils
    for part in name.split("."):
        value = getattr(value, part)
    return value


def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    namespace = {}
    exec(f"def wanted({SIGNATURES[name]}): pass", namespace)
    assert parameters(find(name)) == parameters(namespace["wanted"])


def test_every_name_of_the_contract_is_exported():
    results = {"AttentionResult", "MultiHeadResult"}
    contract = {name for name in SIGNATURES if "." not in name} | results
    assert contract <= set(attention_utils.__all__)
    for name in attention_utils.__all__:
        assert hasattr(attention_utils, name)


DOCUMENTED = [name for name in SIGNATURES if not name.endswith("__call__")]


def section(docstring, title):
    """The lines of one numpydoc section; None without it."""
    head = f"{title}\n{'-' * len(title)}\n"
    return docstring.split(head)[1].split("\n\n")[0].splitlines() if head in docstring else None


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_is_numpydoc(name):
    thing = find(name)
    docstring = inspect.getdoc(thing)
    assert docstring, f"{name} has no docstring"
    assert docstring.splitlines()[0][-1] in ".?:", "the first line says what it does"
    entries = [line for line in section(docstring, "Parameters") if not line.startswith(" ")]
    listed = [n.strip(" *") for entry in entries for n in entry.split(" : ")[0].split(",")]
    taken = [p for p, _, _ in parameters(thing) if p != "self"]
    assert listed == taken, f"{name} documents {listed} and takes {taken}"
    assert inspect.isclass(thing) or section(docstring, "Returns"), "what does it return?"


@pytest.mark.parametrize("name", ["AttentionResult", "MultiHeadResult"])
def test_docstring_of_a_result_describes_its_fields(name):
    thing = find(name)
    entries = [n for n in section(inspect.getdoc(thing), "Attributes") if not n.startswith(" ")]
    assert [entry.split(" : ")[0] for entry in entries] == list(thing._fields)


def modules():
    return sorted(
        m.name for m in pkgutil.walk_packages(attention_utils.__path__, "attention_utils.")
    )


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert doctest.testmod(module).failed == 0


def test_the_main_functions_have_examples():
    finder = doctest.DocTestFinder()
    for name in (
        "softmax",
        "causal_mask",
        "padding_mask",
        "scaled_dot_product_attention",
        "blockwise_attention",
        "split_heads",
    ):
        assert any(test.examples for test in finder.find(find(name), name)), name


def test_importing_loads_neither_matplotlib_nor_ipywidgets_nor_torch():
    code = (
        "import sys, attention_utils; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'matplotlib', 'ipywidgets', 'IPython', 'torch', 'jax', 'scipy', 'pandas', 'onnx'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
