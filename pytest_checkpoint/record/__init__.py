"""Record one run of a subject at the system-call level."""
