"""Functions as commands: named by file and name, imported and called in a process of their own."""
