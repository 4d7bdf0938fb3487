"""Helpers for the dashboard's REST API: users of each role, and their requests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from harness import Cluster

API = '/api/rocksdb_tuner'
VERSION = 'application/vnd.ceph.api.v1.0+json'
PASSWORD = 'kv-sync-7-Theil'


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any


@dataclass(frozen=True)
class User:
    """A user of the dashboard, possibly logged in."""

    url: str
    token: str | None = None

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        accept: str = VERSION,
        content_type: str = 'application/json',
    ) -> Answer:
        headers = {'Accept': accept, 'Content-Type': content_type}
        if self.token:
            headers['Authorization'] = f'Bearer {self.token}'
        data = body if isinstance(body, bytes) else None
        if data is None and body is not None:
            data = json.dumps(body).encode()
        request = Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with urlopen(request, timeout=60) as answer:
                return Answer(answer.status, json.loads(answer.read() or b'null'))
        except HTTPError as error:
            text = error.read().decode()
            try:
                return Answer(error.code, json.loads(text))
            except ValueError:
                return Answer(error.code, text)

    def get(self, path: str) -> Answer:
        return self.ask('GET', API + path)

    def logged_in(self, name: str, password: str) -> User:
        answer = self.ask('POST', '/api/auth', {'username': name, 'password': password})
        assert answer.status == 201, answer
        return User(self.url, answer.body['token'])


def make_users(cluster: Cluster, url: str, roles: Iterable[str]) -> dict[str, User]:
    """One of each role, named after it, logged in."""
    file: Path = cluster.client.host.outside(cluster.layout.dir / 'password')
    file.write_text(PASSWORD)
    found = {}
    for role in roles:
        cluster.ceph('dashboard', 'ac-user-create', f'the-{role}', '-i', str(file), role)
        found[role] = User(url).logged_in(f'the-{role}', PASSWORD)
    file.unlink()
    return found
