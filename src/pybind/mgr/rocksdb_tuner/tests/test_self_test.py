"""`ceph mgr self-test module rocksdb_tuner`: silent if all is well, else it names what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocksdb_tuner import Module
from rocksdb_tuner.module import SELF_TESTED
from rocksdb_tuner.settings import SettingError

RECORDED = Path(__file__).parent / 'mgr/data/reef'


@pytest.fixture
def module() -> Any:
    """With the maps of a recorded cluster of one OSD."""
    made: Any = Module('rocksdb_tuner', '', '')
    for name in ('osd_map', 'osd_map_crush', 'osd_metadata'):
        made.data[name] = json.loads((RECORDED / f'{name}.json').read_text(encoding='utf-8'))
    made.data['pg_status'] = {'num_pgs': 1, 'pgs_by_state': []}
    return made


def test_healthy_module_passes_and_changes_nothing(module: Any) -> None:
    module.self_test()
    assert module.mon_commands == []
    assert module.stored == {}


def test_unparsable_map_fails_the_self_test(module: Any) -> None:
    module.data['osd_map'] = {}
    with pytest.raises(Exception, match='cannot parse the OSD map'):
        module.self_test()


def test_invalid_option_fails_the_self_test(module: Any) -> None:
    module.options['mode'] = 'sometimes'
    with pytest.raises(SettingError, match='sometimes'):
        module.self_test()


@pytest.mark.parametrize('name', SELF_TESTED)
def test_failing_command_is_named(module: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def answer(command: str, _: object) -> dict[str, Any]:
        return {'retval': -22 if command == name else 0, 'stdout': '', 'stderr': 'broken'}

    monkeypatch.setattr(module, 'remote_command', answer)
    with pytest.raises(RuntimeError, match=f'{name}: broken'):
        module.self_test()
