"""Where files wait for their upload: in bytes, bounded, and nothing that a restart believes."""
