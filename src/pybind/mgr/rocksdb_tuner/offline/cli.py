"""The command line of `python3 -m rocksdb_tuner.offline` and `rocksdb-tuner.pyz report`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional, TextIO

from ..collection.records import Collection
from ..collection.report import UnreadableError, read_report
from ..options.verdict import BadQuestionError
from ..present.advice import findings_named
from ..present.osd import detail_of, worst_osds
from ..present.views import FORMATS, show
from ..snapshot import Snapshot, recommendation_named
from ..units import natural
from ..version import VERSION
from .files import COMMANDS, content_of, parse_json
from .folder import read_folder
from .judge import Judgement, judge
from .page import SCRIPT, page

#: The single file sets its own.
PROGRAM = os.environ.get('ROCKSDB_TUNER_PROGRAM', 'python3 -m rocksdb_tuner.offline')

#: Other than 2, a wrong command line.
EXIT_FAILED = 1

#: Commands that are shown by default.
_OVERVIEW = ('status', 'osd', 'workload', 'findings', 'recommend')

_DESCRIPTION = """\
Evaluate a cluster from files: a document written by "ceph rocksdb-tuner report", or a directory
with the output of Ceph's own commands. Findings, workload, recommendations and JSON documents are
the same as the module's.

Files in a directory, each with the unmodified output of its command. Only the first is required;
the resulting limitations of missing files are printed:

{files}

TIME is the time of the output: $(date +%s). Rates require two files, minutes apart.
"""

_EPILOG = """\
exit status: 0 evaluated, possibly with limitations (printed to standard error and by "status");
1 a required file is missing, a file is damaged or has another format, or the requested object does
not exist; 2 invalid command line
"""


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command; the exit status."""
    arguments = _parser().parse_args(argv)
    if arguments.html is not None and arguments.command is not None:
        _parser().error(f'--html shows everything: remove "{arguments.command}"')
    try:
        judgement, answer = judge(_read(arguments.path)), None
        if arguments.html is not None:
            _write_page(judgement, arguments.html)
        else:
            answer = _answer(judgement, arguments)
    except (UnreadableError, BadQuestionError) as error:
        for reason in getattr(error, 'problems', (error,)):
            _write(sys.stderr, f'{PROGRAM}: {reason}')
        return EXIT_FAILED
    for limitation in judgement.snapshot.limitations:
        _write(sys.stderr, f'note: {limitation}')
    if answer is not None:
        _write(sys.stdout, answer)
    return 0


def _read(path: Path) -> Collection:
    """Raises UnreadableError."""
    try:
        return read_folder(path) if path.is_dir() else read_report(parse_json(content_of(path)))
    except UnreadableError as error:
        # Of a folder, each problem names its file.
        raise error if path.is_dir() else UnreadableError(f'{path}: {error}') from None
    except OSError as error:
        raise UnreadableError(f'{path}: cannot be read: {error.strerror or error}') from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=_DESCRIPTION.format(
            files='\n'.join(f'  {name:<29}{command}' for name, command in COMMANDS.items())
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=f'rocksdb_tuner {VERSION}')
    parser.add_argument('path', type=Path, help='a directory, or a document written by "report"')
    parser.add_argument(
        'command',
        nargs='?',
        choices=(*_OVERVIEW, 'history', 'operation'),
        help=f'a command of the module; default: {", ".join(_OVERVIEW)}',
    )
    parser.add_argument('subject', nargs='?', help='id of an OSD, a finding or a recommendation')
    parser.add_argument(
        '--all', action='store_true', help='with "recommend": also what was not chosen'
    )
    parser.add_argument(
        '--html', type=Path, metavar='FILE', help='write everything as one HTML file, with charts'
    )
    parser.add_argument('--format', choices=FORMATS, default='plain')
    return parser


def _write_page(judgement: Judgement, target: Path) -> None:
    """Raises UnreadableError if the page cannot be made or written."""
    try:
        script = SCRIPT.read_text(encoding='utf-8')
    except OSError:
        raise UnreadableError(
            f'--html requires {SCRIPT}, which releases and packages have; "make tab install" in a '
            'checkout builds it'
        ) from None
    try:
        target.write_text(page(judgement, script), encoding='utf-8')
    except OSError as error:
        reason = error.strerror or error
        raise UnreadableError(f'{target}: cannot be written: {reason}') from None


def _answer(judgement: Judgement, arguments: argparse.Namespace) -> str:
    snapshot, output_format = judgement.snapshot, arguments.format
    command, subject = arguments.command, arguments.subject
    if arguments.all and (command != 'recommend' or subject is not None):
        _parser().error('--all goes with "recommend" without an id')
    if command is None:
        return overview(snapshot, output_format)
    if subject is None:
        return _shown('recommend-all' if arguments.all else command, snapshot, output_format)
    if command == 'recommend':
        return show('recommend-detail', recommendation_named(snapshot, subject), output_format)
    if command == 'findings':
        return show('findings', findings_named(snapshot, subject), output_format, whole=True)
    if command != 'osd':
        _parser().error(f'"{command}" takes no argument: "{subject}"')
    number = natural(subject.removeprefix('osd.'))
    if number is None:
        _parser().error(f'invalid OSD id "{subject}": use "3" or "osd.3"')
    detail = detail_of(snapshot, number, judgement.deep.get(number))
    return show('osd-detail', detail, output_format)


def _shown(command: str, snapshot: Snapshot, output_format: str) -> str:
    if command == 'osd':
        return show('osd', worst_osds(snapshot), output_format, everything=True)
    return show(command, snapshot.history if command == 'history' else snapshot, output_format)


def overview(snapshot: Snapshot, output_format: str) -> str:
    """The output of all default commands."""
    texts = {name: _shown(name, snapshot, output_format) for name in _OVERVIEW}
    if output_format == 'plain':
        return '\n\n'.join(f'== {name}\n\n{text}' for name, text in texts.items())
    return json.dumps(
        {name: json.loads(text) for name, text in texts.items()},
        indent=4 if output_format == 'json-pretty' else None,
    )


def _write(stream: TextIO, text: str) -> None:
    """Write ``text`` and a newline, with escapes for characters that the terminal cannot show."""
    encoding = stream.encoding or 'utf-8'
    stream.write(text.encode(encoding, 'backslashreplace').decode(encoding) + '\n')
