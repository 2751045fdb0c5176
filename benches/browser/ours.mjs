// Measures our viewer: node ours.mjs LOGDIR MANY_FILES. Writes one JSON object.
import { statSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { clockedPage, firstPaint, launch, median, pause, rendererMemory, resident, serve } from './measure.mjs';

const [logdir, many] = process.argv.slice(2);
const python = process.env.MSPROBE_PYTHON;
const name = `big/${readdirSync(join(logdir, 'big')).find((one) => one.endsWith('.vis.db'))}`;
const found = { file: { bytes: statSync(join(logdir, name)).size } };
const DRAWN = "() => Number(document.querySelector('[data-testid=debugGraph] canvas')?.dataset.drawn ?? 0) > 1";

const server = await serve(python, logdir, 'api/files');
const before = resident(server.pid);
const browser = await launch();
const address = `${server.plugin}index.html#m.file=${encodeURIComponent(name)}`;
const RUNS = 5;

async function paint(options) {
  const { context, page } = await clockedPage(browser, DRAWN, options);
  await page.goto(address, { waitUntil: 'commit' });
  return { context, page, took: await firstPaint(page) };
}
const settled = (page) => page.locator('[data-testid=app][aria-busy=false]').waitFor();

// Nothing cached: a server that has just started.
const first = await paint();
found.first_paint = first.took;
await first.context.close();
const again = [];
for (let run = 0; run < RUNS; run += 1) {
  const one = await paint();
  again.push(one.took);
  await one.context.close();
}
found.first_paint_again = median(again);
const slow = await paint({ slow: true });
found.first_paint_slow = slow.took;
await slow.context.close();

// One tab does the rest; every response is weighed.
let largest = 0;
const { context, page } = await paint();
page.on('response', (response) => {
  if (response.url().includes('/api/')) response.body().then((body) => (largest = Math.max(largest, body.length)), () => undefined);
});
await settled(page);
const summary = await page.evaluate(async (path) => (await fetch(`api/summary?path=${encodeURIComponent(path)}&step=0&rank=0`)).json(), name);
found.file.nodes = summary.target.nodes + summary.golden.nodes;

// Search: from the last key to the changed list, the 40 ms that it waits for another key included.
const search = [];
for (const word of ['softmax 1', 'layers.3 mlp', 'linear.77', 'matmul 400', 'embedding']) {
  search.push(
    await page.evaluate(async (text) => {
      const field = document.querySelector('[data-testid=searchInput]');
      const count = document.querySelector('[data-testid=hitCount]');
      const begin = performance.now();
      const before = count.textContent;
      field.value = text;
      field.dispatchEvent(new Event('input', { bubbles: true }));
      while (count.textContent === before && performance.now() - begin < 20_000) await new Promise((resolve) => setTimeout(resolve, 2));
      return performance.now() - begin;
    }, word),
  );
}
found.search = median(search);
await page.locator('[data-testid=searchInput]').fill('');
await settled(page);

// The wide rank: a module of 5,000 calls is opened by the keyboard, until 50,000 boxes are open.
await page.locator('[data-testid=rankSelect]').selectOption('1');
await settled(page);
const pane = page.locator('[data-testid=debugGraph]');
await pane.focus();
await page.keyboard.press('Home');
const opened = [];
for (let module = 0; module < 12; module += 1) {
  await settled(page);
  // The modules are the root's first children: select the next closed one through the search.
  await page.locator('[data-testid=searchInput]').fill(`wide.${module}.Wide`);
  await page.locator('[data-testid=hit]').first().getByText(`wide.${module}.Wide`).click();
  await settled(page);
  await pane.focus();
  await pause(300);
  opened.push(
    await page.evaluate(async () => {
      const tree = document.querySelector('[data-testid=debugGraph]');
      const before = Number(tree.dataset.boxes);
      const canvas = tree.querySelector('canvas');
      const begin = performance.now();
      tree.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
      while (Number(tree.dataset.boxes) < before + 4_000 && performance.now() - begin < 20_000) await new Promise((resolve) => requestAnimationFrame(resolve));
      // Until the frame with them is drawn.
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return performance.now() - begin;
    }),
  );
}
found.open_wide = median(opened);
found.opened = opened;
await settled(page);
await pause(1000);
found.boxes = await pane.evaluate((one) => Number(one.dataset.boxes));

async function frames(send) {
  return page.evaluate(async (kind) => {
    const canvas = document.querySelector('[data-testid=debugGraph] canvas');
    const edge = canvas.getBoundingClientRect();
    const at = { clientX: edge.x + edge.width / 2, clientY: edge.y + edge.height / 2, bubbles: true, cancelable: true };
    const draws = [];
    const begin = performance.now();
    const count = 180;
    for (let frame = 0; frame < count; frame += 1) {
      const event = kind === 'scroll' ? { ...at, deltaY: 60 } : { ...at, deltaY: frame % 60 < 30 ? -40 : 40, ctrlKey: true };
      canvas.dispatchEvent(new WheelEvent('wheel', event));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      draws.push(Number(canvas.dataset.frame));
    }
    return { fps: (count * 1000) / (performance.now() - begin), draw: Math.max(...draws.slice(5)), typical: draws.sort((a, b) => a - b)[count / 2] };
  }, send);
}
const scrolls = [await frames('scroll'), await frames('scroll'), await frames('scroll')];
const zooms = [await frames('zoom'), await frames('zoom'), await frames('zoom')];
found.scroll = median(scrolls.map((one) => one.fps));
found.scroll_draw = median(scrolls.map((one) => one.draw));
found.scroll_draw_typical = median(scrolls.map((one) => one.typical));
found.zoom = median(zooms.map((one) => one.fps));
found.zoom_draw_typical = median(zooms.map((one) => one.typical));

// The other views, so that memory and response sizes count them.
await page.locator('[data-testid=rankSelect]').selectOption('0');
await settled(page);
await page.locator('[data-testid=view-diff]').click();
await page.locator('[data-testid=diffRow]').first().waitFor();
await settled(page);
await page.locator('[data-testid=view-overview]').click();
await page.locator('[data-testid=graphRow]').first().waitFor();
await settled(page);
await page.locator('[data-testid=view-graph]').click();
await pause(1000);
found.largest_response = largest / 1000;
const session = await context.newCDPSession(page);
await session.send('HeapProfiler.collectGarbage');
found.heap = (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;
found.tab_memory = rendererMemory();
found.server_memory = resident(server.pid) - before;
await browser.close();
server.stop();

const other = await serve(python, many, 'api/session');
const lists = [];
for (let run = 0; run < 2 * RUNS; run += 1) {
  const begin = performance.now();
  const answer = await (await fetch(`${other.plugin}api/files`)).json();
  lists.push(performance.now() - begin);
  found.listed = answer.files.length;
}
found.list_files = median(lists);
other.stop();
process.stdout.write(JSON.stringify(found));
