"""Warm starts: an interpreter that has its imports loaded, forked for every resume and check."""
