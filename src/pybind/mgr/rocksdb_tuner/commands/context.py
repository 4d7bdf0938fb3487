"""What the handlers of commands work with, beside their arguments."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable, Optional

from ..advise.own_profiles import OwnProfiles
from ..advise.records import Recommendation
from ..settings import ReadOption, Settings, read_mode, read_settings
from ..snapshot import Mode, Snapshot
from ..tuner import Tuner
from ..units import natural
from .errors import CommandRefusedError
from .shared_text import SharedText

#: Who asked, until the audit log tells: the mgr does not tell a module which client sent a command.
OPERATOR = 'operator'
#: Browsers report it again while it lasts, and nobody reports that it is over.
TAB_NOTICE_S = 86400.0


class Context:
    """One of each module; used by any thread that answers a command."""

    def __init__(
        self,
        tuner: Callable[[], Tuner],
        profiles: OwnProfiles,
        option: ReadOption,
        set_mode: Callable[[Mode], None],
    ) -> None:
        """``option`` reads an option of the module; ``set_mode`` sets that one."""
        self._tuner = tuner
        self._option = option
        self.profiles = profiles
        self.set_mode = set_mode
        self.reports = SharedText()
        #: Who asks, by thread, where it is not the command line.
        self._asking = threading.local()
        #: Until when the tab of the dashboard is known to have no place, on the monotonic clock.
        self._tab_notice_until_s = float('-inf')

    @property
    def tuner(self) -> Tuner:
        return self._tuner()

    @property
    def snapshot(self) -> Snapshot:
        return self.tuner.snapshot

    def settings(self) -> Settings:
        """The options as they are now; raises SettingError, as `mode`."""
        return read_settings(self._option)

    def mode(self) -> Mode:
        return read_mode(self._option)

    @property
    def actor(self) -> str:
        """Who asked for what the calling thread does."""
        return getattr(self._asking, 'actor', OPERATOR)

    @property
    def asked_by_a_module(self) -> bool:
        return hasattr(self._asking, 'actor')

    @contextmanager
    def asked_by(self, actor: str) -> Iterator[None]:
        """Until it ends, what the calling thread does is asked by another module, for ``actor``."""
        self._asking.actor = actor
        try:
            yield
        finally:
            del self._asking.actor

    def tab_has_no_place(self) -> None:
        """A browser found the page of the dashboard otherwise than its tab must have it."""
        self._tab_notice_until_s = time.monotonic() + TAB_NOTICE_S

    @property
    def tab_is_missing(self) -> bool:
        return time.monotonic() < self._tab_notice_until_s

    def recommendation(self, recommendation_id: str) -> Recommendation:
        """Raises CommandRefusedError where there is none of that id."""
        known = {r.recommendation_id: r for r in self.snapshot.recommendations}
        if recommendation_id not in known:
            choices = ', '.join(sorted(known)) or 'none at present'
            raise CommandRefusedError(
                errno.ENOENT,
                f'there is no recommendation "{recommendation_id}"; recommendations: {choices}',
            )
        return known[recommendation_id]


def osd_number(text: str) -> int:
    """The 3 of "3" or "osd.3"; raises CommandRefusedError."""
    number = natural(text.removeprefix('osd.'))
    if number is None:
        raise CommandRefusedError(
            errno.EINVAL, f'"{text}" is no OSD: give its number, as in "3" or "osd.3"'
        )
    return number


def osd_number_if_any(text: Optional[str]) -> Optional[int]:
    return None if text is None else osd_number(text)
