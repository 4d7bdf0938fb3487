"""Builds the dashboard's frontend with the tab in it, and runs that tree's checks on the tab:
frontend_build.py TREE FOLDER

TREE is an unpacked source of Ceph, which is not changed; FOLDER is made, and has the built frontend
in src/pybind/mgr/dashboard/frontend/dist. A second run keeps the packages that npm has installed
(make frontend).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from upstream.frontend_patch import PATCH
from upstream.overlay import CHECKOUT, OverlayError, check_version, git_apply
from upstream.timed import passes

FRONTEND = Path('src/pybind/mgr/dashboard/frontend')
IMPORT_PANEL = CHECKOUT / 'contrib/dashboard-frontend/import-panel'
#: Where the patch has a component of its own, and the page that it changes.
_OSD = 'src/app/ceph/cluster/osd'
_COMPONENT = f'{_OSD}/osd-rocksdb-tuner'
_TYPESCRIPT = (
    f'{_COMPONENT}/**/*.ts',
    f'{_OSD}/osd-list/*.ts',
    'src/app/ceph/cluster/cluster.module.ts',
)
_HTML = (f'{_COMPONENT}/*.html', f'{_OSD}/osd-list/*.html')
#: Packages of the lock file that registries no longer have, and the nearest that they have. One
#: requires the other in just this version: they are replaced together.
SUBSTITUTES: Mapping[str, str] = {
    '@carbon/charts': '1.23.6',
    '@carbon/charts-angular': '1.23.6',
}
#: Some packages fetch binaries from elsewhere when they are installed (Cypress).
INSTALL = ('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
HEAP = '--max_old_space_size=6144'


class Check(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    #: Patterns of files, which follow the arguments.
    files: tuple[str, ...] = ()


#: As in the scripts of package.json, for the files of the patch and the panel. The first generates
#: sources that the compiler needs; html-linter takes its files from its configuration.
CHECKS = (
    Check('environment', ('npm', 'run', 'env_build')),
    Check('tsc', ('tsc', '-p', 'tsconfig.app.json', '--noEmit')),
    Check('tsc of the specs', ('tsc', '-p', 'tsconfig.spec.json', '--noEmit')),
    Check('eslint', ('eslint',), (*_TYPESCRIPT, *_HTML)),
    Check('prettier', ('prettier', '--list-different'), _TYPESCRIPT),
    Check('htmllint', ('htmllint',), _HTML),
    Check('html-linter', ('html-linter', '--config', 'html-linter.config.json')),
    Check('stylelint', ('stylelint',), (f'{_COMPONENT}/*.scss',)),
    Check('jest', ('jest', 'osd-rocksdb-tuner', 'osd-list')),
    Check(
        'build',
        ('npm', 'run', 'build:localize', '--', '--configuration=production', '--progress=false'),
    ),
    Check('i18n', ('npm', 'run', 'i18n:extract')),
)


class BuildError(Exception):
    """Why there is nothing to check."""


def prepare(tree: Path, folder: Path) -> Path:
    """A copy of the dashboard with the patch in it; its frontend."""
    check_version(tree)
    frontend = folder / FRONTEND
    packages, kept = frontend / 'node_modules', folder / 'node_modules'
    if packages.is_dir():
        packages.rename(kept)
    shutil.rmtree(frontend, ignore_errors=True)
    shutil.copytree(
        tree / FRONTEND, frontend, ignore=shutil.ignore_patterns('node_modules', 'dist')
    )
    git_apply(folder, [PATCH], check=False)
    if kept.is_dir():
        kept.rename(packages)
    return frontend


def substitute(frontend: Path) -> Sequence[str]:
    """Replace packages that the registry lacks, in the manifest and the lock file."""
    lock, manifest = (
        json.loads((frontend / name).read_text(encoding='utf-8'))
        for name in ('package-lock.json', 'package.json')
    )
    entries = {name: lock['packages'][f'node_modules/{name}'] for name in SUBSTITUTES}
    if all(_of_registry(name, entry['version']) for name, entry in entries.items()):
        return []
    changed = []
    for name, version in SUBSTITUTES.items():
        entry = entries[name]
        found = _of_registry(name, version)
        if found is None:
            raise BuildError(f'the registry has neither {name} {entry["version"]} nor {version}')
        changed.append(f'{name} {version} instead of {entry["version"]}')
        entry['version'] = version
        entry['dependencies'] = found['dependencies']
        entry['integrity'] = found['dist']['integrity']
        entry['resolved'] = found['dist']['tarball']
        for dependencies in (manifest['dependencies'], lock['packages']['']['dependencies']):
            if name in dependencies:
                dependencies[name] = version
    for name, document in (('package-lock.json', lock), ('package.json', manifest)):
        text = json.dumps(document, indent=2, ensure_ascii=False)
        (frontend / name).write_text(text + '\n', encoding='utf-8')
    return changed


def _of_registry(name: str, version: str) -> dict[str, dict[str, str]] | None:
    """None: the registry does not have this version."""
    words = ['npm', 'view', f'{name}@{version}', 'dependencies', 'dist', '--json']
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0 and 'E404' not in done.stdout + done.stderr:
        raise BuildError(f'npm view {name}@{version}: {done.stderr.strip()}')
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else None


def install(frontend: Path) -> None:
    """The packages of the lock file, unless they are those of the last run."""
    lock = (frontend / 'package-lock.json').read_text(encoding='utf-8')
    mark = frontend / 'node_modules/.installed-lock.json'
    if mark.is_file() and mark.read_text(encoding='utf-8') == lock:
        return
    done = subprocess.run(INSTALL, cwd=frontend, env=environment(frontend), check=False)
    if done.returncode != 0:
        raise BuildError(f'{" ".join(INSTALL)} fails ({done.returncode})')
    mark.write_text(lock, encoding='utf-8')


def environment(frontend: Path) -> Mapping[str, str]:
    return {
        **os.environ,
        'PATH': f'{frontend}/node_modules/.bin{os.pathsep}{os.environ["PATH"]}',
        'CYPRESS_INSTALL_BINARY': '0',
        'ESLINT_USE_FLAT_CONFIG': 'false',
        'NG_CLI_ANALYTICS': 'false',
        'NODE_OPTIONS': HEAP,
        'PUPPETEER_SKIP_DOWNLOAD': '1',
    }


def run(frontend: Path, checks: Sequence[Check]) -> int:
    """The number of checks that fail; their output goes to standard output."""
    failed = 0
    for check in checks:
        files = [str(path.relative_to(frontend)) for path in _files(frontend, check.files)]
        words = [*check.arguments, *files]
        failed += not passes(check.name, words, frontend, environment(frontend))
    return failed


def _files(frontend: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        found = sorted(frontend.glob(pattern))
        if not found:
            raise BuildError(f'{frontend} has no {pattern}')
        yield from found


def untranslatable(frontend: Path) -> Sequence[str]:
    """Text of our template that is not among the extracted messages."""
    template = (frontend / _COMPONENT / 'osd-rocksdb-tuner.component.html').read_text(
        encoding='utf-8'
    )
    messages = (frontend / 'src/locale/messages.xlf').read_text(encoding='utf-8')
    texts = ['RocksDB Tuner', *re.findall(r'\bi18n>([^<]+)<', template)]
    return [text.strip() for text in texts if f'>{text.strip()}<' not in messages]


def size(folder: Path) -> str:
    sizes = [path.stat().st_size for path in folder.rglob('*') if path.is_file()]
    return f'{len(sizes)} files, {sum(sizes) / 1e6:.2f} MB'


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print('usage: frontend_build.py TREE FOLDER', file=sys.stderr)
        return 2
    tree, folder = (Path(name).resolve() for name in arguments)
    try:
        frontend = prepare(tree, folder)
        for change in substitute(frontend):
            print(f'installs {change}: the registry lacks one of the two', flush=True)
        install(frontend)
        subprocess.run([IMPORT_PANEL, frontend], check=True)
        failed = run(frontend, CHECKS)
        for text in untranslatable(frontend):
            print(f'i18n: not extracted: {text}')
            failed += 1
    except (BuildError, OverlayError, OSError, subprocess.CalledProcessError) as error:
        print(f'frontend: {error}', file=sys.stderr)
        return 1
    built = frontend / 'dist/en-US'
    if built.is_dir():
        print(f'{built}: {size(built)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
