"""A directory tree as a value: read it from disk, compare it, write it back."""
