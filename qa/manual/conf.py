"""Configuration of Sphinx for the manual: what Ceph's own documentation is built with.

Ceph's theme is in its source only, so without it (the environment variable CEPH_SOURCE names an
unpacked one) the theme is the one that Ceph's inherits from.
"""

from __future__ import annotations

import os

CEPH = os.environ.get('CEPH_SOURCE')

project = 'Ceph'
html_title = 'RocksDB Tuner'
html_show_sphinx = False
html_show_copyright = False
smartquotes_action = 'qe'
graphviz_output_format = 'svg'
extensions = ['sphinx.ext.graphviz', 'sphinx-prompt']

if CEPH:
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
