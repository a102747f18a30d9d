"""A staging as a user declares it: what is taken, and the sentence for what is not."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from pytest_checkpoint.api import Staging
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session import stagings
from pytest_checkpoint.subject import StagingPlace

PATH, BOUND = "--checkpoint-staging", "--checkpoint-staging-bound"


def test_it_is_taken_as_it_is() -> None:
    expected = StagingPlace(path=PurePosixPath("a/b"), bound_bytes=8_000_000)
    given = stagings.of_options({PATH: ["a/b"], BOUND: ["8MB"]})
    assert stagings.checked("staging", given) == expected
    assert stagings.of_options({}) is None
    assert stagings.checked("staging", None) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("staging", "must be Staging(path, bound_bytes)"),
        (Staging("", 1), "the path of a directory in the workspace"),
        (Staging("/dev/shm/x", 1), "must be relative to the workspace, and stay in it"),
        (Staging("../x", 1), "must be relative to the workspace, and stay in it"),
        (Staging(".", 1), "must be relative to the workspace, and stay in it"),
        (Staging("{workspace}/x", 1), "must be relative to the workspace, and stay in it"),
        (Staging("x", 0), "bound_bytes must be a whole number of 1 or more, not 0"),
        (Staging("x", True), "bound_bytes must be a whole number of 1 or more, not True"),
    ],
)
def test_what_is_wrong_is_said(given: object, said: str) -> None:
    with pytest.raises(UserError) as error:
        stagings.checked("subject 'x': staging", given)
    assert str(error.value).startswith("subject 'x': staging")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({PATH: ["x"]}, f"{PATH} needs {BOUND} SIZE"),
        ({BOUND: ["1"]}, f"{BOUND} given without {PATH} PATH"),
        ({PATH: ["x"], BOUND: ["much"]}, "'much' is no size"),
    ],
)
def test_each_option_needs_the_other(parts: dict[str, list[str]], said: str) -> None:
    with pytest.raises(UserError) as error:
        stagings.of_options(parts)
    assert said in str(error.value)


def test_the_capability_is_declared_by_the_directory() -> None:
    none = frozenset[str]()
    assert stagings.with_staging("subject", none, declared=True) == {"staging"}
    assert stagings.with_staging("subject", none, declared=False) == none
    with pytest.raises(UserError, match=r"staging=Staging\(path, bound_bytes\)"):
        stagings.with_staging("subject", frozenset({"staging"}), declared=False)
