"""What a command refuses, and what of other parts is an answer to whoever asked."""

from __future__ import annotations

from ..deep.reader import DeepStatsRefused
from ..mgr.protocols import CommandError
from ..operations.errors import OperationRefused
from ..options.verdict import BadQuestionError
from ..present.errors import PresentError
from ..requests import BusyError
from ..settings import SettingError


class CommandRefusedError(Exception):
    """A command's input is wrong; the text names it, says why, and what would be right."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.errno = code


#: Errors that are an answer: each has an errno, and a text for an operator.
ANSWERED = (
    CommandRefusedError,
    OperationRefused,
    CommandError,
    BusyError,
    DeepStatsRefused,
    BadQuestionError,
    SettingError,
    PresentError,
)
