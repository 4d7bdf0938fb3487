"""Endpoints of the RocksDB Tuner about recommendations and operations."""

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
from ._rocksdb_tuner_api import ACCEPTED, TunerEndpoints, ask, checked
from ._rocksdb_tuner_schemas import responses

_ID = (str, 'Id of a recommendation')


@APIRouter('/rocksdb_tuner', Scope.OSD)
@APIDoc('Monitor and tune the RocksDB of OSDs', 'RocksDBTuner')
class RocksDBTunerOperations(TunerEndpoints, BaseController):
    """Recommendations, and the operations that apply them."""

    @Endpoint('GET', path='/recommendation')
    @ReadPermission
    @EndpointDoc(
        'List the recommendations',
        responses=responses('recommend'),
    )
    @checked
    def recommendations(self) -> Any:
        return ask('recommend')

    @Endpoint('GET', path='/recommendation/{recommendation_id}')
    @ReadPermission
    @EndpointDoc(
        'Show a recommendation in full',
        parameters={'recommendation_id': _ID},
        responses=responses('recommend-detail'),
    )
    @checked
    def recommendation(self, recommendation_id: str) -> Any:
        return ask('recommend', recommendation_id=recommendation_id)

    @Endpoint('GET', path='/recommendation/{recommendation_id}/plan')
    @ReadPermission
    @EndpointDoc(
        'Preview the steps to apply a recommendation; for a compaction, what it would take',
        parameters={'recommendation_id': _ID},
        responses=responses('plan'),
    )
    @checked
    def plan(self, recommendation_id: str) -> Any:
        return ask('apply', recommendation_id=recommendation_id, dry_run=True)

    @Endpoint('POST', path='/recommendation/{recommendation_id}/apply')
    @UpdatePermission
    @EndpointDoc(
        'Apply a recommendation, as a rollout or a compaction campaign',
        parameters={'recommendation_id': _ID},
        responses=responses('operation', ACCEPTED),
    )
    @checked
    def apply(self, recommendation_id: str) -> Any:
        return self._change(ACCEPTED, 'apply', recommendation_id=recommendation_id)

    @Endpoint('GET', path='/operation')
    @ReadPermission
    @EndpointDoc(
        'Show the operation under way, or the last one; null before the first',
        responses=responses('operation'),
    )
    @checked
    def operation(self) -> Any:
        return ask('operation_status')

    @Endpoint('POST', path='/operation/pause')
    @UpdatePermission
    @EndpointDoc(
        'Pause the operation once the OSD in flight is safe',
        responses=responses('operation', ACCEPTED),
    )
    @checked
    def pause(self) -> Any:
        return self._change(ACCEPTED, 'operation_pause')

    @Endpoint('POST', path='/operation/resume')
    @UpdatePermission
    @EndpointDoc(
        'Resume a paused operation, or acknowledge a failed one, which clears its health check',
        responses=responses('operation', ACCEPTED),
    )
    @checked
    def resume(self) -> Any:
        return self._change(ACCEPTED, 'operation_resume')

    @Endpoint('POST', path='/operation/abort')
    @UpdatePermission
    @EndpointDoc(
        'End the operation once the OSD in flight is safe; an experiment restores its OSDs',
        responses=responses('operation', ACCEPTED),
    )
    @checked
    def abort(self) -> Any:
        return self._change(ACCEPTED, 'operation_abort')

    @Endpoint('POST', path='/rollback')
    @UpdatePermission
    @EndpointDoc(
        'Roll back a rollout to the exact previous settings',
        parameters={'rollout_id': (str, 'Id of a rollout; default: the last one', True)},
        responses=responses('operation', ACCEPTED),
    )
    @checked
    def rollback(self, rollout_id: Optional[str] = None) -> Any:
        return self._change(ACCEPTED, 'rollback', rollout_id=rollout_id)
