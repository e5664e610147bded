"""What people say to findings without a command: in replies, by reactions, by what they do."""
