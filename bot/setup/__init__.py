"""The first run: pages that register the App on GitHub, check everything, and are gone afterwards."""
