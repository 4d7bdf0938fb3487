"""Real Ceph clusters and real clients for work and tests."""

from .cephadm import CephadmCluster
from .cluster import Cluster, ClusterStatus, DaemonStatus
from .errors import CommandError, HarnessError, UsageError
from .layout import ClusterSpec
from .progress import Progress
from .workloads import WorkloadResult, run_workload

__all__ = [
    'CephadmCluster',
    'Cluster',
    'ClusterSpec',
    'ClusterStatus',
    'CommandError',
    'DaemonStatus',
    'HarnessError',
    'Progress',
    'UsageError',
    'WorkloadResult',
    'run_workload',
]
