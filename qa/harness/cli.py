"""The command line of qa/cluster."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from . import chroot_build, ending, tab
from .cluster import Cluster
from .errors import CancelledError, HarnessError, UsageError
from .host import terminate_commands
from .layout import ClusterSpec
from .progress import Progress
from .releases import RELEASES, get_release

_SUFFIXES = {'': 1, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}


def parse_size(text: str) -> int:
    """Bytes from '67108864', '64M', '64MiB', '1G'; suffixes are powers of 1024."""
    match = re.fullmatch(r'(\d+)\s*([KMGT]?)(?:i?B)?', text.strip(), re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a size: use bytes, or a number with K, M, G or T (128M)'
        )
    return int(match[1]) * _SUFFIXES[match[2].upper()]


def parse_setting(text: str) -> tuple[str, str]:
    """('key', 'value') from 'key=value'."""
    key, equals, value = text.partition('=')
    if not equals or not re.fullmatch(r'[a-z][a-z0-9_ ]*', key.strip()):
        raise argparse.ArgumentTypeError(f'{text!r} is not a setting: use KEY=VALUE')
    if '\n' in value:
        raise argparse.ArgumentTypeError(f'{text!r}: a setting is one line')
    return key.strip(), value.strip()


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='qa/cluster', description='A real Ceph cluster on loopback, in a folder of its own.'
    )
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        '--dir', type=Path, help='folder of the cluster ($QA_CLUSTER_DIR, or qa/.clusters/RELEASE)'
    )

    up = commands.add_parser('up', parents=[common], help='create a cluster and start it')
    up.add_argument('--release', metavar='|'.join(RELEASES), help='default pacific')
    up.add_argument(
        '--cephadm',
        action='store_true',
        help='in containers under cephadm: reef or tentacle, two managers',
    )
    up.add_argument(
        '--osd-releases',
        type=lambda text: tuple(text.split(',')),
        default=(),
        metavar='R,R,...',
        help='releases of the OSDs, in turn, in a cluster whose other daemons run --release; make '
        'such clusters with the oldest',
    )
    up.add_argument('--osds', type=int, default=3, metavar='N', help='default 3')
    up.add_argument('--mons', type=int, default=1, metavar='N', help='default 1')
    up.add_argument('--mgrs', type=int, metavar='N', help='default 1; 2: one is a standby')
    up.add_argument(
        '--db-size', type=parse_size, metavar='BYTES', help='a dedicated DB device per OSD'
    )
    up.add_argument('--rgw', action='store_true', help='an object gateway with an S3 user')
    up.add_argument('--dashboard', action='store_true', help='the dashboard, with a user')
    up.add_argument(
        '--device-class',
        type=lambda text: tuple(text.split(',')),
        default=('ssd',),
        metavar='C,C,...',
        help='device classes of the OSDs, in turn, default ssd; workloads use the class of osd.0',
    )
    up.add_argument(
        '--osd-conf',
        type=parse_setting,
        action='append',
        default=[],
        metavar='KEY=VALUE',
        help='for the [osd] section of ceph.conf; may be repeated',
    )
    up.add_argument('--no-module', action='store_true', help='without rocksdb_tuner')
    up.add_argument('--no-orchestrator', action='store_true', help='without an orchestrator')
    up.add_argument(
        '--few-mgr-modules',
        action='store_true',
        help="only Ceph's always-on mgr modules: managers start faster",
    )

    run = commands.add_parser('exec', parents=[common], help='run a command in its environment')
    run.add_argument('argv', nargs=argparse.REMAINDER, metavar='-- COMMAND ...')
    commands.add_parser('env', parents=[common], help='print export lines for a shell')
    commands.add_parser('status', parents=[common], help='print its daemons as JSON')
    commands.add_parser('down', parents=[common], help='stop it and remove its folder')
    upgrade = commands.add_parser(
        'upgrade', parents=[common], help='restart daemons with the programs of another release'
    )
    upgrade.add_argument('--to', required=True, metavar='|'.join(RELEASES))
    upgrade.add_argument(
        'daemons', nargs='+', metavar='mon|mgr|osd|osd.N', help='all of a type, or one by name'
    )
    chroot = commands.add_parser(
        'chroot', help='make the chroots of the releases that are not installed on this machine'
    )
    chroot.add_argument('action', choices=('build',))
    chroot.add_argument('release', nargs='*', metavar='RELEASE', help='default: all of them')
    return parser


def _up(arguments: argparse.Namespace) -> int:
    spec = ClusterSpec(
        release=arguments.release or ('tentacle' if arguments.cephadm else 'pacific'),
        cephadm=arguments.cephadm,
        osd_releases=arguments.osd_releases,
        osds=arguments.osds,
        mons=arguments.mons,
        mgrs=arguments.mgrs or 1 + arguments.cephadm,
        db_size_bytes=arguments.db_size,
        rgw=arguments.rgw,
        dashboard=arguments.dashboard,
        device_class=arguments.device_class[0],
        device_classes=arguments.device_class,
        osd_conf=tuple(arguments.osd_conf),
        module=None if arguments.no_module else ClusterSpec.module,
        orchestrator=not arguments.no_orchestrator,
        few_mgr_modules=arguments.few_mgr_modules,
    )
    if spec.dashboard and spec.module:
        tab.build_if_possible(Progress())
    cluster = arguments.cluster = Cluster.up(spec, arguments.dir)
    cluster.progress.say(f'the cluster in {cluster.dir} is up')
    return 0


def _exec(arguments: argparse.Namespace) -> NoReturn:
    argv = arguments.argv[1:] if arguments.argv[:1] == ['--'] else arguments.argv
    if not argv:
        raise UsageError('no command given: qa/cluster exec [--dir DIR] -- ceph -s')
    Cluster.open(arguments.dir).replace_process(argv)


def _env(arguments: argparse.Namespace) -> int:
    for name, value in Cluster.open(arguments.dir).env().items():
        print(f'export {name}={shlex.quote(value)}')
    return 0


def _status(arguments: argparse.Namespace) -> int:
    print(json.dumps(asdict(Cluster.open(arguments.dir).status()), indent=1))
    return 0


def _upgrade(arguments: argparse.Namespace) -> int:
    Cluster.open(arguments.dir).upgrade(get_release(arguments.to), arguments.daemons)
    return 0


def _down(arguments: argparse.Namespace) -> int:
    try:
        cluster = Cluster.open(arguments.dir)
    except HarnessError as error:
        # No cluster is the requested state
        print(error, file=sys.stderr)
        return 0
    cluster.down()
    return 0


def _chroot(arguments: argparse.Namespace) -> int:
    wanted = arguments.release or [name for name in RELEASES if RELEASES[name].in_chroot]
    chroot_build.ensure_all([get_release(name) for name in wanted], Progress())
    return 0


_COMMANDS = {
    'chroot': _chroot,
    'up': _up,
    'exec': _exec,
    'env': _env,
    'status': _status,
    'upgrade': _upgrade,
    'down': _down,
}


def run_main(program: str, command: Callable[[], int]) -> int:
    """Run work that a signal may interrupt anywhere; an error becomes a line and an exit status."""
    ending.unblock_signals()
    try:
        return command()
    except HarnessError as error:
        return _failed(program, error)
    except KeyboardInterrupt:
        _complain(f'{program}: interrupted')
        return 128 + signal.SIGINT


def run_endable(
    program: str, command: Callable[[], int], undo: Callable[[], None] = lambda: None
) -> int:
    """As `run_main`, for work that a signal must not interrupt just anywhere (see ending.py).

    `undo`: for what was done all the same when a signal came. The process is to end now: a signal
    from here on, when its exit status is settled, has no effect.
    """

    def on_signal(number: int) -> None:
        _complain(f'{program}: {signal.Signals(number).name}: stopping')

    outcome = ending.run(command, terminate_commands, on_signal)
    status, error = outcome.status, outcome.error
    if error is None and outcome.number is not None:
        try:
            undo()
        except HarnessError as failure:
            error = failure
    if error is not None and not isinstance(error, HarnessError):
        raise error
    if outcome.number is not None:
        if error is not None and not isinstance(error, CancelledError):
            _failed(program, error)
        _complain(f'{program}: ended by {signal.Signals(outcome.number).name}')
        return 128 + outcome.number
    if error is not None:
        return _failed(program, error)
    assert status is not None
    return status


def _failed(program: str, error: HarnessError) -> int:
    _complain(f'{program}: {error}')
    return error.exit_status


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = build_parser().parse_args(argv)

    def command() -> int:
        return _COMMANDS[arguments.command](arguments)

    def undo() -> None:
        cluster: Cluster | None = getattr(arguments, 'cluster', None)
        if cluster is not None:
            cluster.down()

    if arguments.command == 'exec':
        return run_main('qa/cluster', command)
    return run_endable('qa/cluster', command, undo)
