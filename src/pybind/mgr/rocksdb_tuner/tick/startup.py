"""Loads the knowledge and the stored state before the module does anything else."""

from __future__ import annotations

from typing import Callable, Mapping

from ..steps import Steps


class Startup:
    """Loads each part once; a part that fails is retried at every tick."""

    def __init__(self, steps: Steps, parts: Mapping[str, Callable[[], object]]) -> None:
        """``parts`` by step name, in loading order."""
        self._steps = steps
        self._missing = dict(parts)

    @property
    def complete(self) -> bool:
        return not self._missing

    def load(self) -> None:
        """Load the missing parts, in the serve thread."""
        for step, work in tuple(self._missing.items()):
            if self._steps.run(step, work):
                del self._missing[step]
