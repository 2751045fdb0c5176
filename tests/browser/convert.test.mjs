// Makes a vis.db from dumps in the browser: to its end, to its error, and cancelled.
import assert from 'node:assert/strict';
import { cpSync, createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { becomes, eventually, hasAllFiles, inBrowser, recordedFolder } from './harness.mjs';

const skip = hasAllFiles ? false : 'needs the recorded dumps of MSPROBE_SHARED or ../shared';
const CALLS = 120_000;

/** A dump with so many calls that a conversion takes its time. */
async function makeLarge(folder) {
  mkdirSync(folder, { recursive: true });
  const out = createWriteStream(join(folder, 'dump.json'));
  const tensor = '{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,8],"Max":1.5,"Min":-1.5,"Mean":0.25,"Norm":3.5,"requires_grad":false}';
  out.write('{"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{');
  for (let at = 0; at < CALLS; at += 1) {
    const text = `${at ? ',' : ''}"Torch.add.${at}.forward":{"input_args":[${tensor},${tensor}],"input_kwargs":{},"output":[${tensor}]}`;
    if (!out.write(text)) await new Promise((resolve) => out.once('drain', resolve));
  }
  out.end('}}');
  await new Promise((resolve) => out.once('finish', resolve));
  writeFileSync(join(folder, 'construct.json'), '{}');
  writeFileSync(join(folder, 'stack.json'), '{}');
}

/** Stops the conversion into `output` where it stands, so that it cannot end before somebody cancels it. */
function holdJob(output) {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let words = '';
    try {
      words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      // It has ended meanwhile.
    }
    if (words.includes('graph_visualize') && words.includes(output)) {
      process.kill(Number(pid), 'SIGSTOP');
      return true;
    }
  }
  return false;
}

async function addDumps(logdir) {
  for (const name of ['tf_mixed', 'tf_base']) cpSync(join(recordedFolder(), 'dumps', name), join(logdir, 'dumps', name), { recursive: true });
  for (const side of ['target', 'golden']) await makeLarge(join(logdir, 'large', side));
  mkdirSync(join(logdir, 'nothing'));
}

inBrowser('converting', { skip, fill: addDumps }, (here) => {
  const opened = async () => {
    const tab = await here.open('compare_md5.vis.db');
    await tab.frame.getByTestId('view-convert').click();
    return tab.frame;
  };
  const begin = async (frame, target, golden, output) => {
    await frame.getByTestId('targetPath').fill(target);
    await frame.getByTestId('goldenPath').fill(golden);
    await frame.getByTestId('outputPath').fill(output);
    await frame.getByTestId('startJob').click();
  };
  const state = (frame) => frame.getByTestId('job').getAttribute('data-state');

  it('picks folders, runs to the end, opens the result', async () => {
    const frame = await opened();
    await frame.getByTestId('targetPath').focus();
    const browser = frame.getByTestId('targetPath-browser');
    for (const name of ['dumps', 'tf_mixed', 'step0', 'rank0']) await browser.getByRole('button', { name: new RegExp(`▸ ${name}\\b`) }).click();
    await becomes(() => frame.getByTestId('targetPath').inputValue(), 'dumps/tf_mixed/step0/rank0');
    await browser.getByRole('button', { name: /✓/ }).click();
    await frame.getByTestId('goldenPath').fill('dumps/tf_base/step0/rank0');
    await frame.getByTestId('outputPath').fill('made/here');
    await frame.getByTestId('overflowCheck').check();
    await frame.getByTestId('startJob').click();
    await becomes(() => state(frame), 'done');
    assert.equal(await frame.getByTestId('job').locator('progress').evaluate((one) => one.value), 100);
    await frame.getByTestId('openResult').click();
    // As the README of the recorded files counts.
    await frame.getByTestId('count-error').getByText('9').waitFor();
    await frame.getByTestId('count-warning').getByText('26').waitFor();
    await frame.getByTestId('tagSelect').getByText(/^made\/here\/compare_\d+\.vis\.db/).waitFor();
    assert.equal(readdirSync(join(here.world.logdir, 'made/here')).length, 1);
  });

  it('tells an error in words and keeps the settings', async () => {
    const frame = await opened();
    await begin(frame, 'nothing', '', 'made/error');
    await becomes(() => state(frame), 'failed');
    await frame.getByTestId('job').getByText(/error: .*nothing/).first().waitFor();
    await frame.getByTestId('jobBack').click();
    await becomes(() => frame.getByTestId('targetPath').inputValue(), 'nothing');
    await begin(frame, '../elsewhere', '', 'made/error');
    await frame.getByTestId('convertProblem').getByText('below the log directory').waitFor();
    assert.equal(existsSync(join(here.world.logdir, 'made/error')) && readdirSync(join(here.world.logdir, 'made/error')).length > 0, false);
  });

  it('is found again after leaving the page, and cancelled for good', async () => {
    const frame = await opened();
    await begin(frame, 'large/target', 'large/golden', 'made/cancelled');
    await eventually(() => assert.ok(holdJob('made/cancelled'), 'the conversion has ended before it could be held'));
    await becomes(() => state(frame), 'running');
    await frame.getByTestId('view-graph').click();
    await frame.getByTestId('view-convert').click();
    await becomes(() => state(frame), 'running');
    await frame.getByTestId('cancelJob').click();
    await becomes(() => state(frame), 'cancelled');
    await eventually(() => assert.equal(holdJob('made/cancelled'), false));
    const left = existsSync(join(here.world.logdir, 'made/cancelled')) ? readdirSync(join(here.world.logdir, 'made/cancelled')) : [];
    assert.deepEqual(left.filter((name) => name.endsWith('.vis.db')), []);
  });

  it('runs two at a time and no more', async () => {
    const own = new URL(here.world.address).origin;
    const headers = { 'Content-Type': 'application/json', Origin: own };
    const { token } = await (await fetch(`${here.world.api}session`, { method: 'POST', headers, body: '{}' })).json();
    const post = (path, body) => fetch(`${here.world.api}${path}`, { method: 'POST', headers: { ...headers, 'X-Msprobe-Token': token }, body: JSON.stringify(body) });
    const ids = [];
    for (const output of ['made/one', 'made/two']) {
      const answer = await post('job/start', { target: 'large/target', golden: 'large/golden', output });
      assert.equal(answer.status, 200);
      ids.push((await answer.json()).id);
      await eventually(() => assert.ok(holdJob(output)));
    }
    const third = await post('job/start', { target: 'large/target', output: 'made/three' });
    assert.equal((await third.json()).error.code, 'busy');
    for (const id of ids) assert.equal((await (await post('job/cancel', { id })).json()).state, 'cancelled');
  });

  // The last one: the server is gone after it.
  it('leaves nothing running when the server ends, not even what is stopped', async () => {
    const frame = await opened();
    await begin(frame, 'large/target', 'large/golden', 'made/left');
    await eventually(() => assert.ok(holdJob('made/left'), 'the conversion has ended before it could be held'));
    await frame.goto('about:blank');
    await here.world.stopServer();
    assert.equal(holdJob('made/left'), false);
  });
});
