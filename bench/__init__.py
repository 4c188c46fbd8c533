"""Measures: each prints figures with a ratio to a floor or a peer of the same run, and judges nothing."""
