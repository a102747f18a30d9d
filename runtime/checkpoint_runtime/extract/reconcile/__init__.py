"""What the store holds against what the markers say: one sweep, and what follows from it."""
