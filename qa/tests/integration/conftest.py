"""Fixtures and hooks for all tests on real clusters."""

from shared_cluster import cluster, shared_cluster, tuner

from cluster_reports import (
    pytest_configure,
    pytest_runtest_makereport,
    pytest_sessionfinish,
)
from fault_clusters import (
    fault_clusters,
    pytest_collection_modifyitems,
    pytest_keyboard_interrupt,
    scenario,
    shared_scenario,
)

__all__ = [
    'cluster',
    'fault_clusters',
    'pytest_collection_modifyitems',
    'pytest_configure',
    'pytest_keyboard_interrupt',
    'pytest_runtest_makereport',
    'pytest_sessionfinish',
    'scenario',
    'shared_cluster',
    'shared_scenario',
    'tuner',
]
