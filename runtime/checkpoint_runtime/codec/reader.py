"""What the functions that make values of JSON have at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from checkpoint_runtime.codec.attachments import suffix_of
from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.tensor_file import ReadTensor, read_tensor_file

T = TypeVar("T")

Body = Mapping[str, object]
"""A JSON object with a tag. The values within have already been made."""


class Reader:
    """Handed to the function of each tag, which returns one value."""

    def __init__(self, load: Callable[[str], bytes | memoryview]) -> None:
        self._load = load
        self._tensor_files: dict[str, dict[str, ReadTensor]] = {}
        self.tag = ""
        """What is being read, for messages."""
        self.load_error: Exception | None = None
        """What loading raised: nobody's to interpret."""

    def content(self, name: object, suffix: str) -> bytes | memoryview:
        """
        :raises UnreadableValueError: not a name of ours with this suffix.
        """
        found = suffix_of(name)
        if found != suffix:
            raise UnreadableValueError(f"a side file .{found} stands where .{suffix} belongs")
        try:
            return self._load(str(name))
        except Exception as error:
            self.load_error = error
            raise

    def text(self, name: object, suffix: str) -> str:
        return str(self.content(name, suffix), "utf-8", "surrogatepass")

    def tensor(self, file_name: object, name: object) -> ReadTensor:
        """A tensor of a file: once, because its memory becomes that of the array."""
        if file_name not in self._tensor_files:
            tensors = read_tensor_file(self.content(file_name, "safetensors"))
            self._tensor_files[str(file_name)] = tensors
        found = self._tensor_files[str(file_name)].pop(str(name), None)
        if found is None:
            raise UnreadableValueError(f"{file_name} holds no tensor {name!r:.100}")
        return found


def expect(kind: type[T], value: object, what: str) -> T:
    """The value, if it is exactly of this type: True is not a number here.

    :raises UnreadableValueError: it is not; ``what`` names it.
    """
    if type(value) is not kind:
        raise UnreadableValueError(
            f"{what} should be of type {kind.__name__}, not {type(value).__name__}"
        )
    return value
