"""One set of examples in CI, so that a change is judged and not the day; new ones elsewhere."""

import os

from hypothesis import HealthCheck, settings

# How long an example takes is no matter of right or wrong, least of all on a machine at work.
settings.register_profile('default', deadline=None)
settings.register_profile(
    'ci',
    deadline=None,
    derandomize=True,
    # `make fuzz` tries more
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'default'))
