"""What all tests on real clusters need."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt('SIGTERM')


def pytest_configure() -> None:
    """Let fixtures take their clusters down when the run is ended from outside."""
    signal.signal(signal.SIGTERM, _interrupt)
