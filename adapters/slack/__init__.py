"""Slack: pure translation of events and calls, and the shell that connects by Socket Mode."""
