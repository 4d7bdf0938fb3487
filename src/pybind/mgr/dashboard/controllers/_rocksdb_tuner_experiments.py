"""Endpoints of the RocksDB Tuner about experiments."""

from __future__ import annotations

from typing import Any, Optional

from ..security import Scope
from . import (
    APIDoc,
    APIRouter,
    BaseController,
    Endpoint,
    EndpointDoc,
    ReadPermission,
    UpdatePermission,
)
from ._rocksdb_tuner_api import ACCEPTED, TunerEndpoints, ask, checked, flag
from ._rocksdb_tuner_schemas import responses

_QUESTION = {
    'who': (str, 'Config mask of a group, as in the status; default: the only one', True),
    'arms': (str, 'Comma-separated names of profiles; default: the best candidates', True),
    'signal': (str, 'Signal to improve; default: the signal of the limiting resource', True),
    'min_effect': (str, 'Smallest difference that counts, in percent', True),
    'max_duration': (str, 'Maximum duration in seconds, or with the unit s, m, h or d', True),
}


@APIRouter('/rocksdb_tuner/experiment', Scope.OSD)
@APIDoc('Monitor and tune the RocksDB of OSDs', 'RocksDBTuner')
class RocksDBTunerExperiments(TunerEndpoints, BaseController):
    """Comparisons of option strings on OSDs of one group."""

    @Endpoint('GET', path='/plan')
    @ReadPermission
    @EndpointDoc(
        'Preview an experiment, or show what it would take',
        parameters=_QUESTION,
        responses=responses('experiment-plan'),
    )
    @checked
    def experiment_plan(
        self,
        who: Optional[str] = None,
        arms: Optional[str] = None,
        signal: Optional[str] = None,
        min_effect: Optional[str] = None,
        max_duration: Optional[str] = None,
    ) -> Any:
        return ask(
            'experiment_plan',
            who=who,
            arms=arms,
            signal=signal,
            min_effect=min_effect,
            max_duration=max_duration,
        )

    @Endpoint('POST', path='')
    @UpdatePermission
    @EndpointDoc(
        'Start an experiment, which restarts OSDs and restores them at the end',
        parameters={
            **_QUESTION,
            'adopt': (bool, 'Apply the winner to the group at the end', True),
        },
        responses=responses('operation', ACCEPTED),
    )
    @checked
    def start_experiment(
        self,
        who: Optional[str] = None,
        arms: Optional[str] = None,
        signal: Optional[str] = None,
        min_effect: Optional[str] = None,
        max_duration: Optional[str] = None,
        adopt: str = 'false',
    ) -> Any:
        return self._change(
            ACCEPTED,
            'experiment_start',
            who=who,
            arms=arms,
            signal=signal,
            min_effect=min_effect,
            max_duration=max_duration,
            adopt=flag('adopt', adopt),
        )
