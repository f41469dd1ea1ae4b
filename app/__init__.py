"""Palimpsest: chat with a memory-backed agent, and look after what it remembers."""

__version__ = "0.1.0"
