"""The same jobs on a small tmpfs and with a quota of that size."""
