"""Two starts on one workspace, and what a dead owner leaves: the trials of ``one-writer``."""
