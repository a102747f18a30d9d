"""One writer per workspace: who comes second is refused at once, and told who was first."""
