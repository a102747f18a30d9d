"""The file of one batch: safetensors, laid out in the memory that the copy arrives in."""
