"""The HTML file of a report: its content, its security policy, and its command line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocksdb_tuner.collection.report import read_report, report
from rocksdb_tuner.offline import cli
from rocksdb_tuner.offline.cli import main
from rocksdb_tuner.offline.judge import Judgement, judge
from rocksdb_tuner.offline.page import page
from rocksdb_tuner.present import views

from .test_same_answers import World, a_stale_string, without_reports

SCRIPT = 'run("</script>")'


@pytest.fixture(scope='module')
def text() -> str:
    """The report of a cluster with a finding and a recommendation."""
    world = World()
    a_stale_string(world)
    return report(world.tuner.collection(), anonymous=False)


@pytest.fixture(scope='module')
def judgement(text: str) -> Judgement:
    return judge(read_report(json.loads(text)))


def answers(made: str) -> dict[str, Any]:
    """The data read by the script."""
    (found,) = re.findall(r'<script type="application/json"[^>]*>([^<]*)</script>', made)
    document: dict[str, Any] = json.loads(found)
    return document


def test_page_answers_equal_those_of_the_commands(judgement: Judgement) -> None:
    found, snapshot = answers(page(judgement, SCRIPT)), judgement.snapshot
    assert found[''] == json.loads(views.show('status', snapshot))
    assert found['/findings'] == json.loads(views.show('findings', snapshot)) != []
    assert found['/candidates'] == json.loads(views.show('recommend-all', snapshot))
    assert found['/map']['osds'] == [0, 1, 2]
    assert found['/operation'] is None
    (recommendation,) = snapshot.recommendations
    full = found[f'/recommendation/{recommendation.recommendation_id}']
    assert full == json.loads(views.show('recommend-detail', recommendation))
    # Explained by the table of changed options.
    meanings = {option['option'] for option in found['/option']}
    assert {'write_buffer_size', 'max_write_buffer_number'} <= meanings


def test_page_includes_the_db_device_forecast(text: str) -> None:
    """For the fullest devices; an OSD that is gone has none."""
    document = json.loads(text)
    taken_s = document['collection']['taken_s']
    document['collection']['module']['growth'] = {
        str(osd_id): {
            'times_s': [taken_s - 3600, taken_s],
            'used_bytes': [10**9, used],
            'total_bytes': 10**11,
            'slow_used_bytes': 0,
        }
        for osd_id, used in ((0, 3 * 10**9), (1, 2 * 10**9), (77, 10**9))
    }
    judged = judge(read_report(document))
    found = answers(page(judged, SCRIPT))
    assert [path for path in found if path.endswith('/growth')] == [
        '/osd/0/growth',
        '/osd/1/growth',
    ]
    assert len(found['/osd/0/growth']['time_s']) == 2


def test_cluster_text_cannot_end_the_script(judgement: Judgement) -> None:
    hostile = '</script><script>alert(1)</script><!--\u2028'
    osds = judgement.snapshot.osds
    renamed = osds[0]._replace(info=replace(osds[0].info, host=hostile))
    snapshot = replace(judgement.snapshot, osds=(renamed, *osds[1:]))
    made = page(replace(judgement, snapshot=snapshot), SCRIPT)
    assert answers(made)['/map']['hosts']['names'][0] == hostile
    assert made.count('</script') == 2
    assert '<!--' not in made
    assert '\u2028' not in made
    # Nor does the script itself.
    assert 'run("<\\/script>")' in made


def test_content_security_policy_blocks_all_loads(judgement: Judgement) -> None:
    made = page(judgement, SCRIPT)
    assert "default-src 'none'" in made
    assert re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?(?:https?:)?//', made) == []


def test_unknown_time_is_reported_before_the_first_sample() -> None:
    world = World()
    without_reports(world)
    text = report(world.tuner.collection(), anonymous=False)
    judged = judge(read_report(json.loads(text)))
    unknown = replace(judged, snapshot=replace(judged.snapshot, taken_s=None))
    assert 'State of an unknown time;' in page(unknown, SCRIPT)


@pytest.fixture
def files(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report, and a script as `make tab` builds one."""
    (tmp_path / 'report.json').write_text(text)
    (tmp_path / 'report.js').write_text(SCRIPT)
    monkeypatch.setattr(cli, 'SCRIPT', tmp_path / 'report.js')
    return tmp_path


def test_command_writes_the_file_and_prints_no_answer(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = files / 'report.html'
    assert main([str(files / 'report.json'), '--html', str(target)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ''
    # Nothing is missing in a report.
    assert shown.err == ''
    assert target.read_text().startswith('<!DOCTYPE html>')


def test_missing_script_is_reported_with_a_remedy(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / 'report.js').unlink()
    assert main([str(files / 'report.json'), '--html', str(files / 'x.html')]) == 1
    assert 'which releases and packages have; "make tab install"' in capsys.readouterr().err
    assert not (files / 'x.html').exists()


def test_unwritable_file_is_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = files / 'nowhere/report.html'
    assert main([str(files / 'report.json'), '--html', str(target)]) == 1
    assert f'{target}: cannot be written: No such file' in capsys.readouterr().err


def test_additional_command_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(files / 'report.json'), 'findings', '--html', str(files / 'x.html')])
    assert ended.value.code == 2
    assert '--html shows everything: remove "findings"' in capsys.readouterr().err
