"""What the ledger promises, besides what every job does."""
