"""Hidden states of the tokens of a batch, of all wanted layers, in one piece of device memory."""

from __future__ import annotations

from typing import Any

from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.model.device import Arrival
from checkpoint_runtime.extract.model.loading import Model
from checkpoint_runtime.extract.model.passes import Pass, inputs_of
from checkpoint_runtime.extract.model.taps import Taps


class Gather:
    """Device memory laid out as the file is: [layers, tokens, hidden], and then a byte of flags
    for each token. Used again for batch after batch.
    """

    def __init__(self, model: Model, tokens: int) -> None:
        """
        :param tokens: that it has room for.
        """
        self._torch = required("torch", "an extraction")
        self._model = model
        self._dtype = model.stored.of(self._torch)
        self._limit = float(self._torch.finfo(self._dtype).max)
        self._memory = model.device.memory(self._size(tokens))
        self._fetched: Arrival | None = None
        self._count = 0
        self._states: Any = None
        self._flags: Any = None

    def begin(self, tokens: int) -> None:
        """For so many tokens. What it held is let go, once it was fetched."""
        if self._size(tokens) > self._memory.numel():
            if self._fetched is not None:
                self._fetched.wait()  # The memory is given back to the allocator.
            self._memory = self._model.device.memory(self._size(tokens))
        elif self._fetched is not None:
            self._model.device.after(self._fetched)
        self._count = tokens
        size = self._size(tokens) - tokens
        shape = (len(self._model.layers), tokens, self._model.hidden)
        self._states = self._memory[:size].view(self._dtype).view(shape)
        self._flags = self._memory[size : size + tokens]
        self._flags.zero_()

    def run(self, taps: Taps, samples: Pass) -> None:
        """A forward pass, whose valid tokens are put at their place."""
        model = self._model
        inputs = inputs_of(samples.tokens, pad=model.pad, masked=model.masked)
        there = model.device.there
        valid = None if inputs.valid is None else there(inputs.valid)
        here = slice(samples.first, samples.first + samples.token_count)
        flags = self._flags[here]

        def take(layer: int, states: Any) -> None:
            rows = states.reshape(-1, model.hidden)
            if valid is not None:
                rows = rows.index_select(0, valid)
            self._states[model.layers.index(layer), here].copy_(rows)
            # Of what the model gave: stored in a smaller type, an infinity may look like a number.
            limit = min(self._limit, self._torch.finfo(rows.dtype).max)
            low, high = self._torch.aminmax(rows, dim=-1)
            # Written so that a NaN, which is neither, is flagged.
            flags.logical_or_(~((low >= -limit) & (high <= limit)))

        taps.run(take, **{name: there(tensor) for name, tensor in inputs.named.items()})

    def pieces(self, host: Any, batch_tokens: int, first: int) -> list[tuple[Any, Any]]:
        """What is to be copied where: one piece, if this is the whole batch.

        :param host: memory for the tensors of the whole batch and the flags of its tokens.
        :param batch_tokens: of the whole batch.
        :param first: which of them is the first here.
        """
        size = self._size(self._count)
        if self._count == batch_tokens:
            return [(host[:size], self._memory[:size])]
        row = self._model.hidden * self._model.stored.size
        layer_bytes = self._count * row
        found = []
        for place in range(len(self._model.layers)):
            begin = (place * batch_tokens + first) * row
            source = self._memory[place * layer_bytes : (place + 1) * layer_bytes]
            found.append((host[begin : begin + layer_bytes], source))
        begin = len(self._model.layers) * batch_tokens * row + first
        found.append((host[begin : begin + self._count], self._flags))
        return found

    def fetch(self, pairs: list[tuple[Any, Any]]) -> Arrival:
        self._fetched = self._model.device.fetch(pairs)
        return self._fetched

    def _size(self, tokens: int) -> int:
        model = self._model
        return tokens * (len(model.layers) * model.hidden * model.stored.size + 1)
