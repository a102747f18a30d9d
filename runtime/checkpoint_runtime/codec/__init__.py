"""What a stage returned, as text that can be read with ``cat``, and back exactly.

>>> encoded = encode({"frames": 42, "size": (640, 480)})
>>> encoded.text
'{"frames": 42, "size": {"$tuple": [640, 480]}}'
>>> decode(encoded.text, load=lambda name: b"")
{'frames': 42, 'size': (640, 480)}

Plain JSON stands as it is; every other kind is an object whose first key is its tag, and a tag
begins with ``$``. What is large goes to side files (:class:`Attachment`). Nothing is pickled and
nothing of the text is executed: classes are only looked up among those already imported. The table
of kinds is in docs/values.md.
"""

from checkpoint_runtime.codec.attachments import Attachment, name_of
from checkpoint_runtime.codec.decoding import decode
from checkpoint_runtime.codec.digests import digest
from checkpoint_runtime.codec.encoding import Encoded, encode
from checkpoint_runtime.codec.places import MAX_DEPTH
from checkpoint_runtime.codec.problems import UnreadableValueError, ValueProblem

__all__ = [
    "MAX_DEPTH",
    "Attachment",
    "Encoded",
    "UnreadableValueError",
    "ValueProblem",
    "decode",
    "digest",
    "encode",
    "name_of",
]
