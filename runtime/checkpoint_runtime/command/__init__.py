"""``checkpoint-runtime``: run, resume and look at pipelines from the command line."""
