"""Settings that hold for every test."""

import importlib.util
import os

import hypothesis

hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

if importlib.util.find_spec("matplotlib"):  # not a requirement of the tests against torch and JAX
    import matplotlib as mpl

    # In this process only: kernels that nbval starts choose the inline backend for themselves.
    mpl.use("agg")
