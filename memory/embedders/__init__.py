"""Embedders: what turns text into vectors, behind one port."""
