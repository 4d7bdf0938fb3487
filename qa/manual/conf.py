"""Configuration of Sphinx for the manual: what Ceph's own documentation is built with.

Ceph's extensions for options and its theme are in its source only, so without it (the environment
variable CEPH_SOURCE names an unpacked one) the fields of options come from `module_options`, and
the theme is the one that Ceph's inherits from.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

QA = Path(__file__).resolve().parents[1]
MGR = QA.parent / 'src/pybind/mgr'
CEPH = os.environ.get('CEPH_SOURCE')

project = 'Ceph'
html_title = 'RocksDB Tuner'
html_show_sphinx = False
html_show_copyright = False
smartquotes_action = 'qe'
graphviz_output_format = 'svg'
exclude_patterns = ['**/*.inc.rst']
extensions = ['sphinx.ext.graphviz', 'sphinx-prompt']

if CEPH:
    sys.path.insert(0, f'{CEPH}/doc/_ext')
    extensions.append('ceph_confval')
    ceph_confval_imports: list[str] = []
    ceph_confval_mgr_module_path = str(MGR)
    _PYTHON = ('python-common', 'pybind', 'pybind/mgr')
    ceph_confval_mgr_python_path = ':'.join(f'{CEPH}/src/{folder}' for folder in _PYTHON)
    html_theme = 'ceph'
    html_theme_path = [f'{CEPH}/doc/_themes']
    html_logo = f'{CEPH}/doc/logo.png'
    html_favicon = f'{CEPH}/doc/favicon.ico'
    html_css_files = ['css/custom.css']
    html_static_path = [f'{CEPH}/doc/_static']
    html_context = {'is_release_eol': False}
else:
    html_theme = 'sphinx_rtd_theme'
    html_static_path = ['static']
    html_css_files = ['manual.css']


def setup(app: Any) -> None:
    if CEPH:
        return
    sys.path[:0] = [str(QA), str(QA / 'doubles'), str(MGR)]
    from manual.module_options import MODULE, expanded  # noqa: PLC0415 - after the path to it

    def name_of(_env: object, option: str, node: Any) -> str:
        # Shown by its own name, and referred to by its full one, as in Ceph's documentation.
        node.clear()
        node += addnodes.desc_name(option, option)
        return f'mgr/{MODULE}/{option}'

    def expand(_app: object, _name: str, source: list[str]) -> None:
        source[0] = expanded(source[0])

    from sphinx import addnodes  # noqa: PLC0415 - where Sphinx is

    app.add_object_type(
        'confval',
        'confval',
        indextemplate='pair: %s; configuration option',
        parse_node=name_of,
        objname='configuration option',
    )
    app.connect('source-read', expand)
