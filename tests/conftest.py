"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# No test is timed: a loaded machine generates examples slowly, which says nothing about the code.
settings.register_profile("forge", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("forge")
