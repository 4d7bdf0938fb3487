# What qa/local_orch uses of Ceph's orchestrator package (orchestrator/_interface.py), read in 16.2.15.
import datetime
from collections.abc import Callable
from enum import IntEnum
from typing import Generic, ParamSpec, TypeVar

from ceph.deployment.service_spec import ServiceSpec

P = ParamSpec('P')
T = TypeVar('T')

class OrchestratorError(Exception): ...

class OrchResult(Generic[T]):
    result: T | None
    exception: Exception | None

def handle_orch_error(f: Callable[P, T]) -> Callable[P, OrchResult[T]]: ...

class HostSpec:
    def __init__(self, hostname: str, addr: str | None = ...) -> None: ...

class DaemonDescriptionStatus(IntEnum):
    error = -1
    stopped = 0
    running = 1
    starting = 2

class OrchestratorEvent:
    created: datetime.datetime
    message: str
    def __init__(
        self, created: datetime.datetime, kind: str, subject: str, level: str, message: str
    ) -> None: ...

class DaemonDescription:
    def __init__(
        self,
        daemon_type: str | None = ...,
        daemon_id: str | None = ...,
        hostname: str | None = ...,
        *,
        version: str | None = ...,
        status: DaemonDescriptionStatus | None = ...,
        status_desc: str | None = ...,
        last_refresh: datetime.datetime | None = ...,
        started: datetime.datetime | None = ...,
        osdspec_affinity: str | None = ...,
        events: list[OrchestratorEvent] | None = ...,
        service_name: str | None = ...,
    ) -> None: ...

class ServiceDescription:
    def __init__(
        self,
        spec: ServiceSpec,
        *,
        size: int = ...,
        running: int = ...,
        last_refresh: datetime.datetime | None = ...,
    ) -> None: ...

class Orchestrator: ...
