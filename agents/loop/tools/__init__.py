"""What an agent may do, besides answering: each tool says what it takes and answers with text."""
