"""Real clients of a real cluster: what each does, its parameters and its result."""

from .catalogue import PARAMETERS, WORKLOADS, complete, run_workload
from .result import Latency, Verified, WorkloadError, WorkloadResult

__all__ = [
    'PARAMETERS',
    'WORKLOADS',
    'Latency',
    'Verified',
    'WorkloadError',
    'WorkloadResult',
    'complete',
    'run_workload',
]
