"""The parameters of a workload. Each workload takes some of them and has its own defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from ..errors import UsageError


@dataclass(frozen=True)
class Parameters:
    """None: not given, or not meaningful for the workload."""

    iodepth: int | None = None
    """Requests in flight (RBD)."""
    size_bytes: int | None = None
    """Size of the image (RBD)."""
    block_size_bytes: int | None = None
    """Size of a request (RBD)."""
    rate_iops: int | None = None
    """Upper bound of requests per second (RBD, librados); 0: none."""
    threads: int | None = None
    """Clients side by side (S3, CephFS)."""
    object_size_bytes: int | None = None
    """Size of an object (S3)."""
    objects: int | None = None
    """Number of objects that are there, or that are used in turn (S3, librados)."""
    read_percent: int | None = None
    """Share of the requests that read (RBD)."""
    keys: int | None = None
    """Keys that one request sets (librados)."""
    value_size_bytes: int | None = None
    """Size of the value of a key (librados)."""
    key_space: int | None = None
    """Number of different keys of an object (librados)."""
    random_percent: int | None = None
    """Share of a value that does not compress (librados)."""
    requests: int | None = None
    """Number of requests after which the client ends (librados); 0: none."""

    def over(self, defaults: Parameters, workload: str) -> Parameters:
        """These, completed by a workload's defaults; UsageError for what it does not take."""
        known = asdict(defaults)
        given = {name: value for name, value in asdict(self).items() if value is not None}
        for name, value in given.items():
            if known[name] is None:
                taken = ', '.join(n for n, v in known.items() if v is not None)
                raise UsageError(f'workload {workload} takes no {name}: it takes {taken}')
            if value < (0 if name in ('rate_iops', 'requests') else 1):
                raise UsageError(f'{name} must be positive, not {value}')
        return Parameters(**{**known, **given})

    def get(self, name: str) -> int:
        """A parameter that the workload is known to have."""
        value = getattr(self, name)
        assert isinstance(value, int)
        return value

    def as_dict(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @staticmethod
    def from_mapping(values: Mapping[str, int]) -> Parameters:
        unknown = set(values) - {field.name for field in fields(Parameters)}
        if unknown:
            raise UsageError(
                f'unknown parameter {", ".join(sorted(unknown))}: there is '
                f'{", ".join(field.name for field in fields(Parameters))}'
            )
        return Parameters(**values)
