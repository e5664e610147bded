"""What Forge learns from its runs, and the nightly order among its memories."""
