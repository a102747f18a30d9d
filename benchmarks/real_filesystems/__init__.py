"""Real file systems on a device whose every write and flush is seen: see validate_models.py."""
