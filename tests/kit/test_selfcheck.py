"""Which of the runs that are really killed may start warm."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_checkpoint.phases import selfcheck
from pytest_checkpoint.phases.selfcheck import self_check
from pytest_checkpoint.report.progress import SilentProgress


@pytest.mark.parametrize(
    ("warm", "started"), [(False, [False] * 3), (True, [False, True, True])], ids=["cold", "warm"]
)
def test_the_first_is_fresh(
    monkeypatch: pytest.MonkeyPatch, warm: bool, started: list[bool]
) -> None:
    seen: list[bool] = []

    def killed(bench: object, step: int, *, warm: bool) -> list[str]:
        seen.append(warm)
        return []

    monkeypatch.setattr(selfcheck, "kill_and_compare", killed)
    bench: Any = SimpleNamespace(put=lambda state: None)
    control: Any = SimpleNamespace(recording=SimpleNamespace(operations=[None] * 9), start=None)
    assert self_check(bench, control, 3, SilentProgress(), warm=warm) == ()
    assert seen == started
