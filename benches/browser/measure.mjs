// What both viewers are measured with: a TensorBoard, a Chromium, clocks and scales.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';

const { chromium } = createRequire(new URL('../../tb_plugin/package.json', import.meta.url))('playwright-core');
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--enable-precise-memory-info'];

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export function median(list) {
  const sorted = [...list].sort((one, two) => one - two);
  return sorted[Math.floor(sorted.length / 2)];
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Runs TensorBoard until its plugin answers. */
export async function serve(python, logdir, ready) {
  const port = await freePort();
  const words = ['-m', 'tensorboard.main', '--logdir', logdir, '--port', String(port), '--host', '127.0.0.1'];
  const server = spawn(python, words, { stdio: 'ignore' });
  const plugin = `http://127.0.0.1:${port}/data/plugin/graph_ascend/`;
  for (let turn = 0; turn < 600; turn += 1) {
    if ((await fetch(plugin + ready).catch(() => null))?.ok) break;
    await pause(100);
  }
  return { plugin, pid: server.pid, stop: () => server.kill('SIGTERM') };
}

/** Resident memory of a process, MB. */
export function resident(pid) {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/);
  return line ? Number(line[1]) / 1024 : NaN;
}

/** The largest renderer of a browser by its proportional share of memory, MB. */
export function rendererMemory() {
  let most = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')) continue;
      const pss = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Pss:\s+(\d+)/m);
      most = Math.max(most, Number(pss?.[1] ?? 0) / 1024);
    } catch {
      // It has ended meanwhile.
    }
  }
  return most;
}

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** A page that notes, in milliseconds since its navigation began, when `drawn` (source of a function) first gives true. */
export async function clockedPage(browser, drawn, { slow = false } = {}) {
  const context = await browser.newContext({ viewport: { width: 1600, height: 950 }, locale: 'en-US' });
  context.setDefaultTimeout(600_000);
  const page = await context.newPage();
  if (slow) {
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    const rate = 10_000_000 / 8;
    await session.send('Network.emulateNetworkConditions', { offline: false, latency: 50, downloadThroughput: rate, uploadThroughput: rate });
  }
  await page.addInitScript(`
    (() => {
      const drawn = ${drawn};
      const look = () => (drawn() ? (window.firstPaint = performance.now()) : requestAnimationFrame(look));
      requestAnimationFrame(look);
    })()`);
  return { context, page };
}

export const firstPaint = (page) => page.waitForFunction(() => window.firstPaint, undefined, { polling: 20 }).then((handle) => handle.jsonValue());
