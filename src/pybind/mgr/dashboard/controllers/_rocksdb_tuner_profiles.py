"""Endpoints of the RocksDB Tuner about profiles, options and option strings."""

from __future__ import annotations

import json
from typing import Any, List, Optional

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
from ._rocksdb_tuner_api import CREATED, NO_CONTENT, TunerEndpoints, ask, checked, number
from ._rocksdb_tuner_schemas import responses

_RELEASE = (str, 'Name of a release', True)
_OVERRIDES = {
    'osd': (str, 'OSD to take the release and hardware from', True),
    'release': _RELEASE,
    'cores': (str, 'CPU cores per OSD', True),
    'db_size': (str, 'Size of the DB device, with unit', True),
    'wal_size': (str, 'Size of the WAL device, with unit', True),
    'memory': (str, 'osd_memory_target, with unit', True),
}


@APIRouter('/rocksdb_tuner', Scope.OSD)
@APIDoc('Monitor and tune the RocksDB of OSDs', 'RocksDBTuner')
class RocksDBTunerProfiles(TunerEndpoints, BaseController):
    """Validation, comparison and derivation of option strings, and profiles."""

    @Endpoint('GET', path='/profile')
    @ReadPermission
    @EndpointDoc(
        'List the profiles',
        responses=responses('profile-ls'),
    )
    @checked
    def profiles(self) -> Any:
        return ask('profile_ls')

    @Endpoint('GET', path='/profile/{name}')
    @ReadPermission
    @EndpointDoc(
        'Show a profile with its published evidence',
        parameters={'name': (str, 'Name of a profile')},
        responses=responses('profile-show'),
    )
    @checked
    def profile(self, name: str) -> Any:
        return ask('profile_show', name=name)

    @Endpoint('GET', path='/profile/{name}/diff')
    @ReadPermission
    @EndpointDoc(
        'Compare two profiles, or a profile with the running options of an OSD',
        parameters={
            'name': (str, 'Name of a profile'),
            'other': (str, 'Name of the profile to compare with', True),
            'osd': (str, 'OSD to compare with', True),
            'release': _RELEASE,
        },
        responses=responses('profile-diff'),
    )
    @checked
    def profile_diff(
        self,
        name: str,
        other: Optional[str] = None,
        osd: Optional[str] = None,
        release: Optional[str] = None,
    ) -> Any:
        return ask('profile_diff', name=name, other=other, osd=osd, release=release)

    @Endpoint('POST', path='/profile')
    @UpdatePermission
    @EndpointDoc(
        'Add a custom profile',
        parameters={
            'name': (str, '1 to 63 of a-z, 0-9, "." and "-"'),
            'title': (str, 'Short description'),
            'options': (str, 'Option string'),
            'releases': ([str], 'Releases of the profile'),
            'source': (str, 'Source of the profile'),
            'cautions': ([str], 'Cautions', True),
        },
        responses=responses('profile-show', CREATED),
    )
    @checked
    def add_profile(
        self,
        name: str,
        title: str,
        options: str,
        releases: List[str],
        source: str,
        cautions: Optional[List[str]] = None,
    ) -> Any:
        own = {
            'name': name,
            'title': title,
            'options': options,
            'releases': releases,
            'source': source,
            'cautions': cautions or [],
        }
        return self._change(CREATED, 'profile_add', inbuf=json.dumps(own))

    @Endpoint('DELETE', path='/profile/{name}')
    @UpdatePermission
    @EndpointDoc(
        'Remove a custom profile',
        parameters={'name': (str, 'Name of a profile')},
    )
    @checked
    def remove_profile(self, name: str) -> Any:
        return self._change(NO_CONTENT, 'profile_rm', name=name)

    @Endpoint('GET', path='/check')
    @ReadPermission
    @EndpointDoc(
        'Validate an option string: whether an OSD starts, effective values, problems',
        parameters={
            'options': (str, 'Option string', True),
            'device_class': (str, 'Device class of the OSDs to validate for', True),
            'cfs': (str, 'bluestore_rocksdb_cfs', True),
            **_OVERRIDES,
        },
        responses=responses('check'),
    )
    @checked
    def check(
        self,
        options: str = '',
        device_class: Optional[str] = None,
        cfs: Optional[str] = None,
        osd: Optional[str] = None,
        release: Optional[str] = None,
        cores: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
    ) -> Any:
        return ask(
            'check',
            options=options,
            device_class=device_class,
            cfs=cfs,
            osd=osd,
            release=release,
            cores=number('cores', cores),
            db_size=db_size,
            wal_size=wal_size,
            memory=memory,
        )

    @Endpoint('GET', path='/model')
    @ReadPermission
    @EndpointDoc(
        'Model an option string: WAL, memory, levels, write amplification',
        parameters={
            'options': (str, 'Option string', True),
            'workload': (str, 'Workload class', True),
            'data': (str, 'Live data in the DB, with unit', True),
            'ingest': (str, 'Bytes written to the DB per second, with unit', True),
            'key_size': (str, 'Mean size of a key with its value, with unit', True),
            'cfs': (str, 'bluestore_rocksdb_cfs', True),
            **_OVERRIDES,
        },
        responses=responses('model'),
    )
    @checked
    def model(
        self,
        options: str = '',
        workload: Optional[str] = None,
        osd: Optional[str] = None,
        release: Optional[str] = None,
        cores: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
        data: Optional[str] = None,
        ingest: Optional[str] = None,
        key_size: Optional[str] = None,
        cfs: Optional[str] = None,
    ) -> Any:
        return ask(
            'model',
            options=options,
            workload=workload,
            osd=osd,
            release=release,
            cores=number('cores', cores),
            db_size=db_size,
            wal_size=wal_size,
            memory=memory,
            data=data,
            ingest=ingest,
            key_size=key_size,
            cfs=cfs,
        )

    @Endpoint('GET', path='/derivation')
    @ReadPermission
    @EndpointDoc(
        'Derive an option string from the published goals, and show the nearest profile',
        parameters={'workload': (str, 'Workload class', True), **_OVERRIDES},
        responses=responses('profile-derive'),
    )
    @checked
    def derivation(
        self,
        osd: Optional[str] = None,
        workload: Optional[str] = None,
        cores: Optional[str] = None,
        release: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
    ) -> Any:
        return ask(
            'profile_derive',
            osd=osd,
            workload=workload,
            cores=number('cores', cores),
            release=release,
            db_size=db_size,
            wal_size=wal_size,
            memory=memory,
        )

    @Endpoint('GET', path='/option')
    @ReadPermission
    @EndpointDoc(
        'List the known options',
        responses=responses('explain-ls'),
    )
    @checked
    def options(self) -> Any:
        return ask('explain')

    @Endpoint('GET', path='/option/{name}')
    @ReadPermission
    @EndpointDoc(
        'Show what an option does, its defaults, and when to change it',
        parameters={'name': (str, 'Name of an option')},
        responses=responses('explain'),
    )
    @checked
    def option(self, name: str) -> Any:
        return ask('explain', option=name)
