// Starts a real TensorBoard on a copy of the recorded files, and a headless Chromium in front of it.
//
// MSPROBE_PYTHON: interpreter with tensorboard and msprobe-rs installed (default .venv/bin/python).
// MSPROBE_SHARED: folder with the recorded files (default ../shared; else the small ones in tests/data/visdb).
// CHROMIUM: the browser (default /usr/bin/chromium).
import { spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../../', import.meta.url).pathname;
const { chromium } = createRequire(join(root, 'tb_plugin/package.json'))('playwright-core');
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export function recordedFolder() {
  const shared = join(process.env.MSPROBE_SHARED ?? join(root, '../shared'), 'golden/visdb');
  return existsSync(shared) ? shared : join(root, 'tests/data/visdb');
}

export const hasAllFiles = existsSync(join(recordedFolder(), 'compare_statistics.vis.db'));

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export async function start({ prefix = '', env = {}, fill = () => {} } = {}) {
  const logdir = mkdtempSync(join(tmpdir(), 'msprobe-browser-'));
  for (const name of readdirSync(recordedFolder()).filter((one) => one.endsWith('.vis.db'))) {
    cpSync(join(recordedFolder(), name), join(logdir, name));
    chmodSync(join(logdir, name), 0o640);
  }
  await fill(logdir);
  const port = await freePort();
  const python = process.env.MSPROBE_PYTHON ?? join(root, '.venv/bin/python');
  const words = ['-m', 'tensorboard.main', '--logdir', logdir, '--port', String(port), '--host', '127.0.0.1'];
  if (prefix) words.push(`--path_prefix=${prefix}`);
  const server = spawn(python, words, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  server.stdout.on('data', (text) => (log += text));
  server.stderr.on('data', (text) => (log += text));
  const address = `http://127.0.0.1:${port}${prefix}`;
  const api = `${address}/data/plugin/graph_ascend/api/`;
  for (let turn = 0; ; turn += 1) {
    if (server.exitCode !== null || turn > 150) throw new Error(`TensorBoard does not start:\n${log}`);
    const answer = await fetch(`${api}files`).catch(() => null);
    if (answer?.ok) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  return {
    address,
    api,
    logdir,
    browser,
    async stop() {
      await browser.close();
      server.kill('SIGTERM');
      rmSync(logdir, { recursive: true, force: true });
    },
  };
}

/** Opens the tab in TensorBoard and gives the page and the plugin's frame. */
export async function openTab(world, hash = '', options = {}) {
  const context = await world.browser.newContext({ viewport: { width: 1600, height: 950 }, locale: 'en-US', ...options });
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  // TensorBoard's own page has troubles of its own; ours are those of the plugin's addresses.
  page.on('console', (message) => {
    const ours = message.location().url.includes('/plugin/graph_ascend/') && !/status of 4/.test(message.text());
    if (message.type() === 'error' && ours) problems.push(message.text());
  });
  await page.goto(`${world.address}/#graph_ascend${hash}`);
  await page.waitForSelector('iframe', { state: 'attached' });
  let frame;
  for (let turn = 0; turn < 100 && !frame; turn += 1) {
    frame = page.frames().find((one) => one.url().includes('plugin_entry'));
    if (!frame) await page.waitForTimeout(100);
  }
  await frame.getByTestId('app').waitFor();
  return { context, page, frame, problems };
}

export async function chooseFile(frame, name) {
  await frame.getByTestId('tagSelect').click();
  await frame.getByTestId('fileList').getByText(name, { exact: true }).click();
  await frame.getByTestId('tagSelect').getByText(name).waitFor();
  await frame.locator('[role=tree] [role=treeitem]').first().waitFor({ state: 'attached' });
}

/** Where a box stands on the page, by the mirror that screen readers use. */
export async function boxOf(page, frame, name, side = 'debugGraph') {
  const item = frame.getByTestId(side).locator(`[role=treeitem][data-name="${name}"]`);
  await item.waitFor({ state: 'attached', timeout: 8000 });
  await page.waitForTimeout(120);
  const [x, y, w, h] = (await item.getAttribute('data-box')).split(',').map(Number);
  const canvas = await frame.getByTestId(side).locator('canvas').first().boundingBox();
  return { x: canvas.x + x + Math.min(40, w / 2), y: canvas.y + y + Math.min(10, h / 2) };
}
