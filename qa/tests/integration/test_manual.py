"""The manual on a real cluster: its commands work, and print what it shows.

Only commands that change nothing are run, on OSDs whose options give something to report.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

from harness import Cluster, ClusterSpec, Progress
from manual.pages import pages
from manual.sessions import TOOL, Session, missing, sessions, unlike
from module_client import ALTERNATE_2019, CHECKOUT, OPTION, ModuleClient
from rocksdb_tuner.commands import COMMANDS
from rocksdb_tuner.mgr.releases import CLICommand

pytestmark = pytest.mark.integration

#: Needs write permission, but changes nothing that lasts.
ALSO_RUN = frozenset({'osd deep'})
#: What they print depends on their arguments alone, if these name a release and no OSD.
OF_ARGUMENTS = frozenset({'check', 'explain', 'model', 'profile derive', 'profile diff'})


def name_of(session: Session) -> str:
    """The name of the command: "osd deep" of "ceph rocksdb-tuner osd deep 3"."""
    names = (' '.join(session.words[2 : 2 + count]) for count in (1, 2))
    return max((name for name in names if name.replace(' ', '_') in COMMANDS), key=len)


def can_run(session: Session) -> bool:
    if not session.is_of_the_module or session.is_a_template:
        return False
    name = name_of(session)
    return CLICommand.PERMISSIONS[' '.join((*TOOL[1:], name))] == 'r' or name in ALSO_RUN


SESSIONS = [
    session
    for page, text in pages().items()
    for session in sessions(page, text)
    if can_run(session)
]


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    directory = tempfile.mkdtemp(prefix='tuner-manual-')
    spec = ClusterSpec(release=release, osds=3, few_mgr_modules=True)
    with Cluster.up(spec, directory, Progress()) as cluster:
        tuner = ModuleClient(cluster)
        cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/sample_interval', '5')
        cluster.ceph('config', 'set', 'osd', OPTION, ALTERNATE_2019)
        tuner.wait_for(
            lambda: tuner.status()['findings']['warning'] > 0, 60, 'a finding of the string'
        )
        yield tuner


def test_the_manual_shows_outputs() -> None:
    """Without any, the tests below would pass of a manual that shows nothing."""
    shown = {name_of(session) for session in SESSIONS if session.output}
    assert {'status', 'osd', 'finding ls', 'finding show', 'check', 'model'} <= shown


@pytest.mark.parametrize('session', SESSIONS, ids=lambda s: f'{s.page}: {" ".join(s.words[2:])}')
def test_a_command_works_and_prints_what_the_manual_shows(
    tuner: ModuleClient, session: Session
) -> None:
    command = session.command.partition(' > ')[0]
    code, text = tuner.answer(shlex.split(command)[2:])
    assert code == 0, text
    if session.output:
        assert missing(session.output, text) == []
        if name_of(session) in OF_ARGUMENTS and '--osd' not in session.words:
            assert unlike(session.output, text) == []


def test_what_collect_gathers_is_read_offline(tuner: ModuleClient) -> None:
    """The script for clusters without the module, with a shorter pause between its two readings."""
    cluster = tuner.cluster
    script, folder = cluster.layout.dir / 'collect', cluster.layout.dir / 'collected'
    shutil.copy(CHECKOUT / 'contrib/collect', cluster.host.outside(script))
    words = ['--interval', '5', '--out', str(folder)]
    done = cluster.client.run('sh', str(script), *words, timeout_s=240)
    assert 'using: ceph\n' in done.stderr
    assert 'missing' not in done.stderr
    assert cluster.host.outside(folder).with_suffix('.tar.gz').is_file()
    read = subprocess.run(
        ['/usr/bin/python3', '-m', 'rocksdb_tuner.offline', cluster.host.outside(folder)],
        env={'PATH': os.environ['PATH'], 'PYTHONPATH': str(CHECKOUT / 'src/pybind/mgr')},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert read.returncode == 0, read.stderr
    heading = 'GROUP  OSDS  WORKLOAD  OPTIONS  SOURCE'
    assert missing((f'Release: {cluster.release.name}', heading), read.stdout) == []
