"""Questions to people: asked once, shown on GitHub, decided once."""
