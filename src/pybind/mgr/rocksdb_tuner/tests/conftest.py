"""One set of examples in CI, so that a change is judged and not the day; new ones elsewhere."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile('ci', derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'default'))
