"""Derive every state that a crash could leave from one recording."""
