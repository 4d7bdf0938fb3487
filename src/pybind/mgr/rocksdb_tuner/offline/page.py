"""A single HTML file with all results, rendered by the dashboard tab's code; it loads nothing."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, Mapping
from urllib.parse import quote

from ..options.verdict import all_options
from ..present.osd import facts_of, growth_of
from ..present.views import show
from ..snapshot import Snapshot
from ..units import format_time
from ..version import VERSION
from .judge import Judgement

#: Built by `make tab`; a release has it.
SCRIPT = Path(__file__).with_name('report.js')
#: The script and its style are in the file. The browser may load nothing else, from anywhere.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
#: Of the fullest DB devices; at first, one OSD of a device class is shown.
_MOST_FORECASTS = 50
#: Characters that `encodeURIComponent` does not escape.
_UNQUOTED = "!~*'()"
#: Characters that end a script in HTML, or a line in older JavaScript.
_ESCAPES = str.maketrans(
    {
        '<': '\\u003c',
        '>': '\\u003e',
        '&': '\\u0026',
        '\u2028': '\\u2028',
        '\u2029': '\\u2029',
    }
)

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>RocksDB Tuner report, {time}</title>
</head>
<body>
<header>
<h1>RocksDB Tuner report</h1>
<p>State of {time}; rocksdb_tuner {version}. This file loads nothing and changes nothing.</p>
</header>
<main><h2 class="visually-hidden">State of the cluster</h2></main>
<script type="application/json" id="rocksdb-tuner-answers">{answers}</script>
<script>{script}</script>
</body>
</html>
"""


def page(judgement: Judgement, script: str) -> str:
    """The file; ``script``: the text of SCRIPT."""
    snapshot = judgement.snapshot
    answers = json.dumps(_answers(judgement), allow_nan=False, separators=(',', ':'))
    return _PAGE.format(
        policy=_POLICY,
        time=html.escape(format_time(snapshot.taken_s) or 'an unknown time'),
        version=VERSION,
        answers=answers.translate(_ESCAPES),
        script=script.replace('</script', '<\\/script'),
    )


def _answers(judgement: Judgement) -> Mapping[str, Any]:
    """The REST requests of the tab, by path."""
    snapshot = judgement.snapshot
    texts = {
        '': show('status', snapshot),
        '/findings': show('findings', snapshot),
        '/recommendation': show('recommend', snapshot),
        '/map': show('osd-map', snapshot),
        '/operation': show('operation', snapshot),
        '/history': show('history', snapshot.history),
        '/candidates': show('recommend-all', snapshot),
    }
    for recommendation in snapshot.recommendations:
        path = f'/recommendation/{quote(recommendation.recommendation_id, safe=_UNQUOTED)}'
        texts[path] = show('recommend-detail', recommendation)
    for osd_id in _fullest(judgement):
        grown = growth_of(facts_of(snapshot, osd_id), judgement.growth[osd_id])
        texts[f'/osd/{osd_id}/growth'] = show('growth', grown)
    answers = {path: json.loads(text) for path, text in texts.items()}
    answers['/option'] = _meanings(snapshot)
    return answers


def _fullest(judgement: Judgement) -> list[int]:
    """The OSDs with the fullest DB devices, of those whose growth is known."""
    used = {}
    for osd_id in {facts.info.osd_id for facts in judgement.snapshot.osds} & {*judgement.growth}:
        points = judgement.growth[osd_id]
        used[osd_id] = points.used_bytes[-1] / max(points.total_bytes, 1)
    return sorted(used, key=lambda osd_id: (-used[osd_id], osd_id))[:_MOST_FORECASTS]


def _meanings(snapshot: Snapshot) -> list[Mapping[str, str]]:
    """The meaning of options in recommended strings."""
    strings = ' '.join(
        text for r in snapshot.recommendations for text in (r.options_from, r.options_to)
    )
    return [
        {'option': name, 'meaning': option.meaning}
        for name, option in all_options().items()
        if name in strings
    ]
