"""Crash after crash: resumes are recorded, crashed in turn, and resumed from there."""
