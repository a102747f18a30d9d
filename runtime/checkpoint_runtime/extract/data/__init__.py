"""What is extracted: samples, their tokens, and which of them go through the model together."""
