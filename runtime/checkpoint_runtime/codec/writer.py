"""The walk over a value that becomes JSON: where it is, and what it has put aside."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from checkpoint_runtime.codec.attachments import Attachment
from checkpoint_runtime.codec.places import MAX_DEPTH, Aside, place
from checkpoint_runtime.codec.problems import ValueProblem
from checkpoint_runtime.codec.tensor_file import RawTensor, tensor_file


class Writer:
    """Handed to the function of each kind, which returns the JSON of one value.

    In it stand, in place of their names, the attachments themselves: those names take long to tell.
    After a refusal it cannot be used any further.
    """

    def __init__(self, dispatch: Callable[[Writer, object], object]) -> None:
        """``dispatch`` calls the function for the kind of a value."""
        self._dispatch = dispatch
        self._steps: list[object] = []
        self._attachments: list[Attachment] = []
        self._of: dict[int, tuple[object, Attachment]] = {}
        self._tensors: dict[str, RawTensor] = {}
        self._nodes: list[dict[str, object]] = []

    def json_of(self, value: object) -> object:
        """Of the whole value."""
        return self._dispatch(self, value)

    def within(self, step: object, value: object) -> object:
        """The JSON of a part: what a step (an index, a key, a Field, an Aside) leads to."""
        self._steps.append(step)
        if len(self._steps) > MAX_DEPTH:
            self.refuse(f"is nested more than {MAX_DEPTH} levels deep, or contains itself")
        json = self._dispatch(self, value)
        self._steps.pop()
        return json

    def refuse(self, problem: str) -> NoReturn:
        """
        :raises ValueProblem: always.
        """
        raise ValueProblem(place(self._steps), problem)

    @property
    def hashed(self) -> bool:
        """Whether this is a part of a key or of an element of a set."""
        # By identity: a key of the user's stands among the steps, and may compare as it likes.
        return any(step is Aside.KEY or step is Aside.ELEMENT for step in self._steps)

    def attach(self, suffix: str, content: bytes, of: object) -> dict[str, object]:
        """The JSON that refers to a side file with this content.

        :param of: the part of the value; one that stands in several places has one file.
        """
        known = self._of.get(id(of))
        if known is None:
            # The part is held, too: another one must not get its identity.
            known = self._of[id(of)] = of, self._attached(Attachment(suffix, [content]))
        return {"$file": known[1]}

    def put_in_tensor_file(self, node: dict[str, object], tensor: RawTensor) -> None:
        """``node`` gets the name of the file, and that of the tensor within, its place."""
        name = where = place(self._steps)
        # Two keys may look alike: NaN and NaN, or two long texts.
        while name in self._tensors:
            name = f"{where} ({len(self._tensors)})"
        self._tensors[name] = tensor
        node["name"] = name
        self._nodes.append(node)

    def finish(self) -> tuple[Attachment, ...]:
        """All side files. Only now do the nodes of tensors name theirs."""
        if self._tensors:
            attachment = self._attached(Attachment("safetensors", tensor_file(self._tensors)))
            for node in self._nodes:
                node["file"] = attachment
        return tuple(self._attachments)

    def _attached(self, attachment: Attachment) -> Attachment:
        self._attachments.append(attachment)
        return attachment
