"""What came of an execution, in the words of the evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from checkpoint_contracts.evidence import Execution
from pytest_checkpoint.phases.redaction import Redactor
from pytest_checkpoint.phases.store.reading import sent_bytes
from pytest_checkpoint.record.client import SlotClient, secrets_of, store_url
from pytest_checkpoint.record.request import Result

_KEPT_OUTPUT: Final = 64 << 10


class Wording:
    """Of one slot: its paths and ports are left out, and so are the secrets of the environment."""

    def __init__(self, client: SlotClient, environment: Mapping[str, str]) -> None:
        self._client: Final = client
        self._redact: Final = Redactor(secrets_of(environment))

    def execution(self, result: Result, *, is_check: bool = False) -> Execution:
        """In the words of the evidence; output made comparable between workspaces, and redacted."""
        output, errors = self.clean(result.output), self.clean(result.error_output)
        return Execution(
            exit_code=result.exit_code,
            signal=result.signal,
            timed_out=result.timed_out,
            wall_s=result.wall_s,
            user_cpu_s=result.user_cpu_s,
            startup_cpu_s=result.startup_cpu_s,
            bytes_written=result.workspace_bytes + sent_bytes(result.requests),
            operations=result.operations,
            output=_shortened(output) if is_check else _shortened(output + errors),
            error_output=_shortened(errors) if is_check else "",
            refusal=result.refusal,
            strayed=tuple(map(self.clean, result.strayed)),
            problem=result.problem,
        )

    def clean(self, text: str) -> str:
        """Made comparable between workspaces, and redacted: fit to be kept and shown."""
        text = text.replace(str(self._client.workspace), "{workspace}")
        text = text.replace(str(self._client.temporary), "$TMPDIR")
        if self._client.store_port:
            text = text.replace(store_url(self._client.store_port), "$AWS_ENDPOINT_URL")
        return self._redact(text)


def _shortened(text: str) -> str:
    """Long text: its end, and a digest of the whole, so that equal texts stay equal."""
    if len(text) <= _KEPT_OUTPUT:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]
    return f"[{len(text)} characters, sha256 {digest}; the end of it:]\n{text[-_KEPT_OUTPUT:]}"
