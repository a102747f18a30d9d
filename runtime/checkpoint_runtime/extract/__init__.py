"""Hidden states of a model, extracted on a device, staged, stored, and only then marked as done."""
