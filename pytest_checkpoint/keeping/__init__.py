"""What outlives an examination: recordings, evidence, wrecks, and where they lie."""
