"""Fixtures and hooks for all tests on real clusters."""

from shared_cluster import cluster, shared_cluster, tuner

from cluster_reports import (
    pytest_configure,
    pytest_runtest_makereport,
    pytest_sessionfinish,
)
from fault_clusters import pytest_keyboard_interrupt, scenario

__all__ = [
    'cluster',
    'pytest_configure',
    'pytest_keyboard_interrupt',
    'pytest_runtest_makereport',
    'pytest_sessionfinish',
    'scenario',
    'shared_cluster',
    'tuner',
]
