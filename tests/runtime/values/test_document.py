"""Every row of docs/values.md is what the code does: these texts stand in states for years."""

from __future__ import annotations

import datetime
import re
import sys
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import ModuleType
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from checkpoint_runtime import codec
from checkpoint_runtime.codec.kinds import READ
from tests.runtime.values.exactness import is_same

PAGE = (Path(__file__).parents[3] / "docs" / "values.md").read_text(encoding="utf-8")
ROWS: list[tuple[str, str, str]] = re.findall(
    r"^\| ([^|]+) \| `([^`|]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE
)
KINDS = (OrderedDict, Decimal, Fraction, Path, PurePosixPath, UUID, ZoneInfo)


@pytest.mark.parametrize(("kind", "value", "text"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_is_what_the_code_does(
    kind: str, value: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = ModuleType("film")
    monkeypatch.setitem(sys.modules, "film", film)
    [program] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(program, vars(film))
    known = {**vars(datetime), **vars(film), **{one.__name__: one for one in KINDS}}
    for library in ("numpy", "torch", "safetensors"):
        if f"{library}." in value or f".{library}" in text:
            known[library] = pytest.importorskip(
                library, reason=f"{library} is not installed: its row is not tried"
            )
    original = eval(value, known)
    encoded = codec.encode(original)
    files = {attachment.name: attachment.content() for attachment in encoded.attachments}
    assert encoded.text == text
    assert is_same(codec.decode(text, files.__getitem__), original)


def test_the_page_has_a_row_for_every_tag() -> None:
    missing = [tag for tag in READ if f'{{"{tag}":' not in PAGE]
    assert missing == []
    assert len(ROWS) == PAGE.count("` |\n")
