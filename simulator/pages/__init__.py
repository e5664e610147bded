"""The simulated GitHub in a browser: plain HTML from the server, for whoever you choose to be."""

from simulator.pages.site import Site

__all__ = ["Site"]
