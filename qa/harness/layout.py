"""The files in a cluster's folder, and the record that marks the folder as a cluster's."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .errors import HarnessError, UsageError
from .releases import get_release

RECORD = 'qa-cluster.json'
RECORD_FORMAT = 1

# sockaddr_un takes 107 bytes; Ceph's longest socket name here is
# /client.admin.<pid, 7>.<context id, 15>.asok
MAX_RUN_DIR_BYTES = 107 - len('/client.admin.4194304.140737488355327.asok')

CACHE_VARIABLE = 'ROCKSDB_TUNER_CACHE'
DEFAULT_CACHE = Path('/var/cache/rocksdb-tuner')

QA = Path(__file__).resolve().parents[1]
CHECKOUT = QA.parent


def cache_dir() -> Path:
    """The folder that outlives clusters: chroots, and the last used ports."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).resolve()


def default_dir(release: str) -> Path:
    """The default folder of a cluster of a release: inside the checkout, git-ignored."""
    return QA / '.clusters' / release


#: `osd_conf` with the memory that OSDs have by default: clusters of tests have less, and what was
#: published of option strings has no room there.
DEFAULT_MEMORY = (('osd_memory_target', str(4 << 30)),)


@dataclass(frozen=True)
class ClusterSpec:
    """What a cluster is made of. Sizes in bytes; None: see the field."""

    release: str = 'pacific'
    osds: int = 3
    mons: int = 1
    mgrs: int = 1
    db_size_bytes: int | None = None
    """Size of each OSD's own DB device; None: the DB shares the OSD's only device."""
    block_size_bytes: int = 8 << 30
    """Size of each OSD's main device (a sparse file)."""
    pool_size: int | None = None
    """Replicas of a pool; None: 3, or as many as there are OSDs."""
    rgw: bool = False
    dashboard: bool = False
    device_class: str = 'ssd'
    osd_conf: tuple[tuple[str, str], ...] = ()
    """Settings for the [osd] section of ceph.conf, which beat the config store."""
    module: str | None = str(CHECKOUT / 'src/pybind/mgr/rocksdb_tuner')
    """Folder of the rocksdb_tuner module; None: a cluster without it."""
    orchestrator: bool = True
    osd_releases: tuple[str, ...] = ()
    """Releases of the OSDs, in turn: osd.0 has the first; empty: `release`, as all else."""
    device_classes: tuple[str, ...] = ()
    """Device classes of the OSDs, in turn; empty: `device_class`. Workloads use osd.0's class."""
    crush_hosts: int = 0
    """Hosts that the OSDs live on, in turn, and between which pools replicate; 0: this machine."""
    crush_racks: int = 0
    """Racks that the hosts are in, in turn, and between which pools replicate; 0: none."""
    erasure_code: tuple[int, int] | None = None
    """(k, m) of an erasure-coded pool, made with the cluster, that holds RBD's data; None: none."""
    slow_sync: bool = False
    """Whether OSDs can be made slower while they run (slow_sync.py)."""
    cephadm: bool = False
    """Whether cephadm runs the daemons, in containers (cephadm.py)."""
    few_mgr_modules: bool = False
    """Whether managers have of Ceph's own modules only those that are always on. Each manager that
    starts loads all that there are, enabled or not: with few it costs half."""

    def __post_init__(self) -> None:
        for name, low, high in (('osds', 0, 96), ('mons', 1, 9), ('mgrs', 1, 9)):
            if not low <= getattr(self, name) <= high:
                raise UsageError(f'{name} must be {low} to {high}, not {getattr(self, name)}')
        if self.db_size_bytes is not None and self.db_size_bytes < MIN_DB_BYTES:
            raise UsageError(
                f'a DB device of {self.db_size_bytes} bytes is too small: at least '
                f'{MIN_DB_BYTES} (64M)'
            )
        if self.block_size_bytes < MIN_BLOCK_BYTES:
            raise UsageError(
                f'an OSD of {self.block_size_bytes} bytes is too small: at least '
                f'{MIN_BLOCK_BYTES} (1G)'
            )
        if self.dashboard and self.few_mgr_modules:
            raise UsageError('few_mgr_modules leaves out the dashboard: give one of the two')
        strange = [name for name in self.classes if not _DEVICE_CLASS.fullmatch(name)]
        if strange:
            raise UsageError(f'{strange[0]!r} is not a device class: use letters, digits, _ . -')
        wrong = [name for name, usual in _WITH_CEPHADM.items() if getattr(self, name) != usual]
        if self.cephadm and wrong:
            raise UsageError(f'not with --cephadm, which has one host: {", ".join(wrong)}')
        if self.cephadm and not get_release(self.release).in_chroot:
            raise UsageError(f'not with --cephadm: {self.release}, of which there is no image')

    def release_of_osd(self, osd: int) -> str:
        """The release that an OSD is made with."""
        releases = self.osd_releases or (self.release,)
        return releases[osd % len(releases)]

    def host_of_osd(self, osd: int) -> str | None:
        """The name of the host that an OSD takes itself to be on; None: the machine's."""
        return f'host{osd % self.crush_hosts}' if self.crush_hosts else None

    def rack_of_osd(self, osd: int) -> str | None:
        """The name of the rack that an OSD's host is in; None: no racks."""
        if not self.crush_racks:
            return None
        return f'rack{osd % self.crush_hosts % self.crush_racks}'

    def class_of_osd(self, osd: int) -> str:
        """The device class that an OSD is made with."""
        classes = self.device_classes or (self.device_class,)
        return classes[osd % len(classes)]

    @property
    def classes(self) -> tuple[str, ...]:
        """The device classes that there are."""
        return tuple(dict.fromkeys(self.device_classes or (self.device_class,)))

    @property
    def pool_class(self) -> str:
        """The device class that the workloads' pools lie on."""
        return self.class_of_osd(0)

    @property
    def failure_domain(self) -> str:
        """The type of CRUSH bucket between which pools replicate."""
        if self.crush_racks:
            return 'rack'
        return 'host' if self.crush_hosts else 'osd'

    @property
    def pool_domains(self) -> int:
        """The failure domains that have OSDs of the pools' class."""
        osds = [osd for osd in range(self.osds) if self.class_of_osd(osd) == self.pool_class]
        return len({self.rack_of_osd(osd) or self.host_of_osd(osd) or osd for osd in osds})

    @property
    def replicas(self) -> int:
        return self.pool_size or max(1, min(3, self.pool_domains))

    @property
    def mon_ids(self) -> tuple[str, ...]:
        return tuple('abcdefghi'[: self.mons])

    @property
    def mgr_ids(self) -> tuple[str, ...]:
        return tuple('xyzuvwrst'[: self.mgrs])


#: What clusters under cephadm have no choice of.
_WITH_CEPHADM: Mapping[str, object] = {
    'mons': 1,
    'db_size_bytes': None,
    'rgw': False,
    'dashboard': False,
    'orchestrator': True,
    'osd_releases': (),
    'crush_hosts': 0,
    'erasure_code': None,
    'slow_sync': False,
    'few_mgr_modules': False,
}
_DEVICE_CLASS = re.compile(r'[A-Za-z0-9_.-]+')
MIN_DB_BYTES = 64 << 20
MIN_BLOCK_BYTES = 1 << 30


@dataclass(frozen=True)
class Rgw:
    """An object gateway and the S3 user made for its clients."""

    id: str
    url: str
    access_key: str
    secret_key: str


@dataclass(frozen=True)
class Dashboard:
    """The dashboard's user, and its URL on each manager."""

    user: str
    password: str
    urls: dict[str, str]


@dataclass(frozen=True)
class Record:
    """The persistent data of a cluster, in a file that only root reads."""

    state: str
    """'starting', 'running' or 'failed' (could not be started)."""
    fsid: str
    port_base: int
    run_dir: str
    spec: ClusterSpec
    daemons: tuple[str, ...]
    """Ceph's names of the daemons that were started."""
    rgw: Rgw | None = None
    mds: str | None = None
    dashboard: Dashboard | None = None
    moved: tuple[tuple[str, str], ...] = ()
    """Daemons whose release is not the specification's (any more), and their releases."""

    def release_of(self, daemon: str) -> str:
        """The release that a daemon runs."""
        moved = dict(self.moved).get(daemon)
        if moved is not None:
            return moved
        kind, _, number = daemon.partition('.')
        return self.spec.release_of_osd(int(number)) if kind == 'osd' else self.spec.release

    def to_json(self) -> str:
        return json.dumps({'format': RECORD_FORMAT, **asdict(self)}, indent=1) + '\n'

    @staticmethod
    def from_json(text: str) -> Record:
        """The record in `text`; ValueError when it is none that this harness understands."""
        data: Any = _frozen(json.loads(text))
        if not isinstance(data, dict) or data.pop('format', None) != RECORD_FORMAT:
            raise ValueError(f'not a record of format {RECORD_FORMAT}')
        try:
            rgw, dashboard = data.pop('rgw'), data.pop('dashboard')
            return Record(
                spec=ClusterSpec(**data.pop('spec')),
                rgw=rgw and Rgw(**rgw),
                dashboard=dashboard and Dashboard(**dashboard),
                **data,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f'broken: {error}') from error


def _frozen(value: Any) -> Any:
    """A JSON value with tuples in place of its lists."""
    if isinstance(value, dict):
        return {name: _frozen(part) for name, part in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Layout:
    """The paths in a cluster's folder, as the cluster's daemons see them."""

    dir: Path
    run_dir: Path

    @property
    def conf(self) -> Path:
        return self.dir / 'ceph.conf'

    @property
    def admin_keyring(self) -> Path:
        return self.dir / 'keyring'

    @property
    def logs(self) -> Path:
        return self.dir / 'log'

    @property
    def crashes(self) -> Path:
        return self.dir / 'crash'

    @property
    def mgr_modules(self) -> Path:
        return self.dir / 'mgr-modules'

    @property
    def clients(self) -> Path:
        """Scratch space of the workloads."""
        return self.dir / 'clients'

    def data(self, name: str) -> Path:
        """The data folder of a daemon, by Ceph's name for it."""
        daemon_type, _, daemon_id = name.partition('.')
        return self.dir / daemon_type / daemon_id

    def log(self, name: str) -> Path:
        return self.logs / f'{name}.log'


def make_run_dir(directory: Path) -> Path:
    """A folder for sockets and pid files: in the cluster's, or elsewhere when that is too deep."""
    run_dir = directory / 'run'
    if len(os.fsencode(run_dir)) <= MAX_RUN_DIR_BYTES:
        run_dir.mkdir()
        return run_dir
    # Not $TMPDIR: it may be the reason why the path is deep
    return Path(tempfile.mkdtemp(prefix='ceph-qa-', dir='/tmp'))


def load_record(directory: Path) -> Record | None:
    """The record of the cluster in a folder; None when there is none."""
    path = directory / RECORD
    try:
        return Record.from_json(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise HarnessError(f'{path}: {error}') from error


def save_record(directory: Path, record: Record) -> None:
    """Replace the record at once, so that no reader ever sees half of it."""
    path = directory / RECORD
    new = path.with_suffix('.new')
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, 'w') as file:
        file.write(record.to_json())
    new.replace(path)


def change_record(directory: Path, record: Record, **changes: Any) -> Record:
    """Save and return the record with some entries changed."""
    record = replace(record, **changes)
    save_record(directory, record)
    return record


def remove_cluster_files(directory: Path, record: Record) -> None:
    """Remove all files of a cluster that are there. The record goes last: a second try finds it."""
    run_dir = Path(record.run_dir)
    if run_dir.parent == Path('/tmp') and run_dir.name.startswith('ceph-qa-'):
        shutil.rmtree(run_dir, ignore_errors=True)
    entries = list(directory.iterdir()) if directory.is_dir() else []
    for entry in entries:
        if entry.name == RECORD:
            continue
        if entry.is_dir() and not entry.is_symlink():
            _remove_tree(entry)
        else:
            entry.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        (directory / RECORD).unlink(missing_ok=True)
        directory.rmdir()
    _remove_usual_parent(directory)


def _remove_usual_parent(directory: Path) -> None:
    """Remove the folder of clusters in the checkout, if this was the last one in it."""
    if directory.parent == QA / '.clusters':
        with contextlib.suppress(OSError):
            directory.parent.rmdir()


def remove_tree(path: Path, *, keep: bool = False) -> None:
    """Remove a folder, or with `keep` what is in it, if it is there."""
    for entry in path.iterdir() if path.is_dir() else ():
        if entry.is_dir() and not entry.is_symlink():
            _remove_tree(entry)
        else:
            entry.unlink(missing_ok=True)
    if not keep and path.is_dir():
        path.rmdir()
    _remove_usual_parent(path)


def _remove_tree(path: Path) -> None:
    """Remove a folder; what another one removes meanwhile is as good."""

    def failed(_function: object, _path: str, error: Any) -> None:
        if not isinstance(error[1], FileNotFoundError):
            raise error[1]

    shutil.rmtree(path, onerror=failed)
