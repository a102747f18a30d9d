"""Samples whose text is another one than what is stored was made of: their ids do not tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.errors import ChangedDatasetError
from checkpoint_runtime.texts import counted

_SHOWN_IDS = 5


class Done(Protocol):
    """What a marker says."""

    @property
    def key(self) -> str: ...

    @property
    def ids(self) -> tuple[str, ...]: ...

    @property
    def digests(self) -> tuple[str, ...]:
        """Of each sample's tokens; none: it does not tell."""
        ...


def changed_samples(
    now: Iterable[tuple[str, str]], done: Mapping[str, Done], identity: Identity
) -> tuple[str, ...]:
    """In the order of the dataset.

    :param now: the id of each sample and the digest of its tokens.
    :param done: markers, by key. Those of another model, other layers or another type of elements
        do not count, and those without digests are believed.
    """
    telling = [one for key, one in done.items() if one.digests and identity.key(one.ids) == key]
    if not telling:
        return ()
    digests = dict(now)
    differing = {
        name
        for one in telling
        for name, digest in zip(one.ids, one.digests, strict=True)
        if digests.get(name) != digest
    }
    return tuple(name for name in digests if name in differing)


def changed_error(dataset: Path, changed: tuple[str, ...]) -> ChangedDatasetError:
    names = ", ".join(map(repr, changed[:_SHOWN_IDS])) + (" …" if len(changed) > _SHOWN_IDS else "")
    have, them = ("have", "them") if len(changed) > 1 else ("has", "it")
    return ChangedDatasetError(
        f"{dataset}: the dataset has changed since: {counted(len(changed), 'sample')} that {have} "
        f"been stored {have} other tokens now: {names}. Nothing was run. Give {them} another id; "
        "or keep what is stored as it is (--accept-changed); or extract all anew, with another "
        "--destination and --state."
    )
