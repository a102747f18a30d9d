"""What a commit costs: the runtime's, the plain way of replacing a file, and other packages'."""
