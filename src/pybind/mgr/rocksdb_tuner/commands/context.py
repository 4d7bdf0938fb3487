"""The context of command handlers.

Errors that are reported to the client of a command."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Optional

from ..advise.custom_profiles import CustomProfiles
from ..advise.facts import first_remove
from ..advise.records import OsdFacts, Recommendation
from ..mgr.protocols import CommandError
from ..operations.phases import OperationRefused
from ..options.verdict import BadQuestionError
from ..plan.entries import reaches
from ..requests import BusyError
from ..settings import ReadOption, SettingError, Settings, read, read_mode, read_settings
from ..snapshot import Mode, Snapshot
from ..tuner import Tuner
from ..units import natural

#: Errors with an errno and a text for operators.
REPORTED = (BadQuestionError, OperationRefused, CommandError, BusyError, SettingError)

#: The actor until the audit log names the client, which the mgr does not pass to modules.
OPERATOR = 'operator'
#: Browsers repeat the report while the problem lasts, but do not report its end.
TAB_NOTICE_S = 86400.0


class Context:
    """Shared by all threads that answer commands."""

    def __init__(
        self,
        tuner: Callable[[], Tuner],
        profiles: CustomProfiles,
        option: ReadOption,
        set_mode: Callable[[Mode], None],
        metrics_url: Callable[[], Optional[str]],
    ) -> None:
        """``option`` reads an option of the module; ``set_mode`` sets that one.

        ``metrics_url``: where metrics are served, or None.
        """
        self._tuner = tuner
        self._option = option
        self.profiles = profiles
        self.set_mode = set_mode
        self.metrics_url = metrics_url
        #: A report takes long: any number of readers uses at most one core.
        self.writing_report = threading.Lock()
        #: The actor of each thread, unless it is the command line.
        self._caller = threading.local()
        #: Until when the tab is reported as missing, on the monotonic clock.
        self._tab_notice_until_s = float('-inf')

    @property
    def tuner(self) -> Tuner:
        return self._tuner()

    @property
    def snapshot(self) -> Snapshot:
        return self.tuner.snapshot

    def settings(self) -> Settings:
        """The current options; raises SettingError, as does `mode`."""
        return read_settings(self._option)

    def mode(self) -> Mode:
        return read_mode(self._option)

    def metrics_enabled(self) -> bool:
        return bool(read('metrics', self._option))

    @property
    def actor(self) -> str:
        """The actor of the calling thread."""
        return getattr(self._caller, 'actor', OPERATOR)

    @contextmanager
    def acting_for(self, actor: str) -> Iterator[None]:
        """Attribute the actions of the calling thread to ``actor`` of another module."""
        self._caller.actor = actor
        try:
            yield
        finally:
            del self._caller.actor

    def report_tab_missing(self) -> None:
        """Record that a browser could not add the tab to the dashboard."""
        self._tab_notice_until_s = time.monotonic() + TAB_NOTICE_S

    @property
    def tab_is_missing(self) -> bool:
        return time.monotonic() < self._tab_notice_until_s

    def recommendation(self, recommendation_id: str) -> Recommendation:
        """Raises BadQuestionError for an unknown recommendation."""
        known = {r.recommendation_id: r for r in self.snapshot.recommendations}
        if recommendation_id in known:
            return known[recommendation_id]
        missing = f'recommendation "{recommendation_id}" does not exist'
        for osd in self.snapshot.osds:
            if osd.options and osd.options.starts is False:
                why = first_remove([osd.info.osd_id], osd.options)
                raise BadQuestionError(errno.ENOENT, f'{missing}: {why}')
        changed = [one for one in sorted(known) if _place(one) == _place(recommendation_id)]
        if changed:
            raise BadQuestionError(
                errno.ENOENT,
                f'{missing}: if it was shown before, it has changed since; review '
                f'"ceph rocksdb-tuner recommend {changed[0]}"',
            )
        held = (a.conclusion for a in self.snapshot.assessments if not a.recommendations)
        waiting = [f'{d.who}: {d.do}' for d in held if d.waits]
        choices = ', '.join(sorted(known)) or '; '.join(waiting) or 'none at present'
        raise BadQuestionError(errno.ENOENT, f'{missing}; recommendations: {choices}')


def _place(recommendation_id: str) -> str:
    """The "ssd" of "ssd-93b407"."""
    return recommendation_id.rpartition('-')[0]


def osd_number(text: str) -> int:
    """The 3 of "3" or "osd.3"; raises BadQuestionError."""
    number = natural(text.removeprefix('osd.'))
    if number is None:
        raise BadQuestionError(errno.EINVAL, f'invalid OSD id "{text}": use "3" or "osd.3"')
    return number


def who_of(who: Optional[str], osds: Sequence[OsdFacts]) -> tuple[str, tuple[OsdFacts, ...]]:
    """The config mask of ``who`` and its OSDs; raises BadQuestionError.

    "osd" (the default), "osd/class:ssd", "osd/host:node1", and "osd.3" or "3".
    """
    mask = 'osd' if who is None else f'osd.{who}' if natural(who) is not None else who
    section = mask.partition('/')[0]
    if section != 'osd' and natural(section.removeprefix('osd.')) is None:
        raise BadQuestionError(
            errno.EINVAL,
            f'invalid OSDs "{who}": use "osd" for all, or as in "osd/class:ssd", "osd/host:node1" '
            'or "osd.3"',
        )
    found = tuple(osd for osd in osds if reaches(mask, osd.info))
    if not found and mask.startswith('osd.'):
        raise BadQuestionError(errno.ENOENT, f'{mask} does not exist')
    if not found:
        classes = sorted({f'osd/class:{o.info.device_class}' for o in osds if o.info.device_class})
        raise BadQuestionError(
            errno.ENOENT, f'no OSD matches "{mask}"; groups: {", ".join(classes) or "none"}'
        )
    return mask, found
