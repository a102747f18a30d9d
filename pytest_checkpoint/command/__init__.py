"""``checkpoint-contracts``: the contracts in words, and a job that has died looked at."""
