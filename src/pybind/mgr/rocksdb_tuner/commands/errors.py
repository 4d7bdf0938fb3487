"""Errors that are reported to the client of a command."""

from __future__ import annotations

from ..deep.reader import DeepStatsRefused
from ..mgr.protocols import CommandError
from ..operations.errors import OperationRefused
from ..options.verdict import BadQuestionError
from ..present.errors import PresentError
from ..requests import BusyError
from ..setting import SettingError


class CommandRefusedError(Exception):
    """Invalid input; the text names it, the problem and valid values."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.errno = code


#: Errors with an errno and a text for operators.
REPORTED = (
    CommandRefusedError,
    OperationRefused,
    CommandError,
    BusyError,
    DeepStatsRefused,
    BadQuestionError,
    SettingError,
    PresentError,
)
