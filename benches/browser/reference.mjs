// Measures msProbe's viewer on a copy of the same file: node reference.mjs LOGDIR. Writes one JSON object. What does not come to an
// end within a minute is named in `no_end`, what fails in `failed`.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { clockedPage, firstPaint, launch, pause, rendererMemory, resident, serve } from './measure.mjs';

const PATIENCE = 60_000;
const NO_END = new Error('no end');

const [logdir] = process.argv.slice(2);
const found = { no_end: [], failed: {} };
const server = await serve(process.env.MSPROBE_REFERENCE_PYTHON, logdir, 'load_meta_dir');
const before = resident(server.pid);
const tag = readdirSync(join(logdir, 'big')).find((one) => one.endsWith('.vis.db')).replace('.vis.db', '');
const browser = await launch();

/** Measures a row of the table; false if it did not come to an end. */
async function attempt(name, measure) {
  let timer;
  const patience = new Promise((_, reject) => (timer = setTimeout(() => reject(NO_END), PATIENCE)));
  try {
    found[name] = await Promise.race([measure(), patience]);
    return true;
  } catch (error) {
    if (error === NO_END) found.no_end.push(name);
    else found.failed[name] = String(error).slice(0, 200);
    return false;
  } finally {
    clearTimeout(timer);
  }
}

const DRAWN = "() => document.querySelectorAll('[data-testid=debugGraph] svg rect, [data-testid=debugGraph] svg ellipse, svg g rect').length > 3";
let largest = 0;
async function paint() {
  const { context, page } = await clockedPage(browser, DRAWN);
  page.on('response', (response) => {
    if (response.url().includes('/graph_ascend/')) response.body().then((body) => (largest = Math.max(largest, body.length)), () => undefined);
  });
  await page.goto(`${server.plugin}index.html`, { waitUntil: 'commit' });
  return { context, took: await firstPaint(page) };
}

await attempt('first_paint', async () => {
  const { context, took } = await paint();
  await context.close();
  return took;
});
await attempt('first_paint_again', async () => (await paint()).took);

// A node of the wide rank, as its page asks for it: what its server takes to answer, without the drawing.
const metaData = { run: 'big', tag, type: 'db', lang: 'en', microStep: -1, step: 0, rank: 1 };
const ask = async (route, body) => {
  const begin = performance.now();
  const answer = await fetch(server.plugin + route, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const text = await answer.text();
  largest = Math.max(largest, text.length);
  return performance.now() - begin;
};
const expand = (nodeName) => ask('changeNodeExpandState', { nodeInfo: { nodeName, nodeType: 'NPU' }, metaData });
const begun = await attempt('begin', async () => {
  await ask('load_meta_dir', {});
  await ask('loadGraphConfigInfo', { metaData });
  return expand('root');
});
if (begun) await attempt('open_wide', () => expand('Module.wide.0.Wide.forward.0'));
// Its search begins with a list of all names.
await attempt('search', () => ask('loadGraphAllNodeList', { metaData: { ...metaData, rank: 0 } }));
await pause(1000);
found.largest_response = largest / 1000;
found.tab_memory = rendererMemory();
found.server_memory = resident(server.pid) - before;
await browser.close();
server.stop();
process.stdout.write(JSON.stringify(found));
// An answer that has no end keeps its connection open.
process.exit(0);
