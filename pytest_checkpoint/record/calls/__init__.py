"""How the supervisor carries out each stopped call, a module per family.

A handler takes the :class:`~pytest_checkpoint.record.recorder.Recorder`, the caller and the call's
six arguments. It does the call itself where the recorded tree is concerned, so that what is written
down and what is on disk cannot differ, and says with a reply what the caller gets. Everything else
is passed on to the kernel.
"""
