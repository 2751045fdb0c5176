// The two panes of the graph view: opening, moving, zooming, jumping, the menu, the map, colours.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { becomes, boxOf, chooseFile, eventually, find, hasAllFiles, inBrowser, reload, settled } from './harness.mjs';

const skip = hasAllFiles ? false : 'needs the recorded files of MSPROBE_SHARED or ../shared';
const FILE = 'compare_statistics.vis.db';
const BLOCK = 'Module.layers.0.Block.forward.0';
const ATTENTION = 'Module.layers.0.attn.Attention.forward.0';
const EMBEDDING = 'Module.emb.Embedding.forward.0';

inBrowser('the graph view', { skip }, (here) => {
  const { item, text } = here;
  const canvas = (side = 'debugGraph') => here.tab.frame.getByTestId(side).locator('canvas').first();
  const view = async (side) => (await canvas(side).getAttribute('data-view')).split(',').map(Number);
  const rightClick = async (name, side = 'debugGraph') => {
    const at = await boxOf(here.tab.frame, name, side);
    await here.tab.page.mouse.click(at.x, at.y, { button: 'right' });
    await here.tab.frame.getByTestId('contextMenu').waitFor();
    await settled(here.tab.frame);
  };
  const entry = (words) => here.tab.frame.getByTestId('contextMenu').getByRole('menuitem', { name: words });

  it('opens one side alone when panes are not in step, and remembers that', async () => {
    const tab = await here.open(FILE);
    await tab.frame.getByTestId('syncOpen').click();
    let at = await boxOf(tab.frame, BLOCK);
    await tab.page.mouse.dblclick(at.x, at.y);
    await item(ATTENTION).waitFor({ state: 'attached' });
    await settled(tab.frame);
    await boxOf(tab.frame, BLOCK, 'benchGraph');
    assert.equal(await item(ATTENTION, 'benchGraph').count(), 0);
    await reload(tab);
    await becomes(() => tab.frame.getByTestId('syncOpen').getAttribute('aria-pressed'), 'false');
    // What was open is in the address.
    await item(ATTENTION).waitFor({ state: 'attached' });
    await tab.frame.getByTestId('syncOpen').click();
    at = await boxOf(tab.frame, BLOCK);
    await tab.page.mouse.dblclick(at.x, at.y);
    await item(ATTENTION).waitFor({ state: 'detached' });
  });

  it('moves both panes as one when they are locked, one otherwise', async () => {
    const { frame, page } = await here.open(FILE);
    await boxOf(frame, EMBEDDING);
    const box = await canvas().boundingBox();
    const drag = async () => {
      await page.mouse.move(box.x + 300, box.y + box.height - 40);
      await page.mouse.down();
      await page.mouse.move(box.x + 260, box.y + box.height - 90, { steps: 4 });
      await page.mouse.up();
    };
    const [before, other] = [await view('debugGraph'), await view('benchGraph')];
    await drag();
    await eventually(async () => {
      const now = await view('debugGraph');
      assert.ok(Math.abs(now[0] - before[0] + 40) < 1.5 && Math.abs(now[1] - before[1] + 50) < 1.5, String(now));
    });
    assert.deepEqual(await view('benchGraph'), other);
    // A drag chooses nothing.
    await frame.getByTestId('nodePanel').getByText('Select a node').waitFor();
    await frame.getByTestId('lockPanes').click();
    await drag();
    await eventually(async () => assert.deepEqual(await view('benchGraph'), await view('debugGraph')));
  });

  it('fits the whole graph, and the selection', async () => {
    const { frame, page } = await here.open(FILE);
    const at = await boxOf(frame, BLOCK);
    await page.mouse.dblclick(at.x, at.y);
    await item(ATTENTION).waitFor({ state: 'attached' });
    await frame.getByTestId('fit-target').click();
    const root = async () => {
      await boxOf(frame, BLOCK);
      return (await item('DefaultModel').getAttribute('data-box')).split(',').map(Number);
    };
    const size = await canvas().boundingBox();
    await eventually(async () => {
      const [x, y, w, h] = await root();
      assert.ok(x >= 0 && y >= 0 && x + w <= size.width && y + h <= size.height, `${[x, y, w, h]} in ${size.width} x ${size.height}`);
    });
    const block = await boxOf(frame, BLOCK);
    await page.mouse.click(block.x, block.y);
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('Shift+F');
    await eventually(async () => {
      const [, y, , h] = (await item(BLOCK).getAttribute('data-box')).split(',').map(Number);
      assert.ok(y >= 0 && y + h <= size.height);
    });
  });

  it('shows the whole graph on a map beside the drawing, which moves it, and hides it', async () => {
    const { frame, page } = await here.open(FILE);
    await find(frame, 'layers.2.mlp');
    const map = frame.getByTestId('map-target');
    const [place, drawing] = [await map.boundingBox(), await canvas().boundingBox()];
    assert.ok(place.x >= drawing.x + drawing.width - 1, 'the map lies on the drawing');
    const before = await view();
    await page.mouse.click(place.x + 20, place.y + 4);
    await eventually(async () => assert.ok((await view())[1] > before[1]));
    await frame.getByTestId('mapButton').click();
    await map.waitFor({ state: 'detached' });
    await eventually(async () => assert.ok((await canvas().boundingBox()).width > drawing.width + 30));
  });

  it('knows in its menu what can be done with a node', async () => {
    const { frame, page } = await here.open(FILE, { permissions: ['clipboard-read', 'clipboard-write'] });
    await rightClick(BLOCK);
    await entry('Open').first().click();
    await item(ATTENTION).waitFor({ state: 'attached' });
    await rightClick(BLOCK);
    await entry(/Copy/).click();
    await becomes(() => frame.evaluate(() => navigator.clipboard.readText()), BLOCK);
    // Only what differs is opened, down to where it does.
    await rightClick('Module.layers.1.Block.forward.0');
    await entry(/error|differ|warning/i).click();
    await eventually(async () => assert.ok((await frame.locator('[data-testid=debugGraph] [role=treeitem][data-status=error]').count()) > 0));
    await rightClick(EMBEDDING);
    await entry(/diff/i).click();
    await frame.locator(`[data-testid=diffRow].chosen[data-name="${EMBEDDING}"]`).waitFor();
    // A single run has a menu too.
    await frame.getByTestId('view-graph').click();
    await chooseFile(frame, 'build_overflow.vis.db');
    await rightClick(BLOCK);
    await becomes(async () => (await frame.getByTestId('contextMenu').getByRole('menuitem').count()) > 1, true);
    await page.keyboard.press('Escape');
    await frame.getByTestId('contextMenu').waitFor({ state: 'detached' });
  });

  it('goes from a call to its partner on another rank by the menu, both panes with it', async () => {
    const { frame } = await here.open('compare_multirank.vis.db');
    await find(frame, 'Distributed.send.0.forward');
    await rightClick('Distributed.send.0.forward');
    await frame.getByTestId('partner').first().click();
    await frame.getByTestId('nodeName').getByText('Distributed.recv.0.forward').waitFor();
    await becomes(() => frame.getByTestId('rankSelect').inputValue(), '1');
    await item('Distributed.recv.0.forward').and(frame.locator('[aria-selected=true]')).waitFor({ state: 'attached' });
    await item('Distributed.recv.0.forward', 'benchGraph').and(frame.locator('[data-twin=true]')).waitFor({ state: 'attached' });
  });

  it('walks the tree and the differences by keys', async () => {
    const { frame, page } = await here.open(FILE);
    await boxOf(frame, EMBEDDING);
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('n');
    await frame.getByTestId('nodeName').waitFor();
    await settled(frame);
    const first = await text('nodeName');
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('n');
    await eventually(async () => assert.notEqual(await text('nodeName'), first));
    await settled(frame);
    await page.keyboard.press('p');
    await becomes(() => text('nodeName'), first);
    await settled(frame);
    await page.keyboard.press('m');
    await frame.locator('[data-testid=benchGraph] [role=treeitem][aria-selected=true]').waitFor({ state: 'attached' });
    await settled(frame);
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('Home');
    await becomes(() => text('nodeName'), 'DefaultModel');
    const block = await boxOf(frame, BLOCK);
    await page.mouse.click(block.x, block.y);
    await becomes(() => text('nodeName'), BLOCK);
    const open = () => item(BLOCK).getAttribute('aria-expanded');
    const before = await open();
    await page.keyboard.press('Enter');
    await eventually(async () => assert.notEqual(await open(), before));
    await page.keyboard.press(before === 'true' ? 'ArrowRight' : 'ArrowLeft');
    await becomes(open, before);
  });

  it('shows a closed box with the worst inside it, in words too', async () => {
    const { frame, page } = await here.open(FILE);
    const words = () => item('Module.layers.1.Block.forward.0').textContent();
    await eventually(async () => assert.match(await words(), /\d+ errors?/));
    const at = await boxOf(frame, 'Module.layers.1.Block.forward.0');
    await page.mouse.move(at.x, at.y);
    await frame.locator('.tip').getByText('Module.layers.1.Block.forward.0').waitFor();
  });

  it('colours by overflow where it was checked, in comparisons and single runs', async () => {
    const { frame } = await here.open('compare_multirank.vis.db');
    await frame.getByTestId('colourOverflow').click();
    await frame.getByTestId('count-critical').waitFor();
    await frame.getByTestId('colourVerdict').click();
    await frame.getByTestId('count-error').waitFor();
    await chooseFile(frame, 'build_overflow.vis.db');
    // 3, 144 and 1 are what the README of the recorded files counts.
    for (const [level, count] of [['critical', '3'], ['high', '144'], ['medium', '1']]) {
      await frame.getByTestId(`filter-${level}`).click();
      await frame.getByTestId('hitCount').getByText(new RegExp(`^${count} `)).waitFor();
      await frame.getByTestId(`filter-${level}`).click();
    }
    await frame.getByTestId('firstOverflow').click();
    await frame.getByTestId('nodeName').waitFor();
    assert.ok(await frame.getByTestId('view-diff').isDisabled());
  });

  it('keeps the node when step or rank change, and goes back to where it was', async () => {
    const { frame, page } = await here.open('compare_multirank.vis.db');
    await find(frame, 'Distributed.all_reduce.0.forward');
    const name = await text('nodeName');
    await frame.getByTestId('rankSelect').selectOption('1');
    await becomes(() => frame.getByTestId('rankSelect').inputValue(), '1');
    await settled(frame);
    await becomes(() => text('nodeName'), name);
    await frame.getByTestId('stepSelect').selectOption('1');
    await settled(frame);
    await becomes(() => text('nodeName'), name);
    await eventually(() => assert.match(page.url(), /m\.step=1/));
    await page.goBack();
    await becomes(() => frame.getByTestId('stepSelect').inputValue(), '0');
    await becomes(() => frame.getByTestId('rankSelect').inputValue(), '1');
  });
});
