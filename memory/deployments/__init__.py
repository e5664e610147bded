"""What is deployed where, who works in which environment, and what people asked of it."""
