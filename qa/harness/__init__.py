"""Real Ceph clusters and real clients for work and tests. See DESIGN.md or qa/README.md."""

from .cluster import Cluster, ClusterStatus, DaemonStatus
from .errors import CommandError, HarnessError, UsageError
from .layout import ClusterSpec
from .progress import Progress

__all__ = [
    'Cluster',
    'ClusterSpec',
    'ClusterStatus',
    'CommandError',
    'DaemonStatus',
    'HarnessError',
    'Progress',
    'UsageError',
]
