"""Compare what was found on a device with what the models allow at that moment.

A device state is taken at a length of its log. At that moment so many operations of the writer were
over, and perhaps one more had begun. What is found must be allowed right after the last that was
over; or, if another had begun, right after that one, of which a part may be there already. Where
several operations passed without a write to the device, it must be allowed at each of them: the
power may go at any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.real_filesystems.images import DeviceState
from benchmarks.real_filesystems.run import Run
from benchmarks.real_filesystems.writers import Writer
from pytest_checkpoint.states.power_loss.crashes import PowerLoss
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.compare import key
from pytest_checkpoint.tree.image import Image

Moment = tuple[int, bool]
"""Operations that were over, and whether the next one had begun."""


@dataclass(frozen=True, slots=True)
class Outside:
    """A tree that a model does not allow."""

    model: Model
    moment: Moment
    image: Image
    reason: str


@dataclass(slots=True)
class Judge:
    """All models of one writer; each question is answered once."""

    writer: Writer
    models: Mapping[Model, PowerLoss] = field(init=False)
    outside: dict[Model, list[Outside]] = field(init=False)
    images: dict[bytes, Image] = field(default_factory=dict)
    moments: dict[bytes, set[Moment]] = field(default_factory=dict)
    """Tree → when it was found."""

    def __post_init__(self) -> None:
        self.models = models_of(self.writer)
        self.outside = {model: [] for model in self.models}

    def see(self, image: Image, moments: Sequence[Moment]) -> None:
        tree = key(image)
        self.images.setdefault(tree, image)
        known = self.moments.setdefault(tree, set())
        for moment in moments:
            if moment not in known:
                known.add(moment)
                self._judge(image, moment)

    def _judge(self, image: Image, moment: Moment) -> None:
        for model, power_loss in self.models.items():
            reason = refusal(power_loss, image, moment)
            if reason is not None:
                self.outside[model].append(Outside(model, moment, image, reason))


def models_of(writer: Writer) -> dict[Model, PowerLoss]:
    timeline = Timeline(writer.start, b"", writer.operations)
    return {
        model: PowerLoss(writer.start, b"", writer.operations, model, timeline=timeline)
        for model in Model
    }


def refusal(power_loss: PowerLoss, image: Image, moment: Moment) -> str | None:
    """None if the model allows the tree at that moment, else why not."""
    done, begun = moment
    reason = power_loss.allows(image, done)
    if reason is not None and begun and power_loss.allows(image, done + 1) is None:
        return None
    return reason


def moments_of(run: Run, position: int, state: DeviceState) -> list[Moment]:
    """When the device may have been found in that state, its log being that long."""
    if state.cut is None:
        return list(run.steps_at(position))
    # A write that was on its way: right before it completed.
    return [run.end_of(position)]
