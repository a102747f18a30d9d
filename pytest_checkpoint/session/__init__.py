"""The pytest side: options, collection, items, and how a verdict becomes an outcome."""
