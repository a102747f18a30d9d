"""The file of one batch in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

from checkpoint_runtime.extract.crc import combined, crc64nvme
from checkpoint_runtime.extract.errors import ExtractError
from checkpoint_runtime.extract.file.header import Header
from checkpoint_runtime.extract.model.device import Arrival
from checkpoint_runtime.extract.model.ring import HostBuffer
from checkpoint_runtime.extract.parts import Batch


class HiddenStates:
    """A payload whose bytes may still be under way: who asks for them waits for them.

    So the thread that extracts goes on with the next batch, and the one that stages waits.
    """

    def __init__(
        self,
        batch: Batch,
        header: Header,
        buffer: HostBuffer,
        arrival: Arrival,
        give_back: Callable[[HostBuffer], None],
    ) -> None:
        self.batch = batch
        self._header = header
        self._buffer: HostBuffer | None = buffer
        self._arrival = arrival
        self._give_back = give_back
        self._lock = threading.Lock()
        self._crc64nvme: int | None = None

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return self._header.size + self._header.data_size

    @property
    def content(self) -> memoryview:
        """The whole file. Valid until :meth:`release`.

        :raises ExtractError: it was released, or the device failed.
        """
        return self._finished()[0].view[: self.size]

    @property
    def crc64nvme(self) -> int:
        """Of the content."""
        return self._finished()[1]

    @property
    def not_finite(self) -> tuple[str, ...]:
        """Ids of samples that have a hidden state with a NaN, an infinity, or a number that is too
        large for the stored type.
        """
        buffer, _ = self._finished()
        count = self.batch.token_count
        flags = buffer.view[self.size : self.size + count]
        if not any(flags):
            return ()
        found: list[str] = []
        first = 0
        for name, tokens in zip(self.batch.ids, self.batch.tokens, strict=True):
            if any(flags[first : first + len(tokens)]):
                found.append(name)
            first += len(tokens)
        return tuple(found)

    def release(self) -> None:
        """Its buffer may be filled again. More than once is no harm.

        :raises ExtractError: the device failed: the buffer is lost.
        """
        with self._lock:
            buffer, self._buffer = self._buffer, None
            if buffer is None:
                return
            # Nothing may arrive any more in what is filled again.
            self._arrived()
            self._give_back(buffer)

    def _finished(self) -> tuple[HostBuffer, int]:
        """The buffer with the file in it, and the checksum of the file."""
        with self._lock:
            buffer = self._buffer
            if buffer is None:
                raise ExtractError(f"the batch {self.batch.key} was released already")
            if self._crc64nvme is None:
                self._arrived()
                data = buffer.view[self._header.size : self.size]
                of_data = crc64nvme(data)
                header = self._header.encoded(of_data)
                buffer.view[: self._header.size] = header
                self._crc64nvme = combined(crc64nvme(header), of_data, len(data))
            return buffer, self._crc64nvme

    def _arrived(self) -> None:
        try:
            self._arrival.wait()
        except RuntimeError as error:
            raise ExtractError(
                f"the device failed at the batch {self.batch.key}: {error!s:.300}"
            ) from error
