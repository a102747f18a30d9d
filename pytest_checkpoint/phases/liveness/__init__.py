"""Watched runs: stopped, killed, slowed, blocked, while somebody asks how the worker is."""
