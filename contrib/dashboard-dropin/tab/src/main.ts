import uplotStyle from 'uplot/dist/uPlot.min.css';

import drawn from './panel/drawn.css';
import { define } from './panel/elements';
import { RocksDbTunerPanel } from './panel/panel';
import style from './panel/style.css';
import { watch } from './tab';

// The dashboard may be served below a URL prefix, and this file with it.
const script = document.currentScript as HTMLScriptElement;
const base = script.src.split('ui-api/')[0] ?? '/';

RocksDbTunerPanel.sheet = uplotStyle + style + drawn;
define();
watch(base);
