"""A stand-in for the two things of CherryPy that a controller touches, set by the tests."""

from types import SimpleNamespace

serving = SimpleNamespace(response=None)
response = SimpleNamespace(headers={})
