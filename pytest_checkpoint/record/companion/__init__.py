"""A second command beside the job, under the same filter and in the same slot.

``plan`` says what is to be done and reads what came of it; ``program`` is the launcher that does
it, the root process of the execution.
"""
