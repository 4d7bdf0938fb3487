"""The built tab of the dashboard: where it is, and how it gets there."""

from __future__ import annotations

from pathlib import Path

from .errors import CancelledError, HarnessError
from .host import Host
from .layout import CHECKOUT
from .packages import INSTALL_TIMEOUT_S
from .progress import Progress

NAME = '_rocksdb_tuner_tab.js'
DROPIN = CHECKOUT / 'contrib/dashboard-dropin'
#: A release tarball has it, built; a checkout builds it.
_PLACES = (DROPIN / 'tab/released' / NAME, CHECKOUT / 'build/dashboard' / NAME)


def bundle() -> Path | None:
    """The built tab; None: there is none."""
    return next((place for place in _PLACES if place.is_file()), None)


def build(progress: Progress) -> None:
    """Build the tab from its source, unless it is there already."""
    released, _ = _PLACES
    if released.is_file():
        return
    with progress.step('build the tab of the dashboard'):
        Host().run(['make', '-s', '-C', str(CHECKOUT), 'tab'], timeout_s=INSTALL_TIMEOUT_S)


def build_if_possible(progress: Progress) -> None:
    """As `build`; a failure is only reported: the dashboard is useful without the tab."""
    try:
        build(progress)
    except CancelledError:
        raise
    except HarnessError as error:
        progress.say(f'the dashboard comes up without the tab: {error}')
