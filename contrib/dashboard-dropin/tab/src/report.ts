/** The panel in a file, with the answers of one moment: see rocksdb_tuner/offline/page.py. */

import uplotStyle from 'uplot/dist/uPlot.min.css';

import { Api, ApiError } from './panel/api';
import drawn from './panel/drawn.css';
import { define } from './panel/elements';
import { RocksDbTunerPanel } from './panel/panel';
import pageStyle from './report.css';
import style from './panel/style.css';

/** Answers by path, without a server. */
class Still extends Api {
  constructor(private readonly answers: Record<string, unknown>) {
    super('');
  }

  override get<T>(path: string): Promise<T> {
    const answer = this.answers[path];
    if (answer !== undefined) return Promise.resolve(answer as T);
    // A report has no samples over time, and a forecast only of some OSDs.
    if (path.startsWith('/trend')) return Promise.resolve([] as T);
    if (path.endsWith('/growth')) return Promise.resolve(null as T);
    return Promise.reject(new ApiError(404, 'enoent', `The report does not contain ${path}.`));
  }

  override change<T>(): Promise<T> {
    return Promise.reject(new ApiError(403, 'eperm', 'A report changes nothing.'));
  }
}

const data = document.getElementById('rocksdb-tuner-answers')?.textContent ?? '{}';
RocksDbTunerPanel.sheet = uplotStyle + style + drawn + pageStyle;
define();
const panel = document.createElement('rocksdb-tuner-panel') as RocksDbTunerPanel;
panel.still = new Still(JSON.parse(data) as Record<string, unknown>);
document.querySelector('main')?.append(panel);
