"""What the runtime keeps on disk: the log of commits, the side files that it names, the scratch."""
