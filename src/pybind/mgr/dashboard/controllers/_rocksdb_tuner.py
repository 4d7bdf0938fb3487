"""Endpoints of the RocksDB Tuner that show the cluster and set the mode."""

from __future__ import annotations

import logging
from typing import Any, Dict, Optional

from .. import mgr
from ..security import Permission, Scope
from . import (
    APIDoc,
    APIRouter,
    BaseController,
    Endpoint,
    EndpointDoc,
    ReadPermission,
    UIRouter,
    UpdatePermission,
)
from ._rocksdb_tuner_api import CREATED, MODULE, OK, TunerEndpoints, ask, checked, flag
from ._rocksdb_tuner_schemas import responses

logger = logging.getLogger(__name__)

_OSD = (str, 'Id of an OSD')


@APIRouter('/rocksdb_tuner', Scope.OSD)
@APIDoc('Monitor and tune the RocksDB of OSDs', 'RocksDBTuner')
class RocksDBTuner(TunerEndpoints, BaseController):
    """All responses have the same fields as the JSON output of the commands."""

    @Endpoint('GET', path='')
    @ReadPermission
    @EndpointDoc(
        'Show the mode, sampling, device classes, findings and operations',
        responses=responses('status'),
    )
    @checked
    def status(self) -> Any:
        return ask('status')

    @Endpoint('GET', path='/osd')
    @ReadPermission
    @EndpointDoc(
        'List the OSDs with their workload, signals and options',
        responses=responses('osd'),
    )
    @checked
    def osds(self) -> Any:
        return ask('osd')

    @Endpoint('GET', path='/osd/{osd_id}')
    @ReadPermission
    @EndpointDoc(
        'Show the details of an OSD',
        parameters={'osd_id': _OSD},
        responses=responses('osd-detail'),
    )
    @checked
    def osd(self, osd_id: str) -> Any:
        return ask('osd', osd_id=osd_id)

    @Endpoint('GET', path='/osd/{osd_id}/growth')
    @ReadPermission
    @EndpointDoc(
        'Show the DB growth of an OSD, with a forecast',
        parameters={'osd_id': _OSD},
        responses=responses('growth'),
    )
    @checked
    def growth(self, osd_id: str) -> Any:
        return ask('growth', osd_id=osd_id)

    @Endpoint('GET', path='/map')
    @ReadPermission
    @EndpointDoc('Show all OSDs, in columnar form', responses=responses('osd-map'))
    @checked
    def osd_map(self) -> Any:
        return ask('osd_map')

    @Endpoint('GET', path='/trend')
    @ReadPermission
    @EndpointDoc(
        'Show time series of OSDs or of a device class over the last hours',
        parameters={
            'osds': (str, 'Comma-separated OSD ids', True),
            'device_class': (str, 'Name of a device class', True),
        },
        responses=responses('trend'),
    )
    @checked
    def trend(self, osds: Optional[str] = None, device_class: Optional[str] = None) -> Any:
        return ask('trend', osds=osds, device_class=device_class)

    @Endpoint('GET', path='/workload')
    @ReadPermission
    @EndpointDoc(
        'Show the client workloads, with evidence',
        responses=responses('workload'),
    )
    @checked
    def workload(self) -> Any:
        return ask('workload')

    @Endpoint('GET', path='/findings')
    @ReadPermission
    @EndpointDoc(
        'List the findings, worst first',
        responses=responses('findings'),
    )
    @checked
    def findings(self) -> Any:
        return ask('findings')

    @Endpoint('GET', path='/candidates')
    @ReadPermission
    @EndpointDoc(
        'List the option strings considered for each device class, and the decision',
        responses=responses('recommend-all'),
    )
    @checked
    def candidates(self) -> Any:
        return ask('recommend', all=True)

    @Endpoint('GET', path='/history')
    @ReadPermission
    @EndpointDoc(
        'List all changes and their outcomes',
        responses=responses('history'),
    )
    @checked
    def history(self) -> Any:
        return ask('history')

    @Endpoint('GET', path='/report')
    @ReadPermission
    @EndpointDoc(
        'Get all collected data as one document',
        parameters={'anonymous': (bool, 'Replace host names and addresses', True)},
        responses=responses('report'),
    )
    @checked
    def report(self, anonymous: str = 'false') -> Any:
        return ask('report', anonymous=flag('anonymous', anonymous))

    @Endpoint('GET', path='/mode')
    @ReadPermission
    @EndpointDoc(
        'Show the current mode and all modes',
        responses=responses('mode'),
    )
    @checked
    def mode(self) -> Any:
        return ask('mode')

    @Endpoint('POST', path='/osd/{osd_id}/deep')
    @UpdatePermission
    @EndpointDoc(
        "Show the details of an OSD with RocksDB's own statistics, enabling them temporarily",
        parameters={'osd_id': _OSD},
        responses=responses('osd-detail', CREATED),
    )
    @checked
    def deep(self, osd_id: str) -> Any:
        return self._change(CREATED, 'osd_deep', osd_id=osd_id)

    @Endpoint('PUT', path='/mode')
    @UpdatePermission
    @EndpointDoc(
        'Set the operating mode',
        parameters={'mode': (str, 'off, observe, recommend or auto-apply')},
        responses=responses('mode'),
    )
    @checked
    def set_mode(self, mode: str) -> Any:
        return self._change(OK, 'mode', mode=mode)


@UIRouter('/rocksdb_tuner', Scope.OSD)
class RocksDBTunerStatus(BaseController):
    """Whether the tab has data to show, in the format of the dashboard's other back ends."""

    @Endpoint('GET', path='/status')
    @ReadPermission
    def status(self) -> Dict[str, Any]:
        message = None
        try:
            mgr.remote(MODULE, 'remote_command', 'mode', {})
        except Exception as error:  # noqa: BLE001 - the API says which, once somebody asks it
            logger.debug('no tab: %s', type(error).__name__)
            message = 'The rocksdb_tuner module does not answer'
        may_change = all(
            self._has_permissions([Permission.UPDATE], scope)
            for scope in (Scope.OSD, Scope.CONFIG_OPT)
        )
        return {'available': message is None, 'message': message, 'may_change': may_change}
