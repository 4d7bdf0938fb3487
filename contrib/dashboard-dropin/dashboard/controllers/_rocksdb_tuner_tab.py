"""The tab of the RocksDB Tuner on Cluster » OSDs: one script, added to the dashboard's page.

No release has an extension point for tabs, so a `<script>` is added to the page in the response.
Nothing is added if the script is not installed or this file failed to load; the script itself adds
nothing if it does not find the tabs, or if the user has no read permission.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any, List

import cherrypy

from .. import mgr
from ..plugins import PLUGIN_MANAGER
from ..plugins import interfaces as hooks
from ..security import Scope
from . import BaseController, Endpoint, UIRouter, UpdatePermission

logger = logging.getLogger(__name__)

MODULE = 'rocksdb_tuner'
SCRIPT = Path(__file__).with_name('_rocksdb_tuner_tab.js')
URL = '/ui-api/rocksdb_tuner_tab/script'
#: Runs before the dashboard's gzip (80).
FINALIZE_PRIORITY = 60
#: With one of these headers the response could be an older page, or a part of one.
CONDITIONAL = ('If-Modified-Since', 'If-None-Match', 'Range')


@UIRouter('/rocksdb_tuner', Scope.OSD)
class RocksDBTunerTabPlace(BaseController):
    """What the script reports about its place on the page."""

    @Endpoint('POST', path='/unplaced')
    @UpdatePermission
    def unplaced(self) -> None:
        """Report in the module's status that the script found no place for the tab on the page.

        All operators see it, so read permission is not sufficient.
        """
        try:
            mgr.remote(MODULE, 'tab_has_no_place')
        except Exception as error:  # noqa: BLE001 - without the module there is no tab
            logger.debug('cannot report the missing tab: %s', type(error).__name__)


@UIRouter('/rocksdb_tuner_tab', secure=False)
class RocksDBTunerTab(BaseController):
    """The script: it contains no data, and a `<script>` sends no version header."""

    @Endpoint('GET', path='/script', json_response=False, version=None)
    def script(self) -> List[bytes]:
        cherrypy.response.headers['Content-Type'] = 'application/javascript; charset=utf-8'
        cherrypy.response.headers['Cache-Control'] = 'no-cache'
        # The dashboard converts bytes to text, which CherryPy does not accept.
        return [SCRIPT.read_bytes()]


def with_script(page: bytes, url: str) -> bytes:
    """``page`` with a `<script>` before the end of its body; unchanged if that is missing."""
    head, end, tail = page.rpartition(b'</body>')
    return (
        head + b'<script src="' + url.encode() + b'" defer></script>' + end + tail if end else page
    )


def _is_page(request: Any) -> bool:
    path = request.path_info.removeprefix(mgr.url_prefix or '')
    return request.method in {'GET', 'HEAD'} and path in {'', '/', '/index.html'}


def _add_script() -> None:
    response = cherrypy.serving.response
    if str(response.status or '200').partition(' ')[0] != '200':
        return
    page = with_script(response.collapse_body(), (mgr.url_prefix or '') + URL)
    response.body = [page]
    response.headers['Content-Length'] = str(len(page))
    # The header is for the file, which does not include the script.
    response.headers.pop('Last-Modified', None)


@PLUGIN_MANAGER.add_plugin
class RocksDBTunerPage(hooks.FilterRequest.BeforeHandler):
    """Called before every request; changes only the one page."""

    @PLUGIN_MANAGER.add_hook
    def filter_request_before_handler(self, request: Any) -> None:
        # The plugin is registered when its class is created, and stays registered; if the file then
        # fails to load, it is removed from sys.modules.
        if not (__name__ in sys.modules and _is_page(request) and SCRIPT.is_file()):
            return
        for name in CONDITIONAL:
            request.headers.pop(name, None)
        request.hooks.attach('before_finalize', _add_script, priority=FINALIZE_PRIORITY)
