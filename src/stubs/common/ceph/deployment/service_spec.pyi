# What qa/local_orch uses of Ceph's ceph.deployment.service_spec, read in 16.2.15.
from collections.abc import Mapping
from typing import Any

class ServiceSpec:
    @classmethod
    def from_json(cls, json_spec: Mapping[str, Any]) -> ServiceSpec: ...
