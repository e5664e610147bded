"""The parts of GitHub's answers that Forge reads, validated, and how they become the domain's words."""
