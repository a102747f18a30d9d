"""What the ledger needs to run."""
