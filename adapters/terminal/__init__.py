"""The terminal as a platform: chat windows that talk to the gateway over a Unix socket."""
