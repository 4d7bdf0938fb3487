"""The command line of qa/cluster."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from . import chroot_build
from .cluster import Cluster
from .errors import HarnessError, UsageError
from .layout import ClusterSpec
from .progress import Progress
from .releases import RELEASES, get_release

_SUFFIXES = {'': 1, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived. Not an Exception: only the outermost level may swallow it."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def parse_size(text: str) -> int:
    """Bytes from '67108864', '64M', '64MiB', '1G'; suffixes are powers of 1024."""
    match = re.fullmatch(r'(\d+)\s*([KMGT]?)(?:i?B)?', text.strip(), re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(
            f'{text!r} is no size: give bytes, or a number with K, M, G or T (128M)'
        )
    return int(match[1]) * _SUFFIXES[match[2].upper()]


def parse_setting(text: str) -> tuple[str, str]:
    """('key', 'value') from 'key=value'."""
    key, equals, value = text.partition('=')
    if not equals or not re.fullmatch(r'[a-z][a-z0-9_ ]*', key.strip()):
        raise argparse.ArgumentTypeError(f'{text!r} is no setting: give KEY=VALUE')
    if '\n' in value:
        raise argparse.ArgumentTypeError(f'{text!r}: a setting is one line')
    return key.strip(), value.strip()


def _parse_device_class(text: str) -> str:
    if not re.fullmatch(r'[A-Za-z0-9_.-]+', text):
        raise argparse.ArgumentTypeError(f'{text!r} is no device class: letters, digits, _ . -')
    return text


def raise_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into an exception, so that what was started is ended."""

    def handler(number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated(number)

    signal.signal(signal.SIGTERM, handler)
    signal.signal(signal.SIGHUP, handler)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='qa/cluster', description='A real Ceph cluster on loopback, in a folder of its own.'
    )
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        '--dir', type=Path, help='folder of the cluster ($QA_CLUSTER_DIR, or qa/.clusters/RELEASE)'
    )

    up = commands.add_parser('up', parents=[common], help='make a cluster and start it')
    up.add_argument('--release', default='pacific', metavar='|'.join(RELEASES))
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
    up.add_argument('--mgrs', type=int, default=1, metavar='N', help='2: one is a standby')
    up.add_argument(
        '--db-size', type=parse_size, metavar='BYTES', help='a DB device of its own per OSD'
    )
    up.add_argument(
        '--block-size',
        type=parse_size,
        default=ClusterSpec.block_size_bytes,
        metavar='BYTES',
        help='size of each OSD, default 8G (sparse)',
    )
    up.add_argument('--pool-size', type=int, metavar='N', help='replicas, default min(3, OSDs)')
    up.add_argument('--rgw', action='store_true', help='an object gateway with an S3 user')
    up.add_argument('--dashboard', action='store_true', help='the dashboard, with a user')
    up.add_argument('--device-class', type=_parse_device_class, default='ssd', metavar='CLASS')
    up.add_argument(
        '--osd-conf',
        type=parse_setting,
        action='append',
        default=[],
        metavar='KEY=VALUE',
        help='for the [osd] section of ceph.conf; may be repeated',
    )
    module = up.add_mutually_exclusive_group()
    module.add_argument(
        '--module-path', type=Path, metavar='DIR', help='the rocksdb_tuner module of elsewhere'
    )
    module.add_argument('--no-module', action='store_true', help='without rocksdb_tuner')
    up.add_argument('--no-orchestrator', action='store_true', help='without an orchestrator')

    run = commands.add_parser('exec', parents=[common], help='run a command in its environment')
    run.add_argument('argv', nargs=argparse.REMAINDER, metavar='-- COMMAND ...')
    commands.add_parser('env', parents=[common], help='print export lines for a shell')
    commands.add_parser('status', parents=[common], help='print its daemons as JSON')
    down = commands.add_parser('down', parents=[common], help='end it and remove its folder')
    down.add_argument('--keep', action='store_true', help='keep data and logs')
    upgrade = commands.add_parser(
        'upgrade', parents=[common], help='start daemons anew with the programs of another release'
    )
    upgrade.add_argument('--to', required=True, metavar='|'.join(RELEASES))
    upgrade.add_argument(
        'daemons', nargs='+', metavar='mon|mgr|osd|osd.N', help='all of a kind, or one by its name'
    )
    chroot = commands.add_parser(
        'chroot', help='the chroots of the releases that this machine does not have itself'
    )
    chroot.add_argument('action', choices=('ls', 'build', 'rm'))
    chroot.add_argument('release', nargs='*', metavar='RELEASE', help='default: all of them')
    return parser


def _up(arguments: argparse.Namespace) -> int:
    module = ClusterSpec.module
    if arguments.module_path is not None:
        module = str(arguments.module_path.resolve())
    spec = ClusterSpec(
        release=arguments.release,
        osd_releases=arguments.osd_releases,
        osds=arguments.osds,
        mons=arguments.mons,
        mgrs=arguments.mgrs,
        db_size_bytes=arguments.db_size,
        block_size_bytes=arguments.block_size,
        pool_size=arguments.pool_size,
        rgw=arguments.rgw,
        dashboard=arguments.dashboard,
        device_class=arguments.device_class,
        osd_conf=tuple(arguments.osd_conf),
        module=None if arguments.no_module else module,
        orchestrator=not arguments.no_orchestrator,
    )
    cluster = Cluster.up(spec, arguments.dir)
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
        # Nothing to take down is what was asked for
        print(error, file=sys.stderr)
        return 0
    cluster.down(keep=arguments.keep)
    return 0


def _chroot(arguments: argparse.Namespace) -> int:
    wanted = arguments.release or [name for name in RELEASES if RELEASES[name].in_chroot]
    releases = [get_release(name) for name in wanted]
    for release in releases:
        if not release.in_chroot:
            raise UsageError(f'{release.name} runs on the machine itself, without a chroot')
    if arguments.action == 'build':
        chroot_build.ensure_all(releases, Progress())
    for release in releases:
        path = chroot_build.chroot_path(release)
        if arguments.action == 'rm':
            was_there = chroot_build.remove(release, Progress())
            print(f'{path}: {"removed" if was_there else "not there"}')
        else:
            print(f'{path}: {chroot_build.state(release)}')
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
    """Run a command line's work; errors and signals become a line and an exit status."""
    raise_on_signals()
    try:
        return command()
    except HarnessError as error:
        print(f'{program}: {error}', file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print(f'{program}: interrupted', file=sys.stderr)
        return 128 + signal.SIGINT
    except Terminated as signalled:
        print(f'{program}: ended by {signalled}', file=sys.stderr)
        return 128 + signalled.number


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = build_parser().parse_args(argv)
    return run_main('qa/cluster', lambda: _COMMANDS[arguments.command](arguments))
