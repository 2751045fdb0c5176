// Matches nodes by hand as a person does, in a real TensorBoard and Chromium.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { becomes, boxOf, eventually, hasAllFiles, inBrowser, recordedFolder, settled, sql } from './harness.mjs';

const skip = hasAllFiles ? false : 'needs the recorded files of MSPROBE_SHARED or ../shared';
const TARGET = 'Module.layers.1.mlp.FusedMLP.forward.0';
const GOLDEN = 'Module.layers.1.mlp.MLP.forward.0';
const FILE = 'compare_statistics.vis.db';

inBrowser('matching by hand', { skip }, (here) => {
  const { text } = here;
  const opened = async (file) => {
    const tab = await here.open(file);
    await tab.frame.getByTestId('panel-match').click();
    await settled(tab.frame);
    return tab;
  };
  const free = async () => [await text('unmatchedCount-target'), await text('unmatchedCount-golden')];
  const choose = async (side, words) => {
    const { frame } = here.tab;
    await frame.getByTestId(`unmatchedSearch-${side}`).fill(words);
    // The list follows the words a little later.
    const first = frame.getByTestId(`unmatchedList-${side}`).getByTestId('unmatchedHit').first();
    await becomes(async () => (await first.getAttribute('title'))?.includes(words), true);
    await first.click();
    await settled(frame);
  };

  it('matches two modules with all below them, and takes it back', async () => {
    const { frame } = await opened(FILE);
    // 32 and 28 are what the file's README counts.
    await becomes(free, ['32', '28']);
    await choose('target', 'FusedMLP.forward');
    await becomes(() => text('match-target'), TARGET);
    await choose('golden', 'mlp.MLP.forward');
    await becomes(() => text('match-golden'), GOLDEN);
    await frame.getByTestId('unmatchedSearch-target').fill('');
    await frame.getByTestId('unmatchedSearch-golden').fill('');
    await frame.getByTestId('withDescendants').check();
    await frame.getByTestId('matchButton').click();
    await frame.getByTestId('matchDone').getByText(/^\d+ matched, 0 taken apart/).waitFor();
    await eventually(async () => assert.ok(Number((await free())[0]) <= 30));
    await frame.getByTestId('nodePanel').getByText('matched by hand').waitFor();
    await frame.getByTestId('paramTable').getByText('MaxRelativeErr').waitFor();
    // The file itself has it: link with the whole way, verdict, mark.
    const row = sql(join(here.world.logdir, FILE), "SELECT matched_node_link, modified FROM tb_nodes WHERE data_source = 'NPU' AND node_name = ?", TARGET);
    assert.equal(row, `[('["DefaultModel", "Module.layers.1.Block.forward.0", "${GOLDEN}"]', 1)]`);
    assert.equal(existsSync(join(here.world.logdir, `${FILE}-wal`)), false);
    await frame.getByTestId('undoButton').click();
    await becomes(free, ['32', '28']);
    await eventually(async () => assert.ok(await frame.getByTestId('undoButton').isDisabled()));
  });

  it('takes apart what a click in the graph chooses', async () => {
    const { frame, page } = await opened(FILE);
    const name = 'Module.norm.LayerNorm.forward.0';
    const at = await boxOf(frame, name);
    await page.mouse.click(at.x, at.y);
    await becomes(() => text('match-target'), name);
    await becomes(() => text('match-golden'), name);
    await frame.getByTestId('unmatchButton').click();
    // Forward and backward call.
    await becomes(free, ['34', '30']);
    await frame.getByTestId('nodePanel').getByText('no counterpart').waitFor();
    await eventually(async () => assert.equal(await frame.locator(`[data-testid=debugGraph] [data-name="${name}"]`).getAttribute('data-status'), 'unmatched'));
    await frame.getByTestId('undoButton').click();
    await becomes(free, ['32', '28']);
  });

  it('writes a file of matches, applies one, and names the lines that are bad', async () => {
    const { frame } = await opened('compare_md5.vis.db');
    await eventually(async () => assert.notEqual((await free())[0], '0'));
    const before = await free();
    await choose('target', 'FusedMLP.forward');
    await choose('golden', 'mlp.MLP.forward');
    await frame.getByTestId('matchButton').click();
    await frame.getByTestId('matchDone').waitFor();
    await frame.getByTestId('generateConfig').click();
    await frame.getByTestId('matchDone').getByText('compare_md5_0_0.vis.config').waitFor();
    const written = JSON.parse(readFileSync(join(here.world.logdir, 'compare_md5_0_0.vis.config'), 'utf8'));
    assert.equal(written[TARGET], GOLDEN);
    await frame.getByTestId('undoButton').click();
    await frame.getByTestId('unmatchedSearch-target').fill('');
    await frame.getByTestId('unmatchedSearch-golden').fill('');
    await becomes(free, before);
    // As the reference writes it, both directions, and with a line that somebody has spoiled.
    const lines = [`"${TARGET}": "${GOLDEN}",`, `"${GOLDEN}": "${TARGET}",`, '"Module.nowhere.N.forward.0": "x",', 'oops'];
    writeFileSync(join(here.world.logdir, 'theirs.vis.config'), `{\n    ${lines.join('\n    ')}\n}`);
    await frame.getByTestId('view-overview').click();
    await frame.getByTestId('view-graph').click();
    await frame.getByTestId('panel-find').click();
    await frame.getByTestId('panel-match').click();
    await frame.getByTestId('matchConfigSelect').selectOption('theirs.vis.config');
    await frame.getByTestId('applyConfig').click();
    await frame.getByTestId('matchDone').getByText(/^1 matched/).waitFor();
    const notes = await text('matchNotes');
    assert.match(notes, /theirs\.vis\.config, line 5/);
    assert.match(notes, /Module\.nowhere/);
    await becomes(free, before.map((count) => String(Number(count) - 1)));
  });

  it('computes from the tensors where they are there, and says when they are not', async () => {
    const file = join(here.world.logdir, 'compare_tensor.vis.db');
    const { frame, page } = await opened('compare_tensor.vis.db');
    const name = 'Module.fc1.Linear.forward.0';
    const shown = sql(file, "SELECT node_name FROM tb_nodes WHERE data_source = 'NPU' AND up_node = 'DefaultModel' AND matched_node_link <> '[]' AND node_type = '0' AND input_data LIKE '%.pt%' LIMIT 1");
    const node = /'([^']+)'/.exec(shown)?.[1] ?? name;
    let at = await boxOf(frame, node);
    await page.mouse.click(at.x, at.y);
    await becomes(() => text('match-target'), node);
    await frame.getByTestId('unmatchButton').click();
    await frame.getByTestId('matchDone').waitFor();
    const rows = () => sql(file, "SELECT input_data, output_data FROM tb_nodes WHERE data_source = 'NPU' AND node_name = ?", node);
    assert.doesNotMatch(rows(), /Cosine/);
    await eventually(async () => assert.ok(await frame.getByTestId('matchButton').isEnabled()));
    await frame.getByTestId('matchButton').click();
    await frame.getByTestId('matchProblem').getByText('/home/user/train/dumps').waitFor();
    for (const [side, dump] of [['NPU', 'cnn_mixed'], ['Bench', 'cnn_base']]) {
      sql(file, 'UPDATE tb_nodes SET dump_data_dir = ? WHERE data_source = ?', join(recordedFolder(), 'dumps', dump, 'step0/rank0/dump_tensor_data'), side);
    }
    await frame.getByTestId('matchButton').click();
    await frame.getByTestId('matchDone').waitFor();
    assert.match(rows(), /Cosine/);
    at = await boxOf(frame, node);
    await frame.getByTestId('paramTable').getByText('Cosine').waitFor();
  });

  it('refuses a read-only file with the reason, and strangers', async () => {
    const file = join(here.world.logdir, 'compare_multirank.vis.db');
    chmodSync(file, 0o440);
    const { frame } = await opened('compare_multirank.vis.db');
    await frame.getByTestId('matchRefused').getByText('read-only').waitFor();
    assert.ok(await frame.getByTestId('matchButton').isDisabled());
    const own = new URL(here.world.address).origin;
    const headers = { 'Content-Type': 'application/json', Origin: own };
    const post = (body, more = {}) => fetch(`${here.world.api}edit`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) });
    const code = async (answer) => (await answer.json()).error.code;
    const undo = { path: FILE, step: 0, rank: 0, action: 'undo' };
    assert.equal(await code(await post(undo)), 'token');
    assert.equal(await code(await post(undo, { Origin: 'http://evil.example' })), 'origin');
    assert.equal(await code(await fetch(`${here.world.api}edit`)), 'method');
    const { token } = await (await fetch(`${here.world.api}session`, { method: 'POST', headers, body: '{}' })).json();
    const ours = { 'X-Msprobe-Token': token };
    assert.equal(await code(await post({ ...undo, path: '../x.vis.db' }, ours)), 'outside');
    assert.equal(await code(await post({ ...undo, action: 'destroy' }, ours)), 'parameter');
    assert.equal(await code(await post({ ...undo, path: 'compare_multirank.vis.db', action: { import: { config: '../../etc/passwd' } } }, ours)), 'read_only');
    assert.equal(await code(await post({ ...undo, action: { import: { config: '../../etc/passwd' } } }, ours)), 'config');
  });
});
