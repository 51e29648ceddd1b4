"""Print what was planted and what noticed it."""

import pytest

from tests.mutation.measure import measure
from tests.mutation.table import CONTROLS, TABLE

MEASURED = pytest.StashKey()


@pytest.fixture(scope="session")
def measured(request):
    """{name: Noticed} for all planted mistakes and the controls."""
    request.config.stash[MEASURED] = measure(TABLE + CONTROLS)
    return request.config.stash[MEASURED]


def pytest_terminal_summary(terminalreporter, config):
    measured = config.stash.get(MEASURED, None)
    if measured is None:
        return
    terminalreporter.section("planted mistakes")
    for one in TABLE:
        verdict = "killed" if measured[one.name].killed else "SURVIVED"
        where = f"{one.units[0]}, {one.chapter}: {one.cell}"
        terminalreporter.write_line(f"{verdict:8} {one.name:26} {where}")
    killed = sum(measured[one.name].killed for one in TABLE)
    terminalreporter.write_line(f"killed {killed} / {len(TABLE)} planted")
