"""From a batch to its file in memory: one forward pass, one copy from the device."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, Self

from checkpoint_runtime.extract.errors import ExtractError, ExtractInputError
from checkpoint_runtime.extract.file.header import Header
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.model.device import Arrival
from checkpoint_runtime.extract.model.gather import Gather
from checkpoint_runtime.extract.model.loading import Model
from checkpoint_runtime.extract.model.passes import Chunk, chunks
from checkpoint_runtime.extract.model.payload import HiddenStates
from checkpoint_runtime.extract.model.ring import HostBuffer, Ring
from checkpoint_runtime.extract.model.taps import Taps
from checkpoint_runtime.extract.parts import Batch

_HEADER_ROOM = 64 << 10
"""Of a buffer when it is made, in bytes: ids of usual length, and lengths. It grows for others."""
_PADDING = 1.25
"""A forward pass may have so many times the tokens of a batch, with what fills up."""


class Extractor:
    """Runs batches through a model. For one thread; what it returns may be used by others."""

    def __init__(
        self,
        model: Model,
        *,
        batch_tokens: int,
        buffers: int = 3,
        buffer_tokens: int | None = None,
        pass_tokens: int | None = None,
    ) -> None:
        """
        :param batch_tokens: of a batch, as the plan was made.
        :param buffers: of host memory, 1 or more: so many payloads may be held at a time.
        :param buffer_tokens: of device memory. A batch with more is copied in several pieces, each
            layer of each apart. None: as many as a batch has. One sample that is longer makes it
            grow.
        :param pass_tokens: that go through the model at once, with what fills up shorter samples.
            A batch that needs more goes through in several passes, but is copied once. None: a
            quarter more than a batch has.
        :raises ExtractInputError: there is no memory for the buffers.
        """
        self._torch = required("torch", "an extraction")
        self._model = model
        self._buffer_tokens = buffer_tokens or batch_tokens
        self._pass_tokens = pass_tokens or math.ceil(batch_tokens * _PADDING)
        self._taps = Taps(model.module, model.points)
        capacity = self._token_bytes * batch_tokens + _HEADER_ROOM
        try:
            self._gathers = [
                Gather(model, self._buffer_tokens) for _ in range(model.device.buffers)
            ]
            self._ring = Ring(buffers, capacity, model.device.host_memory)
        except RuntimeError as error:  # Out of memory is one, on the host and on the device.
            raise ExtractInputError(
                f"--batch-tokens {batch_tokens}: there is no memory for buffers of {capacity} "
                f"bytes each on {model.device.place} and on the host: {error!s:.200}"
            ) from error
        self.batches = 0
        """That were extracted."""
        self.copies = 0
        """From the device to the host: one for a batch that fits into the buffer."""

    def __enter__(self) -> Self:
        self._taps.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._taps.__exit__(kind, error, trace)
        self._ring.close()
        self._gathers.clear()

    def bound_bytes(self, batch: Batch) -> int:
        """The size of its file, exactly: it is known before the forward pass."""
        header = self._header(batch)
        return header.size + header.data_size

    def extract(self, batch: Batch, *, wait_s: float | None = None) -> HiddenStates:
        """Returns as soon as all is asked of the device; who uses the payload waits for it.

        :param wait_s: for a host buffer: they are free when payloads are released. None: as long
            as it takes.
        :raises ExtractError: no buffer became free, or the model failed.
        """
        if not self._gathers:
            raise ExtractError("the extraction has ended: no batch can be extracted any more")
        header = self._header(batch)
        # The flags of its tokens travel behind the tensors, and are no part of the file.
        buffer = self._ring.take(header.size + header.data_size + batch.token_count, wait_s)
        try:
            arrival = self._through(batch, header, buffer)
        except BaseException:
            self._ring.give(buffer)
            raise
        self.batches += 1
        return HiddenStates(batch, header, buffer, arrival, self._ring.give)

    @property
    def _token_bytes(self) -> int:
        """Of one token: its hidden states, and a flag."""
        model = self._model
        return len(model.layers) * model.hidden * model.stored.size + 1

    def _header(self, batch: Batch) -> Header:
        model = self._model
        return Header(
            batch,
            model.identity,
            label=model.stored.label,
            element_size=model.stored.size,
            hidden=model.hidden,
        )

    def _through(self, batch: Batch, header: Header, buffer: HostBuffer) -> Arrival:
        """The last copy: they arrive in order."""
        arrival: Arrival | None = None
        try:
            for chunk in chunks(
                batch.tokens, buffer_tokens=self._buffer_tokens, pass_tokens=self._pass_tokens
            ):
                arrival = self._chunk(chunk, batch, header, buffer)
        except self._torch.OutOfMemoryError as error:
            raise ExtractError(
                f"the batch {batch.number} of {batch.token_count} tokens does not fit into the "
                f"memory of {self._model.device.place}: lower --batch-tokens: {error!s:.200}"
            ) from error
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            raise ExtractError(
                f"the model failed at the batch {batch.number} (samples {batch.ids[0]!r} to "
                f"{batch.ids[-1]!r}): {type(error).__name__}: {error!s:.300}"
            ) from error
        if arrival is None:
            raise ExtractError(f"the batch {batch.number} holds no sample")
        return arrival

    def _chunk(self, chunk: Chunk, batch: Batch, header: Header, buffer: HostBuffer) -> Arrival:
        gather = self._gathers.pop(0)
        self._gathers.append(gather)
        gather.begin(chunk.token_count)
        for some in chunk.passes:
            gather.run(self._taps, some)
        pairs: list[tuple[Any, Any]] = gather.pieces(
            buffer.memory[header.size :], batch.token_count, chunk.first
        )
        self.copies += len(pairs)
        return gather.fetch(pairs)
