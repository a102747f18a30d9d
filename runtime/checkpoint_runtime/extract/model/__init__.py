"""The model, the layers that are wanted of it, and the way of hidden states to host memory."""
