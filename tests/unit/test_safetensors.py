"""The reader of weight files: what it returns, and which files it refuses."""

import json

import numpy as np
import pytest

from attention_utils.models.safetensors import read_safetensors
from tests.helpers import refuses

MATRIX = np.arange(6, dtype="<f4").reshape(2, 3) - 2.5
PLACES = np.array([[7, 8]], dtype="<i8")
HEADER = {
    "__metadata__": {"format": "pt"},
    "matrix": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "places": {"dtype": "I64", "shape": [1, 2], "data_offsets": [24, 40]},
}
NUMBERS = MATRIX.tobytes() + PLACES.tobytes()


def file_with(folder, header=HEADER, numbers=NUMBERS, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = folder / "small.safetensors"
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text)
    with path.open("ab") as file:
        file.write(numbers)
    return path


def changed(**entry):
    return HEADER | {"matrix": HEADER["matrix"] | entry}


def test_names_shapes_and_numbers(tmp_path):
    arrays = read_safetensors(file_with(tmp_path))
    assert list(arrays) == ["matrix", "places"]
    np.testing.assert_array_equal(arrays["matrix"], MATRIX)
    np.testing.assert_array_equal(arrays["places"], PLACES)
    assert arrays["matrix"].dtype == np.float32


def test_the_arrays_are_the_file_and_cannot_be_changed(tmp_path):
    arrays = read_safetensors(str(file_with(tmp_path)))
    assert isinstance(arrays["matrix"], np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        arrays["matrix"][0, 0] = 1


def test_arrays_may_stand_in_another_order_than_their_names(tmp_path):
    header = {name: HEADER[name] for name in ("places", "matrix")}
    arrays = read_safetensors(file_with(tmp_path, header))
    np.testing.assert_array_equal(arrays["matrix"], MATRIX)


def test_a_single_number_and_an_empty_array(tmp_path):
    header = {
        "one": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
        "none": {"dtype": "F32", "shape": [0, 3], "data_offsets": [4, 4]},
    }
    arrays = read_safetensors(file_with(tmp_path, header, MATRIX.tobytes()[:4]))
    assert arrays["one"] == -2.5
    assert arrays["none"].shape == (0, 3)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ({"numbers": NUMBERS[:-1]}, "has 39"),
        ({"numbers": NUMBERS + b"\0"}, "has 41"),
        ({"length": 10_000}, "10000"),
        ({"length": 2**63}, "announces"),
        ({"length": 5}, "not JSON"),
        ({"header": b"\xff\xfe{}"}, "not JSON"),
        ({"header": b"[1, 2]"}, "no table"),
        ({"header": changed(dtype="F16")}, "'matrix'"),
        ({"header": changed(dtype=["F32"])}, "'matrix'"),
        ({"header": changed(shape=[2, 4])}, "does not fill"),
        ({"header": changed(shape=[-2, -3])}, "'matrix'"),
        ({"header": changed(shape=[2.0, 3])}, "'matrix'"),
        ({"header": changed(shape=6)}, "'matrix'"),
        ({"header": changed(data_offsets=[24, 0])}, "'matrix'"),
        ({"header": changed(data_offsets=[0])}, "'matrix'"),
        ({"header": changed(data_offsets=[8, 32])}, "at byte 8"),
        ({"header": changed(data_offsets=[16, 40])}, "at byte 16"),
        ({"header": HEADER | {"matrix": 3}}, "'matrix'"),
        ({"header": HEADER | {"matrix": {"dtype": "F32"}}}, "'matrix'"),
    ],
)
def test_damaged_files(tmp_path, what, says):
    with refuses("path", "small.safetensors", says):
        read_safetensors(file_with(tmp_path, **what))


@pytest.mark.parametrize("content", [b"", b"1234567"])
def test_too_short_for_a_header(tmp_path, content):
    path = tmp_path / "short"
    path.write_bytes(content)
    with refuses("path", "short", f"{len(content)} bytes"):
        read_safetensors(path)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_safetensors(tmp_path / "nothing")
