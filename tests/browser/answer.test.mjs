// The answer above the graph: what the terminal says of the same file, in its words.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { becomes, build, convert, ENTRY, eventually, inBrowser, root, told } from './harness.mjs';

const SPOILED = 'spoiled.vis.db';
const SWAPPED = 'swapped.vis.db';
const GROWN = 'grown.vis.db';
const MODULE = 'Module.net.Net.forward.0';

function addComparisons(logdir) {
  // A training whose feed-forward part writes a NaN into its activation, and a sound step (tests/data/README.md).
  const place = mkdtempSync(join(tmpdir(), 'msprobe-faults-'));
  spawnSync('tar', ['xf', join(root, 'tests/data/faults.tar.xz'), '-C', place]);
  convert(join(logdir, SPOILED), join(place, 'transformer/step14/rank0'), join(place, 'transformer/step0/rank0'));
  convert(join(logdir, SWAPPED), join(place, 'transformer/step0/rank0'), join(place, 'transformer/step14/rank0'));
  rmSync(place, { recursive: true });
  // The target's result is forty times the golden one.
  const small = Object.fromEntries(['Max', 'Mean', 'Norm'].map((name) => [name, ENTRY.output[0][name] / 40]));
  build(join(logdir, GROWN), { [MODULE]: null }, { golden: { [MODULE]: { ...ENTRY, output: [{ ...ENTRY.output[0], ...small }] } } });
}

inBrowser('the answer', { fill: addComparisons }, (here) => {
  /** The line below the first difference, in the terminal. */
  const evidence = (file) => {
    const lines = told('report', join(here.world.logdir, file));
    return lines[lines.findIndex((line) => line.startsWith('first difference')) + 1].trim();
  };
  const shown = async () => (await here.text('firstDifference')).replace(/\s+/g, ' ');

  for (const [file, words] of [
    [SPOILED, 'NaN or infinity on one side'],
    [GROWN, 'x 40'],
  ]) {
    it(`says what differs in the words of the terminal: ${words}`, async () => {
      await here.open(file);
      assert.ok(evidence(file).includes(words));
      await eventually(async () => assert.ok((await shown()).endsWith(` ${evidence(file)}`), await shown()));
    });
  }

  it('names what only the target has inside the first difference, and goes there', async () => {
    const { frame } = await here.open(SPOILED);
    const inside = frame.getByTestId('onlyInside');
    await inside.getByText('networks.py:50').waitFor();
    await inside.click();
    await becomes(() => here.text('nodeName'), 'Tensor.__setitem__.0.forward');
    await frame.getByTestId('sourceLine').getByText('h[0, 0, 0] = self.spoil').waitFor();
    await frame.getByTestId('languageButton').click();
    await inside.getByText('其内部仅调试侧有').waitFor();
  });

  it('names what only golden has inside it, goes there, and asks whether the sides are the right ones', async () => {
    const { frame } = await here.open(SWAPPED);
    const missing = frame.getByTestId('onlyGolden');
    await missing.getByText('networks.py:50').waitFor();
    const lines = told('report', join(here.world.logdir, SWAPPED));
    const hint = lines.find((line) => line.startsWith('hint')).slice('hint'.length).trim();
    await becomes(() => here.text('hints'), hint);
    await missing.click();
    await becomes(() => here.text('nodeName'), 'Tensor.__setitem__.0.forward');
    await frame.getByTestId('languageButton').click();
    await missing.getByText('其内部仅标杆侧有').waitFor();
    await frame.getByTestId('hints').getByText('两侧是否颠倒').waitFor();
  });

  it('names nothing inside where nothing is', async () => {
    const { frame } = await here.open(GROWN);
    await frame.getByTestId('firstDifference').waitFor();
    for (const id of ['onlyInside', 'onlyGolden', 'hints']) await becomes(() => frame.getByTestId(id).count(), 0);
  });
});
