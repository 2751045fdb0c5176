// Starts a real TensorBoard on a copy of the recorded files, and a headless Chromium in front of it.
//
// MSPROBE_PYTHON: interpreter with tensorboard and msprobe-rs installed (default .venv/bin/python).
// MSPROBE_SHARED: folder with the recorded files (default ../shared; else the small ones in tests/data/visdb).
// CHROMIUM: the browser (default /usr/bin/chromium).
// MSPROBE_SLOW: how many times slower the browser's processor shall be (default 1).
//
// Nothing here or in the tests waits for a time: a machine may be ten times slower than the one a time was chosen on.
// `app` says by aria-busy whether an answer is under way; everything else is asked again until it holds.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe } from 'node:test';

/** The project. */
export const root = new URL('../../', import.meta.url).pathname;
const { chromium } = createRequire(join(root, 'tb_plugin/package.json'))('playwright-core');
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
/** The interpreter that runs TensorBoard. */
export const python = process.env.MSPROBE_PYTHON ?? join(root, '.venv/bin/python');
const SLOW = Number(process.env.MSPROBE_SLOW ?? 1);
/** Milliseconds after which something that does not happen never will, also on a machine that does ten things at once. */
export const PATIENCE = 180_000;
/** The same for all tests of a file. */
const SUITE_PATIENCE = 7_200_000;
const PAUSE = 50;

export function recordedFolder() {
  const shared = join(process.env.MSPROBE_SHARED ?? join(root, '../shared'), 'golden/visdb');
  return existsSync(shared) ? shared : join(root, 'tests/data/visdb');
}

export const hasAllFiles = existsSync(join(recordedFolder(), 'compare_statistics.vis.db'));

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Asks again until `check` returns without throwing, and gives what it returned; its last error when patience ends. */
export async function eventually(check, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await pause(PAUSE);
  }
}

/** Waits until `read` gives what is expected. */
export const becomes = (read, expected) => eventually(async () => assert.deepEqual(await read(), expected));

/** Waits until no answer is under way. */
export async function settled(frame) {
  await frame.locator('[data-testid=app][aria-busy=false]').waitFor();
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export async function start({ prefix = '', env = {}, fill = () => {}, empty = false } = {}) {
  const logdir = mkdtempSync(join(tmpdir(), 'msprobe-browser-'));
  for (const name of empty ? [] : readdirSync(recordedFolder()).filter((one) => one.endsWith('.vis.db'))) {
    cpSync(join(recordedFolder(), name), join(logdir, name));
    chmodSync(join(logdir, name), 0o640);
  }
  await fill(logdir);
  const port = await freePort();
  const words = ['-m', 'tensorboard.main', '--logdir', logdir, '--port', String(port), '--host', '127.0.0.1'];
  if (prefix) words.push(`--path_prefix=${prefix}`);
  const server = spawn(python, words, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  server.stdout.on('data', (text) => (log += text));
  server.stderr.on('data', (text) => (log += text));
  const address = `http://127.0.0.1:${port}${prefix}`;
  const api = `${address}/data/plugin/graph_ascend/api/`;
  await eventually(async () => {
    if (server.exitCode === null) assert.ok((await fetch(`${api}files`)).ok);
  }, 2 * PATIENCE).catch(() => undefined);
  const answer = await fetch(`${api}files`).catch(() => null);
  if (!answer?.ok) {
    server.kill('SIGTERM');
    throw new Error(`TensorBoard does not start:\n${log}`);
  }
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS, timeout: PATIENCE });
  const stopServer = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    await ended;
  };
  return {
    address,
    api,
    logdir,
    browser,
    stopServer,
    async stop() {
      await browser.close();
      await stopServer();
      rmSync(logdir, { recursive: true, force: true });
    },
  };
}

/** Opens the tab in TensorBoard, on a file when one is named, and gives the page, the plugin's frame and its troubles. */
export async function openTab(world, { file = '', hash = '', ...options } = {}) {
  const context = await world.browser.newContext({ viewport: { width: 1600, height: 950 }, locale: 'en-US', ...options });
  context.setDefaultTimeout(PATIENCE);
  context.setDefaultNavigationTimeout(PATIENCE);
  const page = await context.newPage();
  if (SLOW > 1) {
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW });
  }
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  // TensorBoard's own page has troubles of its own; ours are those of the plugin's addresses.
  page.on('console', (message) => {
    const ours = message.location().url.includes('/plugin/graph_ascend/') && !/status of (4|503)/.test(message.text());
    if (message.type() === 'error' && ours) problems.push(message.text());
  });
  await page.goto(`${world.address}/#graph_ascend${hash || (file && `&m.file=${encodeURIComponent(file)}`)}`, { waitUntil: 'commit' });
  const frame = await pluginFrame(page);
  if (file) await shows(frame, file);
  await settled(frame);
  return { context, page, frame, problems };
}

async function pluginFrame(page) {
  const frame = await eventually(() => {
    const found = page.frames().find((one) => one.url().includes('plugin_entry'));
    assert.ok(found, 'TensorBoard shows no frame of the plugin');
    return found;
  });
  await frame.getByTestId('app').waitFor();
  return frame;
}

/** Loads the page again, as a person does, and gives the plugin's new frame. */
export async function reload(tab) {
  const before = tab.frame;
  await tab.page.reload({ waitUntil: 'commit' });
  await eventually(() => assert.ok(before.isDetached(), 'the old frame is still there'));
  tab.frame = await pluginFrame(tab.page);
  await settled(tab.frame);
  return tab.frame;
}

async function shows(frame, name) {
  await frame.getByTestId('tagSelect').getByText(name).waitFor();
  await frame.locator('[role=tree] [role=treeitem]').first().waitFor({ state: 'attached' });
}

export async function chooseFile(frame, name) {
  await frame.getByTestId('tagSelect').click();
  await frame.getByTestId('fileList').getByText(name, { exact: true }).click();
  await shows(frame, name);
  await settled(frame);
}

/** Where a box stands on the page, by the mirror that screen readers use, once drawing and mirror have come to rest. */
export async function boxOf(frame, name, side = 'debugGraph') {
  const pane = frame.getByTestId(side);
  const read = async () => {
    await settled(frame);
    const canvas = pane.locator('canvas').first();
    const drawn = await canvas.evaluate((one) => `${one.dataset.view} ${one.dataset.revision}`);
    const mirrored = await pane.getByTestId('mirror').getAttribute('data-view');
    assert.equal(mirrored, drawn);
    const box = await pane.locator(`[role=treeitem][data-name="${name}"]`).getAttribute('data-box', { timeout: PAUSE * 20 });
    const { x, y } = await canvas.boundingBox();
    const [left, top, w, h] = box.split(',').map(Number);
    return { x: x + left + Math.min(40, w / 2), y: y + top + Math.min(10, h / 2) };
  };
  return eventually(async () => {
    const at = await read();
    await pause(PAUSE);
    assert.deepEqual(await read(), at);
    return at;
  });
}

/**
 * A suite of tests in front of one TensorBoard. Every test has a browser tab of its own (`here.open`), so that a test that fails leaves
 * nothing behind for the next one; what the tab complained of fails the test. `here.finally` notes what must be let go after a test.
 */
export function inBrowser(name, { skip = false, ...options }, tests) {
  describe(name, { skip, timeout: SUITE_PATIENCE }, () => {
    const releases = [];
    const here = {
      world: undefined,
      tab: undefined,
      async open(file = '', more = {}) {
        here.tab = await openTab(here.world, { file, ...more });
        return here.tab;
      },
      finally: (release) => releases.push(release),
      /** The element of a box in a pane's mirror. */
      item: (box, side = 'debugGraph') => here.tab.frame.getByTestId(side).locator(`[role=treeitem][data-name="${box}"]`),
      text: (id) => here.tab.frame.getByTestId(id).textContent(),
    };
    before(async () => {
      here.world = await start(options);
    });
    after(async () => {
      await here.world?.stop();
    });
    afterEach(async () => {
      for (const release of releases.splice(0)) await release();
      const problems = here.tab?.problems ?? [];
      await here.tab?.context.close();
      here.tab = undefined;
      assert.deepEqual(problems, []);
    });
    tests(here);
  });
}

/** Types words into the search and goes to the first name that has them. */
export async function find(frame, words) {
  await frame.getByTestId('searchInput').fill(words);
  await frame.getByTestId('hit').first().getByText(words).click();
  await settled(frame);
}

/** Runs a Python program with this interpreter and gives what it printed. */
function run(words) {
  const done = spawnSync(python, words, { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout.trim();
}

/** Runs a statement on a file, as another program would, and gives its rows as Python prints them. */
export function sql(file, statement, ...values) {
  const script = 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nprint(c.execute(sys.argv[2], sys.argv[3:]).fetchall())\nc.commit()';
  return run(['-c', script, file, statement, ...values]);
}

const TENSOR = { type: 'torch.Tensor', dtype: 'torch.float32', shape: [2], Max: 1, Min: 0, Mean: 0.5, Norm: 1.5, requires_grad: false };
/** One call as a dump describes it. */
export const ENTRY = { input_args: [TENSOR], input_kwargs: {}, output: [TENSOR] };

function writeDump(folder, construct, stack, entries) {
  mkdirSync(folder);
  const data = Object.fromEntries(Object.keys(construct).map((key) => [key, entries[key] ?? ENTRY]));
  writeFileSync(join(folder, 'dump.json'), JSON.stringify({ task: 'statistics', level: 'mix', framework: 'pytorch', dump_data_dir: null, data }));
  writeFileSync(join(folder, 'construct.json'), JSON.stringify(construct));
  writeFileSync(join(folder, 'stack.json'), JSON.stringify(stack));
}

/** The lines that the command prints for these words. */
export const told = (...words) => run(['-m', 'msprobe', ...words]).split('\n');

/** Makes a vis.db of a dump, or of two. */
export function convert(file, target, golden = null) {
  const out = mkdtempSync(join(tmpdir(), 'msprobe-out-'));
  told('graph_visualize', '-tp', target, '-o', out, ...(golden ? ['-gp', golden] : []));
  copyFileSync(join(out, readdirSync(out)[0]), file);
  rmSync(out, { recursive: true });
}

/**
 * Makes a vis.db of calls with these parents, in this order; with `golden` (entries that differ there, by name) a comparison.
 * `construct`: name to parent, `stack`: stack.json.
 */
export function build(file, construct, { stack = {}, golden = null } = {}) {
  const place = mkdtempSync(join(tmpdir(), 'msprobe-dump-'));
  writeDump(join(place, 'target'), construct, stack, {});
  if (golden) writeDump(join(place, 'golden'), construct, stack, golden);
  convert(file, join(place, 'target'), golden && join(place, 'golden'));
  rmSync(place, { recursive: true });
}
