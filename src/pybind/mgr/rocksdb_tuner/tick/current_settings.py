"""The current module options, or the last known ones if they cannot be read."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Callable, Optional

from ..judge.records import contradiction
from ..operations.errors import OperationRefused
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps


class CurrentSettings:
    """Read once per tick, and again before an operation starts or changes an OSD."""

    def __init__(
        self,
        read_settings: Callable[[], Settings],
        read_mode: Callable[[], Mode],
        steps: Steps,
    ) -> None:
        """``read_mode`` reads only the option "mode"."""
        self.read_settings, self.read_mode = read_settings, read_mode
        self._steps = steps
        #: The last valid settings.
        self._last: Optional[Settings] = None
        #: Why the options cannot be read now; None if they can.
        self.unreadable: Optional[str] = None

    def now(self) -> Settings:
        """Settings for a tick; nothing starts while they are unreadable."""
        try:
            settings = self.read_settings()
        except Exception as error:  # noqa: BLE001 - reported
            self._steps.failed('settings', error)
            self.unreadable = 'the options of the module cannot be read'
            mode = self._steps.value('mode', self.read_mode, Mode.OFF)
            return replace(self._last or Settings(), mode=mode)
        self._steps.works('settings')
        self.unreadable = None
        self._last = settings
        return settings

    def for_start(self) -> Settings:
        """Settings for an operation that starts now; raises OperationRefused."""
        try:
            return self.read_settings()
        except Exception as error:
            raise OperationRefused(
                errno.EINVAL, f'the options of the module cannot be read: {error}'
            ) from error

    def mode(self) -> Mode:
        """The mode right now; raises SettingError."""
        return self.read_mode()

    def initial_mode(self) -> Mode:
        """Mode to show before the first tick, which may wait for monitors or OSD reports."""
        return self._steps.value('settings', self.read_mode, Mode.OFF)

    def changes_enabled(self) -> bool:
        """Whether the mode allows changes right now; False if it cannot be read."""
        return self._steps.value('mode', self.read_mode, Mode.OFF) is not Mode.OFF

    @property
    def impossible(self) -> Optional[str]:
        """Why the module options prevent any change; None if they do not."""
        return None if self._last is None else contradiction(self._last.soak)
