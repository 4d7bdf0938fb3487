"""What a manager reads before it does anything: the knowledge, and what an earlier one stored."""

from __future__ import annotations

from typing import Callable, Mapping

from ..steps import Steps


class Adoption:
    """Each part is read once; what fails is tried again at each tick."""

    def __init__(self, steps: Steps, parts: Mapping[str, Callable[[], object]]) -> None:
        """``parts`` by the name of the step that reads each, in their order."""
        self._steps = steps
        self._missing = dict(parts)

    @property
    def complete(self) -> bool:
        return not self._missing

    def load(self) -> None:
        """Read what is still missing, in the serve thread."""
        for step, work in tuple(self._missing.items()):
            if self._steps.run(step, work):
                del self._missing[step]
