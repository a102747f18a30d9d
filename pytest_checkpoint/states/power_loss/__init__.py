"""What a power loss may leave of a recorded run: begin to read with :mod:`.models`."""
