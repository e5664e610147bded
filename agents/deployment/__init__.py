"""The deployer: builds what was merged, and runs the command that brings it to its environment."""
