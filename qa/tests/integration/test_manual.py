"""The manual on a real cluster: its commands work, and print what it shows.

Only commands that change nothing are run, and one recommendation is applied.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator

import pytest
from shared_cluster import new_cluster

from built_packages import build_pyz
from harness import ClusterSpec
from harness.layout import DEFAULT_MEMORY
from manual.pages import pages
from manual.sessions import TOOL, Session, missing, sessions, unlike
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from rocksdb_tuner.commands import COMMANDS
from rocksdb_tuner.mgr.releases import CLICommand

pytestmark = pytest.mark.integration

#: Need write permission, but change nothing that lasts.
ALSO_RUN = frozenset({'osd deep', 'apply'})
#: What they print depends on their arguments alone, if these name a release and no OSD.
OF_ARGUMENTS = frozenset({'check', 'explain', 'model', 'profile derive', 'profile diff'})
#: What they show is there once something was applied.
OF_OPERATIONS = frozenset({'operation status', 'history'})
#: The longest that an answer takes to become the one of the manual.
SETTLED_S = 120
#: The placeholders for the reader.
RECOMMENDATION = '<id>'


def name_of(session: Session) -> str:
    """The name of the command: "osd deep" of "ceph rocksdb-tuner osd deep 3"."""
    names = (' '.join(session.words[2 : 2 + count]) for count in (1, 2))
    return max((name for name in names if name.replace(' ', '_') in COMMANDS), key=len)


def can_run(session: Session) -> bool:
    if not session.is_of_the_module:
        return False
    name = name_of(session)
    if name in ALSO_RUN:
        return name != 'apply' or '--dry-run' in session.words
    known = name == 'recommend' or not session.is_a_template
    return known and CLICommand.PERMISSIONS[' '.join((TOOL[1], name))] == 'r'


SESSIONS = [
    session
    for page, text in pages().items()
    for session in sessions(page, text)
    if can_run(session)
]
of_sessions = pytest.mark.parametrize(
    'session',
    [session for session in SESSIONS if name_of(session) not in OF_OPERATIONS],
    ids=lambda session: f'{session.page}: {" ".join(session.words[2:])}',
)
of_operations = pytest.mark.parametrize(
    'session',
    [session for session in SESSIONS if name_of(session) in OF_OPERATIONS],
    ids=lambda session: f'{session.page}: {" ".join(session.words[2:])}',
)


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    """OSDs that run a superseded string: findings and a recommendation, without load.

    Two: since Reef, managers have a pool whose only replica keeps an OSD from being ok-to-stop.
    """
    spec = ClusterSpec(release=release, osds=2, few_mgr_modules=True, osd_conf=DEFAULT_MEMORY)
    with new_cluster(spec, soak_max='0') as tuner:
        tuner.cluster.ceph('config', 'set', 'osd', OPTION, ALTERNATE_2019)
        tuner.restart_all()
        tuner.wait_for_recommendation('set-profile' if release == 'pacific' else 'remove-override')
        yield tuner


def shown_by(tuner: ModuleClient, session: Session) -> str:
    """The output of a session's command, with the recommendation of this cluster.

    Waits for what the manual shows: a limit takes a window of a minute without a restart, and on a
    busy machine a report that is late takes a recommendation back for a moment.
    """
    command = session.command.partition(' > ')[0]

    def answered() -> str | None:
        found = tuner.recommendations() if RECOMMENDATION in command else []
        words = command.replace(RECOMMENDATION, found[0]['id'] if found else RECOMMENDATION)
        code, text = tuner.answer(shlex.split(words)[2:])
        if code == 0 and missing(session.output or (), text) == []:
            return text
        print(f'{words}: {code}\n{text}')  # pytest shows it when the test fails
        return None

    shown: str = tuner.wait_for(answered, SETTLED_S, f'what the manual shows of {command}', 2.0)
    return shown


def test_manual_shows_command_output() -> None:
    """Without any, the tests below would pass of a manual that shows nothing."""
    shown = {name_of(session) for session in SESSIONS if session.output}
    assert {'status', 'osd', 'findings', 'recommend', 'apply'} <= shown
    assert {'check', 'model', 'operation status', 'history'} <= shown


@of_sessions
def test_commands_work_and_print_what_the_manual_shows(
    tuner: ModuleClient, session: Session
) -> None:
    text = shown_by(tuner, session)
    if session.output and name_of(session) in OF_ARGUMENTS and '--osd' not in session.words:
        assert unlike(session.output, text) == []


def test_one_file_collects_and_reports_without_the_module(tuner: ModuleClient) -> None:
    """The file needs nothing but Python: it runs with an empty environment, without packages."""
    cluster = tuner.cluster
    target = cluster.layout.dir / 'rocksdb-tuner.pyz'
    outside, folder = cluster.host.outside(target), cluster.layout.dir / 'collected'
    build_pyz(outside)
    done = cluster.client.run(
        *('python3', str(target), 'collect', '--interval', '5', '--out', str(folder)), timeout_s=240
    )
    assert 'using: ceph\n' in done.stderr
    assert 'missing' not in done.stderr
    assert cluster.host.outside(folder).with_suffix('.tar.gz').is_file()
    read = subprocess.run(
        ['/usr/bin/python3', '-I', '-S', outside, 'report', cluster.host.outside(folder)],
        env={'PATH': os.environ['PATH']},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert read.returncode == 0, read.stderr
    shown = (
        f'Release: {cluster.release.name}',
        'GROUP  OSDS  WORKLOAD  OPTIONS  SOURCE  LIMITED BY',
    )
    assert missing(shown, read.stdout) == []


def test_recommendation_is_applied_as_the_manual_describes(tuner: ModuleClient) -> None:
    (recommendation,) = tuner.recommendations()
    tuner.plain('apply', recommendation['id'])
    assert tuner.wait_for_phase('done', 'failed')['phase'] == 'done'


@of_operations
def test_operation_commands_print_what_the_manual_shows(
    tuner: ModuleClient, session: Session
) -> None:
    shown_by(tuner, session)
