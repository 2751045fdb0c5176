// Everything around the graph: search and filters, the node panel, drift chart, overview, sizes, theme and language.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { becomes, boxOf, eventually, find, hasAllFiles, inBrowser, reload, settled } from './harness.mjs';

const skip = hasAllFiles ? false : 'needs the recorded files of MSPROBE_SHARED or ../shared';
const FILE = 'compare_statistics.vis.db';
const EMBEDDING = 'Module.emb.Embedding.forward.0';

inBrowser('around the graph', { skip }, (here) => {
  const { item, text } = here;
  const clipboard = { permissions: ['clipboard-read', 'clipboard-write'] };
  const pasted = () => here.tab.frame.evaluate(() => navigator.clipboard.readText());
  const hits = () => here.tab.frame.getByTestId('hit').allTextContents();

  it('searches the golden side, leaves only, by name, and saves the list', async () => {
    const { frame, page } = await here.open(FILE);
    await frame.getByTestId('sideSelect').selectOption('golden');
    await frame.getByTestId('filter-unmatched').click();
    await frame.getByTestId('hitCount').getByText(/^28 /).waitFor();
    await frame.getByTestId('hit').first().click();
    await frame.locator('[data-testid=benchGraph] [role=treeitem][aria-selected=true]').waitFor({ state: 'attached' });
    await frame.getByTestId('clearFilters').click();
    await frame.getByTestId('sideSelect').selectOption('target');
    await frame.getByTestId('searchInput').fill('softmax');
    await frame.getByTestId('filter-leaves').click();
    await frame.getByTestId('sortSelect').selectOption('name');
    await eventually(async () => {
      const names = await hits();
      assert.ok(names.length > 1 && names.every((name) => name.includes('softmax')));
      assert.deepEqual(names.map((name) => name.slice(1)), names.map((name) => name.slice(1)).sort());
    });
    await frame.locator('[data-testid=hit] mark').first().waitFor();
    await settled(frame);
    const shown = Number(/^\d+/.exec((await text('hitCount')).replace(/^.*\/ /, ''))[0]);
    const download = page.waitForEvent('download');
    await frame.getByTestId('exportCsv').click();
    const lines = readFileSync(await (await download).path(), 'utf8').trim().split(/\r?\n/);
    assert.equal(lines[0], 'node,status,overflow,micro_step,execution_order');
    assert.equal(lines.length, shown + 1);
    assert.ok(lines.slice(1).every((line) => line.includes('softmax')));
  });

  it('filters by kind and finds collections, which are drawn as such', async () => {
    const { frame } = await here.open(FILE);
    await frame.getByTestId('filter-collection').click();
    await frame.getByTestId('hit').first().getByText('Apis_Between_Modules').waitFor();
    await frame.getByTestId('hit').first().click();
    await frame.getByTestId('nodeName').getByText('Apis_Between_Modules').waitFor();
    await frame.getByTestId('filter-collection').click();
    await frame.getByTestId('filter-module').click();
    await eventually(async () => assert.ok((await hits()).every((name) => /Module|DefaultModel/.test(name))));
  });

  it('sorts the rows of a node, explains columns and values, copies them as a table', async () => {
    const { frame, page } = await here.open(FILE, clipboard);
    const at = await boxOf(frame, EMBEDDING);
    await page.mouse.click(at.x, at.y);
    const table = frame.getByTestId('paramTable');
    await table.getByText('parameters.weight').first().waitFor();
    const names = async () => (await table.getByRole('rowheader').allTextContents()).map((name) => name.trim().split(/\s+/).at(-1));
    const before = await names();
    await table.getByRole('columnheader').first().click();
    await eventually(async () => {
      const now = (await names()).filter((_, row) => row % 2 === 0);
      assert.deepEqual(now, [...now].sort());
    });
    await table.getByRole('columnheader').first().click();
    await table.getByRole('columnheader').first().click();
    await becomes(names, before);
    // The reference's own explanations of its columns.
    const title = await table.getByTestId('column').filter({ hasText: 'Max diff' }).getAttribute('title');
    assert.equal(title, 'NPU与标杆API统计信息比对，最大值的差值');
    await frame.getByTestId('copyTable').click();
    await eventually(async () => assert.match(await pasted(), /^side\tname\t.*Result/));
    assert.match(await pasted(), /parameters\.weight\t/);
  });

  it("shows the stack with the user's frame first, copies it, and merge details where ranks were merged", async () => {
    const { frame, page } = await here.open(FILE, clipboard);
    const at = await boxOf(frame, EMBEDDING);
    await page.mouse.click(at.x, at.y);
    await frame.getByTestId('tab-stack').click();
    await frame.getByTestId('stack').first().getByText('x = self.emb(ids)').waitFor();
    await frame.getByTestId('copyStack').first().click();
    await eventually(async () => assert.match(await pasted(), /File .*line \d+, in forward/));
    await frame.getByTestId('tagSelect').click();
    await frame.getByTestId('fileList').getByText('compare_tp_merge.vis.db', { exact: true }).click();
    await settled(frame);
    await frame.getByTestId('filter-leaves').click();
    await frame.getByTestId('hit').first().click();
    await frame.getByTestId('tab-mergeInfo').click();
    await frame.getByTestId('nodePanel').locator('pre').first().waitFor();
  });

  it('takes a part of the drift chart, goes to a point of it, and shows all again', async () => {
    const { frame, page } = await here.open(FILE);
    await frame.getByTestId('view-diff').click();
    const drift = frame.getByTestId('drift');
    const points = async () => Number(await drift.getAttribute('data-points'));
    await eventually(async () => assert.ok((await points()) > 100));
    const all = await points();
    const chart = await drift.locator('canvas').boundingBox();
    const y = chart.y + chart.height / 2;
    await page.mouse.move(chart.x + chart.width * 0.4, y);
    await page.mouse.down();
    await page.mouse.move(chart.x + chart.width * 0.6, y, { steps: 5 });
    await page.mouse.up();
    await eventually(async () => assert.ok((await points()) < all / 2 && (await points()) > 0));
    // A point is there where the pointer finds one: go along until a click has chosen a node.
    await eventually(async () => {
      for (let part = 0.2; part < 0.9; part += 0.05) {
        await page.mouse.click(chart.x + chart.width * part, y);
        if ((await frame.getByTestId('nodeName').count()) > 0) return;
      }
      assert.fail('no point can be clicked');
    });
    await settled(frame);
    await drift.getByRole('button').first().click();
    await becomes(points, all);
  });

  it('goes from a cell of the overview to the worst node of that layer and rank', async () => {
    const { frame, page } = await here.open('compare_multirank.vis.db');
    await frame.getByTestId('view-overview').click();
    const map = frame.locator('[data-testid=heatMap][data-columns="2"]');
    await map.waitFor();
    await settled(frame);
    const box = await map.boundingBox();
    const [labels, top, row] = [190, 30, 22];
    await page.mouse.click(box.x + labels + (box.width - labels) * 0.75, box.y + top + row / 2);
    await frame.getByTestId('nodeName').waitFor();
    await becomes(() => frame.getByTestId('rankSelect').inputValue(), '1');
    await frame.getByTestId('view-overview').click();
    await frame.getByTestId('axis-step').click();
    await frame.locator('[data-testid=heatMap][data-columns="2"]').waitFor();
    await frame.getByTestId('graphRow').first().click();
    await frame.getByTestId('debugGraph').waitFor();
  });

  it('remembers sizes, theme and language', async () => {
    const tab = await here.open(FILE);
    const width = async () => (await tab.frame.locator('aside').boundingBox()).width;
    const height = async () => (await tab.frame.getByTestId('nodePanel').boundingBox()).height;
    const before = [await width(), await height()];
    await tab.frame.getByRole('separator', { name: 'panel', exact: true }).focus();
    await tab.page.keyboard.press('ArrowRight');
    await tab.page.keyboard.press('ArrowRight');
    const border = await tab.frame.getByRole('separator', { name: 'details' }).boundingBox();
    await tab.page.mouse.move(border.x + 300, border.y + border.height / 2);
    await tab.page.mouse.down();
    await tab.page.mouse.move(border.x + 300, border.y + border.height / 2 - 60, { steps: 3 });
    await tab.page.mouse.up();
    const sizes = async () => [Math.round((await width()) - before[0]), Math.round((await height()) - before[1])];
    await becomes(sizes, [32, 60]);
    await tab.frame.getByTestId('languageButton').click();
    await tab.frame.getByTestId('themeButton').click();
    await reload(tab);
    await becomes(sizes, [32, 60]);
    await tab.frame.getByTestId('view-overview').getByText('总览').waitFor();
    await becomes(() => tab.frame.evaluate(() => document.documentElement.style.colorScheme), 'dark');
  });

  it("follows TensorBoard's dark mode while it changes, and a Chinese browser's language", async () => {
    const { frame, page } = await here.open(FILE, { locale: 'zh-CN' });
    await frame.getByTestId('view-overview').getByText('总览').waitFor();
    const scheme = () => frame.evaluate(() => document.documentElement.style.colorScheme);
    await becomes(scheme, 'light');
    await page.evaluate(() => document.body.classList.add('dark-mode'));
    await becomes(scheme, 'dark');
    await page.evaluate(() => document.body.classList.remove('dark-mode'));
    await becomes(scheme, 'light');
  });

  it('shows the keys on ?, and the wheel zooms if one likes it so', async () => {
    const { frame, page } = await here.open(FILE);
    await boxOf(frame, EMBEDDING);
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('?');
    await frame.getByTestId('help').getByRole('checkbox').check();
    await page.keyboard.press('Escape');
    await frame.getByTestId('help').waitFor({ state: 'detached' });
    const canvas = frame.getByTestId('debugGraph').locator('canvas').first();
    const zoom = async () => Number((await canvas.getAttribute('data-view')).split(',')[2]);
    const before = await zoom();
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 100, box.y + 100);
    await page.mouse.wheel(0, -120);
    await eventually(async () => assert.ok((await zoom()) > before));
  });

  it('copies a link to what is seen', async () => {
    const { frame, page } = await here.open(FILE, clipboard);
    await find(frame, 'layers.0.mlp');
    const name = await text('nodeName');
    await eventually(() => assert.ok(page.url().includes(encodeURIComponent(name))));
    await frame.getByTestId('copyLink').click();
    await becomes(pasted, page.url());
    await item(name).waitFor({ state: 'attached' });
  });
});
