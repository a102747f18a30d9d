"""Where the object store is, as whoever carries out a command is told."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final, Self

from pytest_checkpoint.record.store.signing import Credentials

REGION: Final = "us-east-1"
OWN: Final = Credentials("checkpoint", "checkpoint", REGION)
"""What the job gets; the embedded store takes any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where the store is, and what of it is ours. Plain data: part of a Request."""

    listener: int
    """The server's listening socket, which the job sends its requests to."""
    host: str
    port: int
    secure: bool = False
    bucket: str
    prefix: str = ""
    embedded: bool = True
    """The kit's own store; else the user's, with credentials from the environment."""

    @classmethod
    def load(cls, record: dict[str, Any]) -> Self:
        return cls(**record)

    @property
    def credentials(self) -> Credentials:
        if self.embedded:
            return OWN
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or REGION
        return Credentials(
            os.environ.get("AWS_ACCESS_KEY_ID", ""),
            os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
            region,
            os.environ.get("AWS_SESSION_TOKEN", ""),
        )
