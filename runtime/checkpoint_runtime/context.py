"""What a stage is given: what its inputs returned, its parameters, and where it may work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from checkpoint_runtime.errors import ContextError


class Results(Mapping[str, Any]):
    """Stage name → what the stage returned.

    Values are read back from their committed form, in the first run as after a resume, and each
    mapping has its own: what one stage does to a list it was given, no other stage sees.
    """

    def __init__(self, names: Sequence[str], load: Callable[[str], Any]) -> None:
        self._names = dict.fromkeys(names)
        self._load = load
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, stage: str) -> Any:
        if stage not in self._loaded:
            if stage not in self._names:
                raise self._unknown(stage)
            self._loaded[stage] = self._load(stage)
        return self._loaded[stage]

    def __contains__(self, stage: object) -> bool:
        return stage in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._names))})"

    def _unknown(self, stage: str) -> KeyError:
        return KeyError(f"{stage!r} is not a stage that is done by now")


class Context(Results):
    """What one attempt at a stage is given: its inputs' values by name, and these."""

    def __init__(
        self,
        *,
        stage: str,
        attempt: int,
        inputs: Sequence[str],
        stages: Sequence[str],
        load: Callable[[str], Any],
        parameters: Mapping[str, Any],
        workspace: Path,
        scratch: Callable[[], Path],
        advance: Callable[[int, int | None], None],
        effect: Callable[..., Any],
    ) -> None:
        """
        :param stages: all of the pipeline, in their order.
        """
        super().__init__(inputs, load)
        self._stages = stages
        self.stage = stage
        """Its own name."""
        self.attempt = attempt
        """Counts from 1 and goes on across crashes until the stage is done."""
        self.parameters = parameters
        """What the run was given; the same after a resume."""
        self.workspace = workspace
        """The directory that holds all of the job's files."""
        self._scratch = scratch
        self._advance = advance
        self._effect = effect

    @property
    def scratch(self) -> Path:
        """A directory of this stage's own: empty at each attempt, gone once the stage is done."""
        return self._scratch()

    def advance(self, by: int = 1, total: int | None = None) -> None:
        """Say that the stage has got on, by so much: who watches tells that from mere life.

        Costs a few microseconds, and does nothing in a process that the stage has forked.

        :param total: how much there is in all.
        :raises DefinitionError: no number from 0 on.
        """
        self._advance(by, total)

    def effect(
        self,
        kind: str,
        key: str,
        send: Callable[[str], Any],
        confirm: Callable[[str], Any] | None = None,
    ) -> Any:
        """Do something elsewhere, once: send a mail, publish a file, deploy, pay.

        >>> def publish(context: Context) -> str:
        ...     return context.effect("publish", "2031-04-01", lambda key: put(page, header=key))

        That it is about to be sent is durable before, and what it gave after. Where that is
        recorded, in a later attempt say, nothing is sent, and it is returned.

        :param kind: what is done, ``"publish"``.
        :param key: which one of these, of all that this stage will ever do in any workspace: the
            date or number of the job belongs into it.
        :param send: does it. It is given 32 hexadecimal digits that tell this effect from every
            other one, the same in each attempt, for the receiver to know it by. What it returns
            must be a value that can be kept. If it raises :class:`EffectNotSent`, nothing has
            happened; whatever else it raises leaves that open.
        :param confirm: asked, with the same digits, if that is open: what the effect gave if it has
            happened (True, say), None if it has not; then it is sent again.
        :returns: what it gave, as it is read back.
        :raises EffectUncertainError: it may have happened, and there is nobody to ask.
        :raises EffectOutcomeError: it has happened, and what it gave cannot be kept.
        :raises DefinitionError: the kind or the key is no printable text.
        :raises CommitError: something could not be recorded. If that was the intent, nothing has
            been sent; if not, it says so.
        """
        return self._effect(self.stage, kind, key, send, confirm)

    def _unknown(self, stage: str) -> KeyError:
        asked = f"stage {self.stage!r} asked for {stage!r}, which"
        if stage not in self._stages:
            return ContextError(f"{asked} is no stage of its pipeline.")
        if self._stages.index(stage) >= self._stages.index(self.stage):
            return ContextError(
                f"{asked} is not defined before it: a stage is given what earlier ones returned. "
                f"Define {stage!r} first, then name it, after={[*self._names, stage]!r}."
            )
        return ContextError(
            f"{asked} is not an input of it: name it, after={[*self._names, stage]!r}. A stage is "
            "given what it names, so that a resume knows what it was made of."
        )
