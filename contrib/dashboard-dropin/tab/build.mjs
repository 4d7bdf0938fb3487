/** Bundles the tab, or another entry point: node build.mjs [--entry=FILE] --outfile=FILE */

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { build, transform } from 'esbuild';

const { entry, outfile } = parseArgs({
  options: { entry: { type: 'string', default: 'src/main.ts' }, outfile: { type: 'string' } },
}).values;

/** As text, so that esbuild itself would leave it as it is. */
const style = {
  name: 'style',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true });
      return { contents: code, loader: 'text' };
    }),
};

const { outputFiles } = await build({
  entryPoints: [entry],
  bundle: true,
  minify: true,
  format: 'iife',
  // Older than what the style sheet needs (color-mix).
  target: 'es2020',
  charset: 'utf8',
  legalComments: 'eof',
  plugins: [style],
  write: false,
});
const [{ text }] = outputFiles;
const licenses = text.lastIndexOf('/*! Bundled license information');
// Templates keep their indentation, which HTML ignores.
const code = text.slice(0, licenses).replace(/\n {2,}/g, ' ');
await writeFile(outfile, code + text.slice(licenses));
