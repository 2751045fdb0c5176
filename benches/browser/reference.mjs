// Measures msProbe's viewer on the same file: node reference.mjs LOGDIR. Writes one JSON object; what fails is left out.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { clockedPage, firstPaint, launch, pause, rendererMemory, resident, serve } from './measure.mjs';

const [logdir] = process.argv.slice(2);
const found = {};
const server = await serve(process.env.MSPROBE_REFERENCE_PYTHON, logdir, 'load_meta_dir');
const before = resident(server.pid);
const tag = readdirSync(join(logdir, 'big')).find((one) => one.endsWith('.vis.db')).replace('.vis.db', '');
const browser = await launch();
const PATIENCE = 600_000;

async function attempt(name, measure) {
  try {
    const patience = new Promise((_, reject) => setTimeout(() => reject(new Error('no end')), PATIENCE));
    const value = await Promise.race([measure(), patience]);
    if (value !== undefined) found[name] = value;
  } catch (error) {
    found[`${name}_failed`] = String(error).slice(0, 200);
  }
}

const DRAWN = "() => document.querySelectorAll('[data-testid=debugGraph] svg rect, [data-testid=debugGraph] svg ellipse, svg g rect').length > 3";
const { context, page } = await clockedPage(browser, DRAWN);
let largest = 0;
page.on('response', (response) => {
  if (response.url().includes('/graph_ascend/')) response.body().then((body) => (largest = Math.max(largest, body.length)), () => undefined);
});
await attempt('first_paint', async () => {
  await page.goto(`${server.plugin}index.html`, { waitUntil: 'commit' });
  return firstPaint(page);
});
await attempt('first_paint_again', async () => {
  await page.reload({ waitUntil: 'commit' });
  return firstPaint(page);
});
// Opening a node of the wide rank, as its page asks for it.
const metaData = { run: 'big', tag, type: 'db', lang: 'en', microStep: -1, step: 0, rank: 1 };
const ask = async (route, body) => {
  const begin = performance.now();
  const answer = await fetch(server.plugin + route, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const text = await answer.text();
  largest = Math.max(largest, text.length);
  return performance.now() - begin;
};
await attempt('open_wide', async () => {
  await ask('changeNodeExpandState', { nodeInfo: { nodeName: 'root', nodeType: 'NPU' }, metaData });
  return ask('changeNodeExpandState', { nodeInfo: { nodeName: 'Module.wide.0.Wide.forward.0', nodeType: 'NPU' }, metaData });
});
// Its search begins with a list of all names.
await attempt('search', () => ask('loadGraphAllNodeList', { metaData: { ...metaData, rank: 0 } }));
await pause(2000);
found.largest_response = largest / 1000;
found.tab_memory = rendererMemory();
found.server_memory = resident(server.pid) - before;
await context.close();
await browser.close();
server.stop();
process.stdout.write(JSON.stringify(found));
process.exit(0);
