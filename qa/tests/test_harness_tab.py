"""The tab that comes with `qa/cluster up --dashboard`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from harness import Progress, tab
from harness.errors import CancelledError, CommandError
from harness.host import Completed, Host


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The path of the tab in a release, and its build path in a checkout; neither exists."""
    found = (tmp_path / 'released' / tab.NAME, tmp_path / 'build' / tab.NAME)
    monkeypatch.setattr(tab, '_PLACES', found)
    for path in found:
        path.parent.mkdir()
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would run."""
    commands: list[list[str]] = []

    def run(_host: Host, argv: list[str], **_: object) -> Completed:
        commands.append(argv)
        return Completed(tuple(argv), 0, '', '')

    monkeypatch.setattr(Host, 'run', run)
    return commands


def test_released_tab_takes_precedence_over_a_built_one(places: tuple[Path, Path]) -> None:
    released, built = places
    assert tab.bundle() is None
    built.write_text('')
    assert tab.bundle() == built
    released.write_text('')
    assert tab.bundle() == released


def test_tab_is_built_from_a_checkout_and_not_from_a_release(
    places: tuple[Path, Path], asked: list[list[str]]
) -> None:
    tab.build(Progress(quiet=True))
    assert [command[-1] for command in asked] == ['tab']
    places[0].write_text('')
    tab.build(Progress(quiet=True))
    assert len(asked) == 1


@pytest.mark.usefixtures('places', 'asked')
def test_dashboard_starts_without_the_tab_if_there_is_no_registry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_host: Host, argv: list[str], **_: object) -> Completed:
        raise CommandError(argv, 2, '', 'no registry')

    monkeypatch.setattr(Host, 'run', fails)
    message = io.StringIO()
    tab.build_if_possible(Progress(message))
    assert 'without the tab' in message.getvalue()
    assert 'no registry' in message.getvalue()


@pytest.mark.usefixtures('places', 'asked')
def test_signal_during_the_build_ends_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def canceled(_host: Host, argv: list[str], **_: object) -> Completed:
        raise CancelledError('given up')

    monkeypatch.setattr(Host, 'run', canceled)
    with pytest.raises(CancelledError):
        tab.build_if_possible(Progress(quiet=True))
