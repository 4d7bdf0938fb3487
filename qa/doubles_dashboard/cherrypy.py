"""A double of the two parts of CherryPy that a controller uses, set by the tests."""

from types import SimpleNamespace

serving = SimpleNamespace(response=None)
response = SimpleNamespace(headers={}, status=None)


class HTTPError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message
