"""The likely causes of a marker without its object, and how to mend them."""

from __future__ import annotations

from typing import Final

TRUSTED: Final = (
    "The answer 200 is taken for the object itself, or only its size is looked at. Compare what "
    "the store holds with what was sent (a checksum that the store computes, or the bytes read "
    "back), send it again if it differs, and only then write the marker."
)
TOO_EARLY: Final = (
    "The marker is written before the upload has ended and been verified. Upload, verify, and then "
    "write the marker, durably: the other way round a crash in between leaves a lie."
)
PUBLISHED: Final = (
    "An upload is completed although an exception leaves its block (finally:, __exit__), so a part "
    "of the object stands under its final name. Complete it only at the end of a block that no "
    "exception left, and abort it otherwise."
)
LOST: Final = (
    "The job takes for uploaded what is not in the bucket. Verify by what the store holds, then "
    "write the marker; and let the resume upload what has no marker."
)
TRIPS: Final = (
    "What the disturbed upload left (an object that is there already, other bytes under the key) "
    "is in the way of the resume. Compare it with what is to be sent, and write over it if it "
    "differs."
)
