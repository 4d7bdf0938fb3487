"""The page of the dashboard gets the script of the tab, and no other answer is touched."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cherrypy
import pytest
from dashboard import mgr
from dashboard.controllers import _rocksdb_tuner_tab as tab

import answers

PAGE = b'<html><body><cd-root></cd-root></body></html>'


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The built script, at the path that the controller reads."""
    path = tmp_path / 'tab.js'
    path.write_text('let a;')
    monkeypatch.setattr(tab, 'SCRIPT', path)
    return path


def request(path: str = '/', method: str = 'GET') -> Any:
    attached: list[Any] = []
    return SimpleNamespace(
        path_info=path,
        method=method,
        headers={'If-None-Match': 'x', 'Accept': 'text/html'},
        attached=attached,
        hooks=SimpleNamespace(attach=lambda *hook, **_: attached.append(hook)),
    )


def ask(asked: Any) -> list[Any]:
    """The callback for the end of the answer to a request."""
    tab.RocksDBTunerPage().filter_request_before_handler(asked)
    return [point for point, _ in asked.attached]


@pytest.mark.parametrize(
    ('path', 'method'),
    [('/favicon.ico', 'GET'), ('/api/osd', 'GET'), ('/', 'POST'), ('/index.html/x', 'GET')],
)
def test_other_requests_are_unchanged(path: str, method: str) -> None:
    asked = request(path, method)
    assert ask(asked) == []
    assert 'If-None-Match' in asked.headers


def test_url_prefix_applies_to_page_and_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mgr, 'url_prefix', '/ceph')
    assert ask(request('/ceph/')) == ['before_finalize']
    assert b'src="/ceph/ui-api/rocksdb_tuner_tab/script"' in finished(200)['body']


def test_missing_or_truncated_script_adds_nothing(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.delitem(sys.modules, tab.__name__)
        assert ask(request()) == []
    script.unlink()
    assert ask(request()) == []


def finished(status: object, body: bytes = PAGE) -> dict[str, Any]:
    """The answer after what was attached to it has run."""
    response = SimpleNamespace(
        status=status,
        body=[body],
        headers={'Content-Length': str(len(body)), 'Last-Modified': 'then'},
        collapse_body=lambda: body,
    )
    serving: Any = cherrypy.serving
    serving.response = response
    tab._add_script()
    return {'body': b''.join(response.body), 'headers': response.headers}


@pytest.mark.parametrize('status', [None, 200, '200 OK'])
def test_script_is_last_in_the_body_and_the_length_is_correct(status: object) -> None:
    answer = finished(status)
    assert answer['body'] == PAGE.replace(
        b'</body>', b'<script src="/ui-api/rocksdb_tuner_tab/script" defer></script></body>'
    )
    assert answer['headers'] == {'Content-Length': str(len(answer['body']))}


@pytest.mark.parametrize('status', [304, '404 Not Found', '500 Internal Server Error'])
def test_answer_that_is_not_the_page_is_unchanged(status: object) -> None:
    assert finished(status)['body'] == PAGE


def test_types_of_the_tab_match_the_answers() -> None:
    """`make answers` regenerates the file."""
    assert answers.TYPES.read_text() == answers.results()[answers.TYPES]
