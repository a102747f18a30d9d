"""``inspect``: what a resume would do to the directory of a dead job, tried on a copy."""
