// Does what a person does in the viewer, in a real TensorBoard and Chromium, on files that the reference wrote.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { becomes, boxOf, chooseFile, eventually, hasAllFiles, inBrowser, openTab, settled } from './harness.mjs';

function addOddFiles(logdir) {
  mkdirSync(join(logdir, 'deep/er/still'), { recursive: true });
  writeFileSync(join(logdir, 'deep/er/still/empty.vis.db'), '');
  writeFileSync(join(logdir, 'deep/er/still/words.vis.db'), 'no database at all');
  symlinkSync('/etc/hostname', join(logdir, 'link.vis.db'));
}

const skip = hasAllFiles ? false : 'needs the recorded files of MSPROBE_SHARED or ../shared';

inBrowser('the viewer', { skip, fill: addOddFiles }, (here) => {
  const { item } = here;
  const opened = (file, hash = '') => here.open(file, { hash });
  const matches = (id, pattern) => eventually(async () => assert.match((await here.text(id)).replace(/\s+/g, ' '), pattern));

  it('lists every file of any depth, and says why one cannot be opened', async () => {
    const { frame } = await opened('');
    await frame.getByTestId('tagSelect').click();
    const list = frame.getByTestId('fileList');
    await list.getByText('words.vis.db').waitFor();
    await becomes(() => list.getByRole('option').count(), 9);
    await list.getByText('words.vis.db').click();
    await frame.getByTestId('trouble').getByText('This is not a vis.db.').waitFor();
    await chooseFile(frame, 'compare_statistics.vis.db');
    await item('DefaultModel').waitFor({ state: 'attached' });
  });

  it('opens on the answer: counts as the reference filters them, and the first difference as a button', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    // 318, 26, 9, 32 and 28 are what the file's README counts.
    await matches('count-error', /\b9\b/);
    await matches('count-warning', /\b26\b/);
    await matches('count-pass', /\b318\b/);
    await matches('count-unmatched', /\b32\b/);
    await matches('count-golden', /\b28\b/);
    // 471 nodes, one of them the root, which is nobody's node: 470 - 9 - 26 - 318 - 32.
    await matches('count-none', /\b85 not compared\b/);
    // A weight of this layer was scaled by 40: one click to the node, its source line beside it.
    await frame.getByTestId('firstDifference').click();
    await frame.getByTestId('nodeName').getByText('mlp.fc').waitFor();
    await matches('sourceLine', /make_dumps\.py:\d+/);
    await eventually(() => assert.ok(page.url().includes('m.node=')));
  });

  it('opens and closes by double click, on both sides, and keeps what was open inside', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    const block = 'Module.layers.0.Block.forward.0';
    let at = await boxOf(frame, block);
    await page.mouse.dblclick(at.x, at.y);
    await item('Module.layers.0.attn.Attention.forward.0').waitFor({ state: 'attached' });
    await item('Module.layers.0.attn.Attention.forward.0', 'benchGraph').waitFor({ state: 'attached' });
    at = await boxOf(frame, block);
    await page.mouse.dblclick(at.x, at.y);
    await item('Module.layers.0.attn.Attention.forward.0').waitFor({ state: 'detached' });
  });

  it('selects on both sides, shows rows, stack and facts', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    const at = await boxOf(frame, 'Module.emb.Embedding.forward.0');
    await page.mouse.click(at.x, at.y);
    await frame.getByTestId('paramTable').getByText('parameters.weight').first().waitFor();
    await frame.locator('[data-testid=benchGraph] [data-twin=true]').waitFor({ state: 'attached' });
    await frame.getByTestId('tab-stack').click();
    await frame.getByTestId('stack').first().getByText('x = self.emb(ids)').waitFor();
    await frame.getByTestId('tab-nodeFacts').click();
    await frame.getByTestId('tab-parameters').click();
    await frame.getByTestId('column').first().click();
  });

  it('goes to the matched node from the menu', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    const at = await boxOf(frame, 'Module.norm.LayerNorm.forward.0');
    await page.mouse.click(at.x, at.y, { button: 'right' });
    await frame.getByTestId('menuMatch').click();
    await frame.locator('[data-testid=benchGraph] [role=treeitem][aria-selected=true]').waitFor({ state: 'attached' });
  });

  it('searches from anywhere while typing, filters combine, up and down move both panes', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    const search = frame.getByTestId('searchInput');
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('Control+k');
    await eventually(async () => assert.ok(await search.evaluate((one) => one === document.activeElement)));
    await page.keyboard.type('was');
    await becomes(() => search.inputValue(), 'was');
    await frame.getByTestId('searchInput').fill('layers.1 mlp');
    await frame.getByTestId('filter-unmatched').click();
    await frame.getByTestId('hit').getByText('FusedMLP').first().waitFor();
    await frame.getByTestId('findNext').click();
    await frame.locator('[data-testid=debugGraph] [role=treeitem][aria-selected=true]').waitFor({ state: 'attached' });
    await frame.getByTestId('clearFilters').click();
    await frame.getByTestId('filter-error').click();
    await frame.getByTestId('hitCount').getByText('9 nodes').waitFor();
    await frame.getByTestId('clearFilters').click();
  });

  it('keys act on the graph only when it has the focus', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    const canvas = frame.getByTestId('debugGraph').locator('canvas').first();
    const view = () => canvas.getAttribute('data-view');
    await boxOf(frame, 'Module.emb.Embedding.forward.0');
    const still = await view();
    const search = frame.getByTestId('searchInput');
    await search.focus();
    await page.keyboard.type('wasd');
    await becomes(() => search.inputValue(), 'wasd');
    await settled(frame);
    assert.equal(await view(), still);
    await search.fill('');
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('w');
    await eventually(async () => assert.notEqual(await view(), still));
    await page.keyboard.press('f');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await frame.getByTestId('nodeName').getByText('Module.emb.Embedding.forward.0').waitFor();
  });

  it('zooms at the pointer with Ctrl and the wheel, scrolls without', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    const canvas = frame.getByTestId('debugGraph').locator('canvas').first();
    await boxOf(frame, 'Module.emb.Embedding.forward.0');
    const read = async () => (await canvas.getAttribute('data-view')).split(',').map(Number);
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 200, box.y + 100);
    const before = await read();
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -100);
    await page.keyboard.up('Control');
    const after = await eventually(async () => {
      const now = await read();
      assert.ok(now[2] > before[2]);
      return now;
    });
    assert.ok(Math.abs((200 - before[0]) / before[2] - (200 - after[0]) / after[2]) < 2);
    await page.mouse.wheel(0, 60);
    await eventually(async () => {
      const scrolled = await read();
      assert.equal(scrolled[2], after[2]);
      assert.ok(Math.abs(scrolled[1] - after[1] + 60) < 1.5);
    });
  });

  it('shows the diff with drift, hides what agrees, steps through differences', async () => {
    const { frame } = await opened('compare_statistics.vis.db');
    await frame.getByTestId('view-diff').click();
    await frame.getByTestId('diffRow').first().waitFor();
    const agreeing = frame.locator('[data-testid=diffRow][data-name="Module.emb.Embedding.forward.0"]');
    await agreeing.waitFor();
    await frame.getByTestId('hideAgreeing').check();
    await frame.getByTestId('diffOutline').getByText('layers.1.Block.forward.0').first().waitFor();
    await agreeing.waitFor({ state: 'detached' });
    await frame.getByTestId('nextDifference').click();
    await frame.locator('[data-testid=diffRow].chosen').waitFor();
    await eventually(async () => assert.ok(Number(await frame.getByTestId('drift').getAttribute('data-points')) > 100));
  });

  it('shows ranks side by side and goes to the odd one, and to a communication partner', async () => {
    const { frame, page } = await opened('compare_multirank.vis.db');
    await frame.getByTestId('view-overview').click();
    await frame.locator('[data-testid=heatMap][data-columns="2"]').waitFor();
    // Two steps of two ranks each.
    await becomes(() => frame.getByTestId('graphRow').count(), 4);
    await frame.getByTestId('axis-step').click();
    await frame.getByTestId('view-graph').click();
    await frame.getByTestId('searchInput').fill('Distributed.send.0');
    await frame.getByTestId('hit').first().getByText('Distributed.send.0.forward').click();
    await eventually(() => assert.ok(page.url().includes('Distributed.send.0.forward')));
    await frame.getByTestId('tab-communication').click();
    await frame.getByTestId('partnerLink').first().click();
    await frame.getByTestId('nodeName').getByText('Distributed.recv.0.forward').waitFor();
    await becomes(() => frame.getByTestId('rankSelect').inputValue(), '1');
    // Going back begins where the journey has ended: once its end stands in the address.
    await eventually(() => assert.ok(page.url().includes('Distributed.recv.0.forward')));
    await settled(frame);
    await page.goBack();
    await frame.getByTestId('nodeName').getByText('Distributed.send.0.forward').waitFor();
  });

  it('shows one micro step, one side, overflow, merge details', async () => {
    const { frame } = await opened('compare_statistics.vis.db');
    await frame.getByTestId('microStepSelect').selectOption('1');
    await item('Module.emb.Embedding.forward.0').waitFor({ state: 'detached' });
    await item('Module.emb.Embedding.forward.1').waitFor({ state: 'attached' });
    await chooseFile(frame, 'build_overflow.vis.db');
    await frame.getByTestId('count-critical').getByText('3').waitFor();
    await becomes(() => frame.getByTestId('benchGraph').count(), 0);
    await chooseFile(frame, 'compare_tp_merge.vis.db');
    await frame.getByTestId('searchInput').fill('Linear.forward');
    await frame.getByTestId('hit').first().click();
    await frame.getByTestId('tab-mergeInfo').click();
  });

  it('is a link: a second tab opens the same spot, and other tabs stay where they are', async () => {
    const { frame, page } = await opened('compare_tensor.vis.db');
    await frame.getByTestId('firstVerdict').click();
    const name = await frame.getByTestId('nodeName').textContent();
    const node = `m.node=${encodeURIComponent(name)}`;
    await eventually(() => assert.ok(page.url().includes(node)));
    const hash = page.url().split('#graph_ascend')[1];
    const second = await openTab(here.world, { hash });
    await second.frame.getByTestId('nodeName').getByText(name).waitFor();
    await chooseFile(second.frame, 'build_overflow.vis.db');
    assert.equal(await frame.getByTestId('nodeName').textContent(), name);
    assert.deepEqual(second.problems, []);
    await second.context.close();
  });

  it('speaks Chinese and knows the dark', async () => {
    const { frame, page } = await opened('compare_statistics.vis.db');
    await frame.getByTestId('languageButton').click();
    await frame.getByTestId('view-overview').getByText('总览').waitFor();
    await frame.getByTestId('themeButton').click();
    await frame.getByTestId('themeButton').click();
    await frame.getByTestId('languageButton').click();
    await frame.getByTestId('helpButton').click();
    await frame.getByTestId('help').getByText('next / previous difference').waitFor();
    await page.keyboard.press('Escape');
    await frame.getByTestId('help').waitFor({ state: 'detached' });
  });

  it('refuses to write for strangers', async () => {
    const post = (path, headers) => fetch(`${here.world.api}${path}`, { method: 'POST', headers, body: '{}' });
    const json = { 'Content-Type': 'application/json' };
    const own = new URL(here.world.address).origin;
    const code = async (answer) => (await answer.json()).error.code;
    assert.equal(await code(await post('session', json)), 'origin');
    assert.equal(await code(await post('session', { ...json, Origin: 'http://evil.example' })), 'origin');
    assert.equal(await code(await post('job/start', { ...json, Origin: own })), 'token');
    assert.equal(await code(await fetch(`${here.world.api}job/start`)), 'method');
    assert.equal(await code(await post('job/start', { 'Content-Type': 'text/plain', Origin: own })), 'type');
    const { token } = await (await post('session', { ...json, Origin: own })).json();
    const start = (body) => fetch(`${here.world.api}job/start`, { method: 'POST', headers: { ...json, Origin: own, 'X-Msprobe-Token': token }, body: JSON.stringify(body) });
    assert.equal(await code(await start({ target: '../..', output: 'x' })), 'outside');
    assert.equal(await code(await start({ target: '/etc', output: 'x' })), 'outside');
    assert.equal(await code(await start({ target: 'deep', output: 'x', fuzzy_match: '; reboot' })), 'parameter');
  });

  it('keeps to the log directory', async () => {
    for (const path of ['../x.vis.db', 'link.vis.db', '/etc/hostname']) {
      const answer = await fetch(`${here.world.api}file?path=${encodeURIComponent(path)}`);
      assert.equal(answer.status, 403, path);
    }
  });
});

inBrowser('behind a path prefix, view only', { skip, prefix: '/a/b', env: { MSPROBE_VIEW_ONLY: '1' } }, (here) => {
  it('works', async () => {
    const { frame } = await here.open('compare_md5.vis.db');
    await frame.getByTestId('count-error').getByText('177').waitFor();
    await frame.getByTestId('view-convert').click();
    await frame.getByTestId('convertView').getByText('MSPROBE_VIEW_ONLY').waitFor();
  });
});
