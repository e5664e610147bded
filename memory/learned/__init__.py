"""What Forge learned: memories, recall, consolidation."""
