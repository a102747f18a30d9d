"""Which paths a glob means."""

from __future__ import annotations

import pytest

from pytest_checkpoint.states.globs import Globs


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("report.json", b"w/report.json", True),
        ("./report.json", b"w/report.json", True),
        ("report.json", b"w/out/report.json", False),
        ("report.json", b"t/report.json", False),
        ("*", b"w/report.json", True),
        ("*", b"w/.hidden", True),
        ("*", b"w/out/report.json", False),
        ("*", b"w", False),
        ("out/*.json", b"w/out/a.json", True),
        ("out//*.json", b"w/out/a.json", True),
        ("out/*.json", b"w/out/a.json.tmp", False),
        ("out/?.json", b"w/out/a.json", True),
        ("out/?.json", b"w/out/ab.json", False),
        ("[!a-c].json", b"w/d.json", True),
        ("[!a-c].json", b"w/a.json", False),
        ("a?b", b"w/a/b", False),
        ("a[!x]b", b"w/a/b", False),
        ("A.json", b"w/a.json", False),
        ("**/*.pt", b"w/model.pt", True),
        ("**/*.pt", b"w/a/b/model.pt", True),
        ("out/**/*.pt", b"w/out/model.pt", True),
        ("out/**/*.pt", b"w/out/a/b/model.pt", True),
        ("out/**/*.pt", b"w/model.pt", False),
        ("out/**", b"w/out/a/b", True),
        ("out/**", b"w/out", False),
        ("**", b"w/a/b", True),
        ("**/a/**/b", b"w/a/b", True),
        ("**/a/**/b", b"w/x/a/y/z/b", True),
        ("**/a/**/b", b"w/x/a/y/z/c", False),
        ("new\nline*", b"w/new\nline\n2", True),
        ("\udcff*", b"w/\xff\xfe", True),
    ],
)
def test_a_glob_means(glob: str, path: bytes, matches: bool) -> None:
    assert Globs([glob]).match(path) is matches


def test_several_mean_what_any_of_them_means() -> None:
    globs = Globs(["a", "b/*"])
    assert [globs.match(path) for path in (b"w/a", b"w/b/c", b"w/c")] == [True, True, False]
    assert not Globs([]).match(b"w/a")
