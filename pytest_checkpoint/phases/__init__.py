"""The phases of an examination: control run, self-check, exploring; and the bench for them."""
