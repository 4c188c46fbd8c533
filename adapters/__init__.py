"""The wing: each platform translated to and from one vocabulary."""
