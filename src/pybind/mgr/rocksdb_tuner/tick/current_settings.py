"""The module options as they are now; where they cannot be read, as they were."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Callable, Optional

from ..judge.soak import contradiction
from ..operations.errors import OperationRefused
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps


class CurrentSettings:
    """Read once a tick, and again by whatever begins or acts at that moment."""

    def __init__(
        self,
        read_settings: Callable[[], Settings],
        read_mode: Callable[[], Mode],
        steps: Steps,
    ) -> None:
        """``read_mode`` reads that option alone."""
        self.read_settings, self.read_mode = read_settings, read_mode
        self._steps = steps
        #: The last that could be read, and why they cannot be read now.
        self._last: Optional[Settings] = None
        self.unreadable: Optional[str] = None

    def now(self) -> Settings:
        """For a tick; where they cannot be read, nothing is begun."""
        try:
            settings = self.read_settings()
        except Exception as error:  # noqa: BLE001 - kept, and shown
            self._steps.failed('settings', error)
            self.unreadable = 'the options of the module cannot be read'
            mode = self._steps.value('mode', self.read_mode, Mode.OFF)
            return replace(self._last or Settings(), mode=mode)
        self._steps.works('settings')
        self.unreadable = None
        self._last = settings
        return settings

    def to_begin(self) -> Settings:
        """For what begins now; raises OperationRefused."""
        try:
            return self.read_settings()
        except Exception as error:
            raise OperationRefused(
                errno.EINVAL, f'the options of the module cannot be read: {error}'
            ) from error

    def mode(self) -> Mode:
        """Raises what reading raises."""
        return self.read_mode()

    def first_mode(self) -> Mode:
        """Before the first tick, which may wait for a monitor, or for OSDs to report."""
        return self._steps.value('settings', self.read_mode, Mode.OFF)

    def switched_on(self) -> bool:
        """Whether the operator allows changes at this moment; False where that cannot be read."""
        return self._steps.value('mode', self.read_mode, Mode.OFF) is not Mode.OFF

    @property
    def gate_alarm_after_s(self) -> float:
        return (self._last or Settings()).gate_alarm_after_s

    @property
    def impossible(self) -> Optional[str]:
        """Why nothing can be applied as the options are."""
        return None if self._last is None else contradiction(self._last.soak)
