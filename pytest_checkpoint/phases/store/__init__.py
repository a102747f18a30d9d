"""Uploads: what becomes of them when the store lies, fails, refuses, or was changed."""
