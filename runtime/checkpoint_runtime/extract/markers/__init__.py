"""What is done, and stays known when all else is lost: one small durable record for each batch."""
