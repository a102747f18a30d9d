"""Say what was found: progress, failures, the matrix."""
