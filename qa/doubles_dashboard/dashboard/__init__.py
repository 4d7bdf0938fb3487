"""A double of the dashboard API of a controller, so that unit tests need no Ceph.

It stores declarations and has no behavior. The real one is covered by the integration tests.
"""

from typing import Any, Callable, Dict, Optional


class Manager:
    """`mgr` of the dashboard; a test sets what another module answers."""

    url_prefix = ''

    def __init__(self) -> None:
        self.answer: Optional[Callable[..., Any]] = None

    def remote(self, module: str, method: str, *args: Any) -> Dict[str, Any]:
        if self.answer is None:
            raise ImportError('Module not found')
        answer: Dict[str, Any] = self.answer(module, method, *args)
        return answer


mgr = Manager()
