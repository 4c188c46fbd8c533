"""Models that answer over a network, each behind `agents.base.Model`."""
