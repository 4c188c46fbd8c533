"""What reading a time may raise."""


class NotATime(Exception):
    """What was said is no time that can be used; the sentence says why, and what would do."""
