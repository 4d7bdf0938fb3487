"""The answer to each command, as text in the format that was asked for.

Every function takes what is to be shown, and the format ("plain", "json" or "json-pretty"), and
returns the text; PresentError is raised for a format that does not exist.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from typing import Callable, Optional

from ..advise.profiles import Profile
from ..advise.records import Recommendation
from ..rollout.records import RolloutState
from ..snapshot import Mode, Snapshot
from . import documents, subjects, tables
from .documents import Json
from .errors import PresentError
from .health import health_checks

__all__ = [
    'FORMATS',
    'PresentError',
    'check_format',
    'findings',
    'health_checks',
    'history',
    'mode',
    'osd',
    'osds',
    'plan',
    'profile',
    'profile_list',
    'recommend',
    'rollout',
    'show',
    'status',
    'workload',
]

FORMATS = ('plain', 'json', 'json-pretty')


def check_format(output_format: str) -> None:
    """Raise PresentError (EINVAL) for a format that does not exist, before anything is done."""
    if output_format not in FORMATS:
        raise PresentError(
            errno.EINVAL, f'"{output_format}" is no format; formats: {", ".join(FORMATS)}'
        )


def status(snapshot: Snapshot, output_format: str) -> str:
    return _render(
        lambda: documents.status(snapshot), lambda: tables.status(snapshot), output_format
    )


def osds(snapshot: Snapshot, output_format: str) -> str:
    return _render(lambda: documents.osds(snapshot), lambda: tables.osds(snapshot), output_format)


def osd(snapshot: Snapshot, osd_id: int, output_format: str) -> str:
    """Raises PresentError (ENOENT) for an OSD that does not exist."""
    check_format(output_format)
    detail = subjects.osd_detail(snapshot, osd_id)
    return _render(lambda: documents.osd(detail), lambda: tables.osd(detail), output_format)


def workload(snapshot: Snapshot, output_format: str) -> str:
    return _render(
        lambda: documents.workload(snapshot), lambda: tables.workload(snapshot), output_format
    )


def findings(snapshot: Snapshot, output_format: str) -> str:
    return _render(
        lambda: documents.findings(snapshot), lambda: tables.findings(snapshot), output_format
    )


def recommend(snapshot: Snapshot, output_format: str) -> str:
    return _render(
        lambda: documents.recommend(snapshot), lambda: tables.recommend(snapshot), output_format
    )


def show(recommendation: Recommendation, output_format: str) -> str:
    return _render(
        lambda: documents.show(recommendation), lambda: tables.show(recommendation), output_format
    )


def plan(recommendation: Recommendation, output_format: str) -> str:
    """What `apply` would do; raises PresentError (EINVAL) for what no rollout can carry out."""
    check_format(output_format)
    planned = subjects.plan(recommendation)
    return _render(lambda: documents.plan(planned), lambda: tables.plan(planned), output_format)


def rollout(state: Optional[RolloutState], output_format: str) -> str:
    """The rollout under way or the last one: also the answer to a command that changed it."""
    return _render(lambda: documents.rollout(state), lambda: tables.rollout(state), output_format)


def history(snapshot: Snapshot, output_format: str) -> str:
    records = snapshot.history
    return _render(
        lambda: documents.history(records), lambda: tables.history(records), output_format
    )


def mode(current: Mode, output_format: str) -> str:
    return _render(lambda: documents.mode(current), lambda: tables.mode(current), output_format)


def profile_list(profiles: Sequence[Profile], output_format: str) -> str:
    return _render(
        lambda: documents.profile_list(profiles),
        lambda: tables.profile_list(profiles),
        output_format,
    )


def profile(shown: Profile, output_format: str) -> str:
    return _render(lambda: documents.profile(shown), lambda: tables.profile(shown), output_format)


def _render(document: Callable[[], Json], plain: Callable[[], str], output_format: str) -> str:
    check_format(output_format)
    if output_format == 'plain':
        return plain()
    indent = 4 if output_format == 'json-pretty' else None
    # NaN and infinity are no JSON: `documents` leaves none, and this would tell.
    return json.dumps(document(), indent=indent, allow_nan=False)
