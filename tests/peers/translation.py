"""The table of chapter 12, tried on the installed libraries.

A `Library` takes and gives arrays as ours: (batch, heads, positions, features). A check takes a
library and the text of its cell in one column, does what the text says, and raises unless the
library agrees. test_translation_table.py runs them on the tables as they are printed.
"""

import importlib
import re
import warnings

import numpy as np

import attention_utils
from attention_utils import MultiHeadAttention, causal_mask, merge_heads, split_heads
from tests.helpers import assert_close, normal
from tests.parity.test_onnx import onnx_attention
from tests.peers import need

torch, jax, onnx = need("torch"), need("jax"), need("onnx")

BATCH, HEADS, N_Q, N_K, D = 2, 3, 4, 5, 7


class Library:
    """One way to compute attention."""

    names = ("query", "key", "value")
    layout = "(…, n, d)"
    dtype = np.float64

    def is_called(self, name):
        """Tell whether this full name stands for what is tried here."""
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute) is self.function

    def run(self, inputs, **options):
        """Everything that is returned, for inputs by name, laid out as the library wants them."""
        raise NotImplementedError

    def inputs(self, *arrays, layout=None, names=None):
        """Our arrays as the library takes them, by name."""
        forward = LAYOUTS[layout or self.layout][0]
        arrays = [forward(a).astype(self.dtype) for a in arrays]
        return dict(zip(names or self.names, arrays, strict=True))

    def __call__(self, query, key, value, *, layout=None, names=None, **options):
        """Return the output, from arrays as ours."""
        _, back, more = LAYOUTS[layout or self.layout]
        inputs = self.inputs(query, key, value, layout=layout, names=names)
        return back(self.run(inputs, **more, **options)[0])


class Ours(Library):
    function = staticmethod(attention_utils.scaled_dot_product_attention)

    def run(self, inputs, **options):
        return tuple(self.function(**inputs, **options))


class TorchFunction(Library):
    function = staticmethod(torch.nn.functional.scaled_dot_product_attention)

    def run(self, inputs, **options):
        return (self.function(**tensors(inputs), **tensors(options)).numpy(),)


class TorchLayer(Library):
    """With identity matrices, so that its heads are those that are given."""

    function = torch.nn.MultiheadAttention
    layout = "(n, B, d_model)"

    def run(self, inputs, *, batch_first=False, b_o=0.0, **options):
        dtype = torch.float64 if self.dtype is int else getattr(torch, np.dtype(self.dtype).name)
        layer = self.function(HEADS * D, HEADS, batch_first=batch_first, dtype=dtype)
        with torch.no_grad():
            identity = torch.eye(HEADS * D)
            layer.in_proj_weight.copy_(torch.cat([identity] * 3))
            layer.out_proj.weight.copy_(identity)
            layer.out_proj.bias.fill_(b_o)
            results = layer(**tensors(inputs), **tensors(options))
        return tuple(result.numpy() for result in results if result is not None)


class Jax(Library):
    function = staticmethod(jax.nn.dot_product_attention)
    layout = "(B, n, h, d)"
    dtype = np.float32

    def run(self, inputs, **options):
        return (np.asarray(self.function(**inputs, **options)),)


class Onnx(Library):
    names = ("Q", "K", "V")
    layout = "(B, h, n, d)"
    function = onnx.defs.get_schema("Attention")

    def is_called(self, name):
        return onnx.defs.get_schema(name).name == self.function.name

    def run(self, inputs, **options):
        return onnx_attention(**inputs, **options)


LIBRARIES = {
    "these notes": Ours(),
    "PyTorch function": TorchFunction(),
    "PyTorch layer": TorchLayer(),
    "JAX": Jax(),
    "ONNX": Onnx(),
}


def tensors(given):
    """Return the same arguments with tensors for arrays."""
    return {
        name: torch.from_numpy(a) if isinstance(a, np.ndarray) else a for name, a in given.items()
    }


def unchanged(array):
    return array


def heads_last(array):
    return np.swapaxes(array, 1, 2)


def batch_second(array):
    return np.swapaxes(merge_heads(array), 0, 1)


# How our arrays are laid out, how the output is brought back, and what must be said with it.
LAYOUTS = {
    "(…, n, d)": (unchanged, unchanged, {}),
    "(B, h, n, d)": (unchanged, unchanged, {}),
    "(B, n, h, d)": (heads_last, heads_last, {}),
    "(n, h, d)": (lambda a: heads_last(a[:1])[0], lambda a: heads_last(a[None]), {}),
    "(n, B, d_model)": (batch_second, lambda a: split_heads(np.swapaxes(a, 0, 1), HEADS), {}),
    "(B, n, d_model)": (merge_heads, lambda a: split_heads(a, HEADS), {"batch_first": True}),
    "(B, n, h·d)": (
        merge_heads,
        lambda a: split_heads(a, HEADS),
        {"q_num_heads": HEADS, "kv_num_heads": HEADS},
    ),
}


def code(text):
    """Return what stands in backticks."""
    return re.findall(r"`([^`]+)`", text)


def arrays(n_q=N_Q, n_k=N_K, d_v=D):
    return (
        normal(BATCH, HEADS, n_q, D),
        normal(BATCH, HEADS, n_k, D, seed=1),
        normal(BATCH, HEADS, n_k, d_v, seed=2),
    )


def truth(*given, **options):
    return attention_utils.scaled_dot_product_attention(*given, **options).output


def same(theirs, *given, **options):
    expected = truth(*given, **options)
    assert_close(theirs, expected[: len(theirs)], atol=1e-5)


def refuses(call):
    """Tell whether the library refuses this call."""
    try:
        call()
    except Exception:  # every library has its own kind of error
        return True
    return False


# --- names and axes


def full_name(library, text):
    (name,) = code(text)
    assert library.is_called(name)


def first_three(library, text):
    same(library(*arrays(), names=code(text)), *arrays())


def axes(library, text):
    forms = re.findall(r"\([^)]*\)", text)
    assert forms[0] == library.layout
    for form in forms:
        same(library(*arrays(), layout=form), *arrays())
    for batch in ((), (HEADS,)):
        fewer = [a[(0,) * (2 - len(batch))] for a in arrays()]
        takes_all = not refuses(
            lambda given=fewer: assert_close(
                library.run(dict(zip(library.names, given, strict=True)))[0],
                truth(*given),
                atol=1e-5,
            )
        )
        assert takes_all == ("…" in text)
    # A form that is taken and not told would be missing.
    more = [form for form in LAYOUTS if form not in ("(…, n, d)", "(B, h, n, d)", *forms)]
    for form in more:
        assert refuses(lambda form=form: same(library(*arrays(), layout=form), *arrays()))


def value_width(library, text):
    given = arrays(d_v=11)
    assert {"free": False, "as the keys": True}[text] == refuses(
        lambda: same(library(*given), *given)
    )


# --- scale, bias, mask


def scale(library, text):
    names = ("scale", "scaling", "softmax_scale")
    if text == "none":
        assert all(refuses(lambda name=n: library(*arrays(), **{name: 0.25})) for n in names)
        return
    (name,) = code(text)
    same(library(*arrays(), **{name: 0.25}), *arrays(), scale=0.25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the root of a negative number
        negative = refuses(
            lambda: same(library(*arrays(), **{name: -0.25}), *arrays(), scale=-0.25)
        )
    assert negative == ("not negative" in text)


def bias(library, text):
    (name,) = code(text)
    numbers = normal(N_Q, N_K, seed=3)
    same(library(*arrays(), **{name: as_native(library, numbers)}), *arrays(), bias=numbers)


def as_native(library, matrix):
    """Return a mask or bias of one matrix as the library takes it: JAX asks for four axes."""
    matrix = matrix.astype(library.dtype) if matrix.dtype.kind == "f" else matrix
    return matrix[None, None] if isinstance(library, Jax) else matrix


def visible():
    mask = normal(N_Q, N_K, seed=4) > -0.3
    mask[:, 0], mask[:, 4] = True, False
    return mask


def mask(library, text):
    names = code(text)
    for name in names:
        if name == "key_padding_mask":
            shown = np.tile([True, True, False, True, False], (BATCH, 1))
            given, full = ~shown, shown[:, None, None]
        else:
            full = visible()
            given = ~full if isinstance(library, TorchLayer) else as_native(library, full)
        same(library(*arrays(), **{name: given}), *arrays(), mask=full)
    others = {"mask": (N_Q, N_K), "attn_mask": (N_Q, N_K), "key_padding_mask": (BATCH, N_K)}
    for name in others.keys() - set(names):
        given = np.zeros(others[name], dtype=bool)
        assert refuses(lambda name=name, given=given: library(*arrays(), **{name: given}))


def true_means(library, text):
    (name,) = hide(library, visible())
    shown = {"may read": visible(), "**hidden**": ~visible()}[text]
    same(library(*arrays(), **{name: as_native(library, visible())}), *arrays(), mask=shown)


# --- causal

CORNERS = {"upper left": np.tri(N_Q, N_K, dtype=bool), "lower right": causal_mask(N_Q, N_K)}


def causal_argument(library, text):
    (name,) = code(text)
    lower_right = CORNERS["lower right"]
    if "hint" in text:
        assert refuses(lambda: library(*arrays(), **{name: True}))
        library(*arrays(), **{name: True}, attn_mask=~lower_right)
        return
    value = 1 if isinstance(library, Onnx) else True
    output = library(*arrays(), **{name: value})
    assert np.abs(output - truth(*arrays())).max() > 0.1  # it hides something


def starts(library, text):
    query, key, value = arrays()
    if isinstance(library, TorchLayer):
        (by_default, _), (without, unasked) = spoken(library, text)
        given = hide(library, CORNERS["lower right"]) | {"is_causal": True}
        assert by_default == "as the mask"
        same(library(*arrays(), **given), *arrays(), mask=CORNERS["lower right"])
        same(library(*arrays(), **given, **unasked), *arrays(), mask=CORNERS[without])
        return
    name = "causal" if isinstance(library, Ours) else "is_causal"
    number = 1 if isinstance(library, Onnx) else True
    corner, _, cached = text.partition("; with a cache ")
    same(library(*arrays(), **{name: number}), *arrays(), mask=CORNERS[corner])
    assert bool(cached) == isinstance(library, Onnx)
    if cached:
        n = N_K - N_Q  # positions that no longer ask
        past = {"past_key": key[:, :, :n], "past_value": value[:, :, :n]}
        theirs = library(query, key[:, :, n:], value[:, :, n:], **past, is_causal=1)
        same(theirs, query, key, value, mask=CORNERS[cached])


# --- nothing to read, and NaN where nobody reads


def nothing_to_read(library, text):
    shown = visible()
    shown[1] = False
    query, key, value = arrays()
    layer = isinstance(library, TorchLayer)
    for words, options in spoken(library, text):
        more = {"b_o": 2.0} if layer else {}
        row = library(query, key, value, **hide(library, shown), **options, **more)[..., 1, :]
        meant = {
            "0": np.zeros(row.shape),
            "NaN": np.full(row.shape, np.nan),
            "$b_O$": np.full(row.shape, 2.0),
            "evenly spread": np.broadcast_to(value.mean(-2), row.shape),
        }
        assert_close(row, meant[words], atol=1e-6)


def spoken(library, text):
    """What a text says for each way to call the library: a layer can leave out the weights."""
    if not isinstance(library, TorchLayer):
        return [(text, {})]
    by_default, _, without = text.partition("; without weights ")
    return [(by_default, {}), (without or by_default, {"need_weights": False})]


def hide(library, shown):
    """Our mask as an argument of the library."""
    name = "mask" if isinstance(library, (Ours, Jax)) else "attn_mask"
    return {name: ~shown if isinstance(library, TorchLayer) else as_native(library, shown)}


def hidden_nan(which):
    def check(library, text):
        given = [a.copy() for a in arrays()]
        given[which][..., 4, :] = np.nan
        output = library(*given, **hide(library, visible()))  # key 4 is hidden from everybody
        broken = {"no effect": False, "NaN everywhere": True}[text]
        assert (np.isnan(output) == broken).all()

    return check


# --- number types, and what comes back


def as_dtype(library, dtype):
    """The same library, given arrays of this type."""
    other = type(library)()
    other.dtype = dtype
    return other


def in_float64(library, text):
    given = arrays()
    with jax.enable_x64(True):
        error = np.abs(as_dtype(library, np.float64)(*given) - truth(*given)).max()
    assert text == ("float64" if error < 1e-14 else "float32")


def in_float16(library, text):
    """Scores near 30, where float16 knows two decimals; with V the identity we see the weights."""
    query, key = normal(2, 1, HEADS, D, D)
    query[..., 0] = key[..., 0] = (30 * D**0.5) ** 0.5
    given = [a.astype(np.float16).astype(float) for a in (query, key, np.eye(D) + 0 * key)]
    exact = truth(*given)
    for words, options in spoken(library, text):
        weights = as_dtype(library, np.float16)(*given, **options)
        assert weights.dtype == np.float16
        error = (np.abs(weights - exact) / exact).max()
        assert words == ("float32" if error < 3e-3 else "float16")


def whole_numbers(library, text):
    given = [np.round(2 * a).astype(int) for a in arrays()]
    whole = as_dtype(library, int)
    if refuses(lambda: whole(*given)):
        assert text == "refused"
    else:
        exact = truth(*given)
        meant = {"floats out": exact, "weights cut to 0": 0 * exact}
        assert_close(whole(*given), meant[text])


def returned(library, text):
    results = library.run(library.inputs(*arrays()))
    always, _, asked = text.partition("; if asked, ")
    if isinstance(library, Onnx):
        kinds = [port.option.name for port in library.function.outputs]
        assert kinds == ["Single", "Optional", "Optional", "Optional"]
        results = results[:1]
    assert bool(asked) == isinstance(library, Onnx)
    assert len(results) == len(always.split(", "))


def weights_of(library, text):
    query, key, value = arrays()
    exact = attention_utils.attention_weights(query, key)
    inputs = library.inputs(*arrays())
    if text == "none":
        assert len(library.run(inputs)) == 1
    elif text.startswith("mean of the heads"):
        (option,) = code(text)
        name, _, value = option.partition("=")
        assert_close(library.run(inputs)[1], exact.mean(1))
        assert_close(library.run(inputs, **{name: {"False": False}[value]})[1], exact)
    else:
        assert text.startswith("of each head")
        options = dict(option.split("=") for option in code(text))
        # The helper of the ONNX tests sets this attribute to what the cell must say.
        assert options == ({"qk_matmul_output_mode": "3"} if isinstance(library, Onnx) else {})
        assert_close(library.run(inputs)[1], exact)


# --- how parameters are stored


def linear(x, text, parameters):
    """Calculate what a cell says, with the parameters by their names."""
    return eval(code(text)[0], {"x": x, **parameters})  # the cells of our own table


class Packed:
    """A layer that has parameters: x is (n, d_model), the result is (n, width)."""

    def __init__(self, names, shapes, parameters, result):
        self.names, self.shapes = names, shapes
        self.parameters, self.result = parameters, result


def packed_layers():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3, 4))
    ours = MultiHeadAttention(
        *rng.standard_normal((2, 4, 10)),
        rng.standard_normal((4, 6)),
        rng.standard_normal((6, 4)),
        2,
        b_q=rng.standard_normal(10),
    )
    inputs = torch.from_numpy(x)
    flat = torch.nn.Linear(4, 10, dtype=torch.float64)
    layer = torch.nn.MultiheadAttention(4, 2, dtype=torch.float64)
    torch.nn.init.normal_(layer.in_proj_bias)
    stacked = torch.nn.functional.linear(inputs, layer.in_proj_weight, layer.in_proj_bias)
    w = rng.standard_normal((4, 10))
    product = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    return x, {
        "these notes": (vars(ours), ours._project(x, ours.w_q, ours.b_q, None)),
        "`nn.Linear`": (numbers(flat), flat(inputs).detach().numpy()),
        "PyTorch layer": (numbers(layer), stacked.detach().numpy()),
        "ONNX `MatMul`": ({"w": w}, onnx_node(product, x=x, w=w)),
    }


def numbers(module):
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def onnx_node(node, **inputs):
    info = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, None) for n in "xwy"]
    graph = onnx.helper.make_graph([node], "one node", info[:2], info[2:])
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator
    return evaluator(onnx.helper.make_model(graph)).run(None, inputs)[0]


SIZES = {"d_model": 4, "h·d_k": 10, "in": 4, "out": 10, "3·d_model": 12}


def stored(layer, text):
    parameters, _ = layer
    (name,) = code(text)
    rows, columns = re.search(r"\(([^,]+), ([^)]+)\)", text).groups()
    assert parameters[name].shape == (SIZES[rows], SIZES[columns])


def computed(layer, text):
    x, _ = packed_layers()
    parameters, result = layer
    assert_close(linear(x, text, parameters), result)


# Each column of each table, by the id of its cell and the heading of the column.
CHECKS = {
    "table-names": {"full name": full_name, "Q, K, V": first_three},
    "table-axes": {"axes": axes, "width of V": value_width},
    "table-scores": {"scale": scale, "bias": bias},
    "table-masks": {"mask": mask, "True means": true_means},
    "table-causal": {"argument": causal_argument, "starts at": starts},
    "table-nothing": {"a row with nothing to read": nothing_to_read},
    "table-nan": {"NaN in a hidden key": hidden_nan(1), "NaN in a hidden value": hidden_nan(2)},
    "table-types": {
        "softmax of float64 in": in_float64,
        "of float16 in": in_float16,
        "whole numbers in": whole_numbers,
    },
    "table-returned": {"returns": returned, "weights": weights_of},
    "table-packing": {"stores": stored, "computes": computed},
}
