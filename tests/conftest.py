"""What all tests share: properties have no deadline and the same examples each time; no skipping of contracts on CI."""

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)  # a busy machine is no fault, nor is bad luck
settings.register_profile("search", deadline=None)  # --hypothesis-profile=search looks for new examples
settings.load_profile("house")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """On CI a contract that is not tried counts as broken."""
    report = yield
    if report.skipped and "CI" in os.environ and item.get_closest_marker("contract"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped; on CI every contract has to be tried"
    return report
