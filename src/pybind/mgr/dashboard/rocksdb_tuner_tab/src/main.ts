import uplotStyle from 'uplot/dist/uPlot.min.css';

import drawn from './drawn.css';
import { define } from './elements';
import { RocksDbTunerPanel } from './panel';
import style from './style.css';
import { watch } from './tab';

// The dashboard may be served below a URL prefix, and this file with it.
const script = document.currentScript as HTMLScriptElement;
const base = script.src.split('ui-api/')[0] ?? '/';

RocksDbTunerPanel.sheet = uplotStyle + style + drawn;
define();
watch(base);
