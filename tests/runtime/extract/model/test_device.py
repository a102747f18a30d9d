"""Which device is meant, and in which order a GPU is asked for a copy. With a torch that only
notes what it is asked for: there is no GPU in most places where this runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.model import device
from checkpoint_runtime.extract.model.device import CpuDevice, CudaDevice, device_of


class Torch:
    """Notes, in order, what is asked of its streams."""

    uint8 = "uint8"
    __version__ = "2.13.0"

    def __init__(self, gpus: int) -> None:
        self.asked: list[str] = []
        self.gpus = gpus
        self.stream = "model"
        self.cuda = SimpleNamespace(
            is_available=lambda: gpus > 0,
            device_count=lambda: gpus,
            Stream=lambda place: Stream(self, "copies"),
            Event=lambda: Event(self),
            current_stream=lambda place: Stream(self, "model"),
            stream=self.on,
        )

    def device(self, kind: str, index: int = 0) -> str:
        return kind if kind == "cpu" else f"{kind}:{index}"

    @contextlib.contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        before, self.stream = self.stream, stream.name
        yield
        self.stream = before


class Stream:
    def __init__(self, torch: Torch, name: str) -> None:
        self.torch = torch
        self.name = name

    def wait_stream(self, other: Stream) -> None:
        self.torch.asked.append(f"{self.name} waits for {other.name}")

    def wait_event(self, event: Event) -> None:
        self.torch.asked.append(f"{self.name} waits for the event of {event.stream}")


class Event:
    def __init__(self, torch: Torch) -> None:
        self.torch = torch
        self.stream = ""

    def record(self, stream: Stream) -> None:
        self.stream = stream.name
        self.torch.asked.append(f"event on {stream.name}")

    def synchronize(self) -> None:
        self.torch.asked.append(f"the host waits for the event of {self.stream}")


class Host:
    def __init__(self, torch: Torch) -> None:
        self.torch = torch

    def copy_(self, source: str, *, non_blocking: bool) -> None:
        assert non_blocking
        self.torch.asked.append(f"copy {source} on {self.torch.stream}")


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("LOCAL_RANK", raising=False)

    def gpus(count: int) -> None:
        monkeypatch.setattr(device, "required", lambda name, purpose: Torch(count))

    return gpus


def test_a_copy_follows_the_forward_pass_and_what_overwrites_it_follows_the_copy() -> None:
    torch = Torch(1)
    gpu = CudaDevice(torch, 0)
    arrival = gpu.fetch([(Host(torch), "states")])
    gpu.after(arrival)
    arrival.wait()
    assert torch.asked == [
        "copies waits for model",
        "copy states on copies",
        "event on copies",
        "model waits for the event of copies",
        "the host waits for the event of copies",
    ]


@pytest.mark.parametrize(
    ("text", "count", "rank", "place"),
    [
        ("auto", 0, None, "cpu"),
        ("cpu", 2, None, "cpu"),
        ("auto", 2, None, "cuda:0"),
        ("auto", 2, "1", "cuda:1"),
        ("cuda", 2, "1", "cuda:1"),
        ("cuda:0", 2, "1", "cuda:0"),
        ("auto", 1, "3", "cuda:0"),  # Each worker is shown one of its own.
    ],
)
def test_places(
    gpus: Any,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    count: int,
    rank: str | None,
    place: str,
) -> None:
    gpus(count)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    found = device_of(text)
    assert found.place == place
    assert isinstance(found, CpuDevice if place == "cpu" else CudaDevice)


def test_places_that_are_none(gpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(text: str, message: str) -> None:
        with pytest.raises(ExtractInputError, match=message):
            device_of(text)

    gpus(0)
    refused("tpu", "--device tpu: auto, cpu, cuda or cuda:N is expected")
    refused("cuda", "sees no CUDA device. Give --device cpu")
    gpus(2)
    refused("cuda:2", "there is no CUDA device 2: there are 2, from 0")
    monkeypatch.setenv("LOCAL_RANK", "5")
    refused("auto", "there is no CUDA device 5")
    monkeypatch.setenv("LOCAL_RANK", "first")
    refused("auto", "LOCAL_RANK=first: a whole number is expected")
