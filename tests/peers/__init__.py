"""The same numbers from other people's code, which only `make test-peers` installs."""

import importlib

import pytest


def need(name):
    """The module called `name`, or a failure that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.fail(f"{name} is not installed here: run `make test-peers`", pytrace=False)
