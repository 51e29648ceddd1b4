"""What is handed in costs the grader little time and memory, and nobody the grade of another."""

import tracemalloc
import zipfile

import pytest

from coursework import submissions
from tests.coursework import handed_in


@pytest.fixture
def peak():
    """The most memory in use since the test began, in MiB."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_lies_about_a_size_takes_no_memory(tmp_path, method, peak):
    raw = handed_in.lying_zip(method)
    (tmp_path / "ann.zip").write_bytes(raw)
    tracemalloc.reset_peak()
    (submission,) = submissions.collect(tmp_path, set())
    assert submission.cells is None
    assert peak() < 4
