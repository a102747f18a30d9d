"""Faults that answer, planned and tried: full disk, failing calls, signals, kills in a row."""
