"""The fixture that these tests stand on."""

from __future__ import annotations

import pytest

from tests.acceptance.sessions import Workplace


@pytest.fixture
def workplace(pytester: pytest.Pytester) -> Workplace:
    return Workplace(pytester)
