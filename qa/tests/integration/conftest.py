"""What all tests on real clusters need."""

from cluster_reports import pytest_configure, pytest_runtest_makereport

__all__ = ['pytest_configure', 'pytest_runtest_makereport']
