"""What the job sends out: read, and its replies lost."""
