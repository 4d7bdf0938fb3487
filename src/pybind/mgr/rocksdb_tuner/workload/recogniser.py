"""Workloads of all OSDs and groups, with the memory that keeps a class from flapping."""

from __future__ import annotations

from typing import Mapping

from ..mgr.records import ClusterMap
from ..observe.signals import Signals
from .records import Recognition


class Recogniser:
    def recognise(
        self, signals: Mapping[int, Signals], cluster_map: ClusterMap, now_s: float
    ) -> Recognition:
        """Classify every OSD in ``signals`` and every device class; call once per tick."""
        raise NotImplementedError
