"""Real clients of a real cluster: what each does, its parameters and its result."""

from .catalogue import WORKLOADS, complete, run_workload
from .parameters import Parameters
from .result import Latency, Verified, WorkloadError, WorkloadResult

__all__ = [
    'WORKLOADS',
    'Latency',
    'Parameters',
    'Verified',
    'WorkloadError',
    'WorkloadResult',
    'complete',
    'run_workload',
]
