"""Where the model runs, and how bytes come from there to the host."""

from __future__ import annotations

import os
import re
from typing import Any, Protocol

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.libraries import required


class Arrival(Protocol):
    """A copy that was asked for."""

    def wait(self) -> None:
        """Until all its bytes are there."""
        ...


class Device(Protocol):
    """What an extraction asks of a device. A test has one that counts."""

    place: Any
    """A ``torch.device``."""
    buffers: int
    """How many of device memory: two where a copy goes on beside the next batch."""

    def memory(self, size: int) -> Any:
        """Bytes on the device, as a tensor."""
        ...

    def host_memory(self, size: int) -> Any:
        """Bytes on the host that a copy from the device can arrive in."""
        ...

    def there(self, tensor: Any) -> Any:
        """The tensor, on the device."""
        ...

    def fetch(self, pairs: list[tuple[Any, Any]]) -> Arrival:
        """Copy to the host what has been asked of the device so far.

        :param pairs: of host memory and device memory.
        """
        ...

    def after(self, arrival: Arrival) -> None:
        """What is asked of the device from here on may overwrite what was fetched."""
        ...


class _Arrived:
    def wait(self) -> None:
        """Nothing to wait for: on the CPU a copy is made when it is asked for."""


class CpuDevice:
    """The same way, without streams."""

    buffers = 1

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.place = torch.device("cpu")

    def memory(self, size: int) -> Any:
        return self._torch.empty(size, dtype=self._torch.uint8)

    def host_memory(self, size: int) -> Any:
        return self._torch.empty(size, dtype=self._torch.uint8)

    def there(self, tensor: Any) -> Any:
        return tensor

    def fetch(self, pairs: list[tuple[Any, Any]]) -> Arrival:
        for host, device in pairs:
            host.copy_(device)
        return _Arrived()

    def after(self, arrival: Arrival) -> None:
        arrival.wait()


class _CudaArrival:
    def __init__(self, event: Any) -> None:
        self.event = event

    def wait(self) -> None:
        self.event.synchronize()


class CudaDevice:
    """Copies on a stream of their own, into pinned memory, beside the next batch's work."""

    buffers = 2

    def __init__(self, torch: Any, index: int) -> None:
        self._torch = torch
        self.place = torch.device("cuda", index)
        self._copies = torch.cuda.Stream(self.place)

    def memory(self, size: int) -> Any:
        return self._torch.empty(size, dtype=self._torch.uint8, device=self.place)

    def host_memory(self, size: int) -> Any:
        return self._torch.empty(size, dtype=self._torch.uint8, pin_memory=True)

    def there(self, tensor: Any) -> Any:
        return tensor.pin_memory().to(self.place, non_blocking=True)

    def fetch(self, pairs: list[tuple[Any, Any]]) -> Arrival:
        cuda = self._torch.cuda
        self._copies.wait_stream(cuda.current_stream(self.place))
        with cuda.stream(self._copies):
            for host, device in pairs:
                host.copy_(device, non_blocking=True)
            arrived = cuda.Event()
            arrived.record(self._copies)
        return _CudaArrival(arrived)

    def after(self, arrival: Arrival) -> None:
        # The device waits, not this thread.
        if isinstance(arrival, _CudaArrival):
            self._torch.cuda.current_stream(self.place).wait_event(arrival.event)


def device_of(text: str) -> Device:
    """
    :param text: ``cpu``, ``cuda``, ``cuda:N``, or ``auto``: a GPU if there is one; among several
        that of ``LOCAL_RANK``, which torchrun sets.
    :raises ExtractInputError: it is none of them, or there is no such device.
    """
    torch = required("torch", "an extraction")
    form = re.fullmatch(r"auto|cpu|cuda(?::([0-9]{1,4}))?", text)
    if form is None:
        raise ExtractInputError(f"--device {text}: auto, cpu, cuda or cuda:N is expected")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if text == "cpu" or (text == "auto" and not count):
        return CpuDevice(torch)
    if not count:
        raise ExtractInputError(
            f"--device {text}: this torch ({torch.__version__}) sees no CUDA device. Give "
            "--device cpu, or look at the driver and at CUDA_VISIBLE_DEVICES"
        )
    # A launcher that shows each worker one device numbers them all 0.
    index = int(form[1]) if form[1] else _local_rank() if count > 1 else 0
    if index >= count:
        raise ExtractInputError(
            f"--device {text}: there is no CUDA device {index}: there are {count}, from 0"
        )
    return CudaDevice(torch, index)


def _local_rank() -> int:
    text = os.environ.get("LOCAL_RANK", "0")
    if not re.fullmatch("[0-9]{1,4}", text):
        raise ExtractInputError(f"LOCAL_RANK={text}: a whole number is expected")
    return int(text)
