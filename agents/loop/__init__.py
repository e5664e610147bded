"""The loop of every agent, its turns and its tools."""
