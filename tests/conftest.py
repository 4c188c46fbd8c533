"""What all tests share: property tests have no deadline, because a busy machine is not a fault."""

from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")
