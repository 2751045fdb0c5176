// A chain of 20,000 nested modules: whatever leads to its end is one step, and drawing it costs what is on the screen.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { becomes, boxOf, build, ENTRY, eventually, find, inBrowser, settled } from './harness.mjs';

const DEPTH = 20_000;
const LAST = `Module.m${DEPTH - 1}.M.forward.0`;
const MIDDLE = `Module.m${DEPTH / 2}.M.forward.0`;
const FILE = 'deep.vis.db';

/** The innermost module's output differs, so that the answer lies at the far end. */
function addChain(logdir) {
  const chain = {};
  for (let at = DEPTH - 1; at >= 0; at -= 1) chain[`Module.m${at}.M.forward.0`] = at === 0 ? null : `Module.m${at - 1}.M.forward.0`;
  const other = { ...ENTRY.output[0], Max: 1.5, Mean: 0.75, Norm: 2.5 };
  build(join(logdir, FILE), chain, { golden: { [LAST]: { ...ENTRY, output: [other] } } });
}

inBrowser('a chain of 20,000 modules', { fill: addChain }, (here) => {
  const chosen = (name, side) => here.item(name, side).and(here.tab.frame.locator('[aria-selected=true], [data-twin=true]'));
  const arrives = async (name) => {
    await chosen(name, 'debugGraph').waitFor({ state: 'attached' });
    await chosen(name, 'benchGraph').waitFor({ state: 'attached' });
    await becomes(() => here.text('nodeName'), name);
    await settled(here.tab.frame);
  };
  const requests = (page) => {
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    return asked;
  };

  it('goes to the last one, found by a search, on both sides, with a few questions', async () => {
    const { frame, page } = await here.open(FILE);
    await boxOf(frame, 'DefaultModel');
    const asked = requests(page);
    await find(frame, LAST);
    await arrives(LAST);
    await becomes(() => frame.getByTestId('debugGraph').getAttribute('data-boxes'), String(DEPTH + 1));
    // Search, way, details, some megabytes of children in pieces: nothing per level.
    assert.ok(asked.length < 60, `${asked.length} questions`);
    // The end of the path bar is the node itself, whatever its depth.
    await frame.getByTestId('pathBar').getByText(LAST).waitFor();
  });

  it('goes to the answer at the far end by its button, and back again', async () => {
    const { frame, page } = await here.open(FILE);
    await frame.getByTestId('firstDifference').click();
    await arrives(LAST);
    await find(frame, MIDDLE);
    await arrives(MIDDLE);
    await eventually(() => assert.ok(page.url().includes(encodeURIComponent(MIDDLE))));
    await page.goBack();
    await arrives(LAST);
  });

  it('draws what is on the screen, closes and opens far down', async () => {
    const { frame, page } = await here.open(FILE);
    await find(frame, MIDDLE);
    await find(frame, LAST);
    await find(frame, MIDDLE);
    await arrives(MIDDLE);
    const canvas = frame.getByTestId('debugGraph').locator('canvas').first();
    await eventually(async () => assert.ok(Number(await canvas.getAttribute('data-drawn')) < 200));
    const at = await boxOf(frame, MIDDLE);
    await page.mouse.dblclick(at.x, at.y);
    await becomes(() => frame.getByTestId('debugGraph').getAttribute('data-boxes'), String(DEPTH / 2 + 2));
    await becomes(() => frame.getByTestId('benchGraph').getAttribute('data-boxes'), String(DEPTH / 2 + 2));
    const again = await boxOf(frame, MIDDLE);
    await page.mouse.dblclick(again.x, again.y);
    await becomes(() => frame.getByTestId('debugGraph').getAttribute('data-boxes'), String(DEPTH + 1));
    await frame.getByTestId('debugGraph').focus();
    await page.keyboard.press('ArrowUp');
    await becomes(() => here.text('nodeName'), `Module.m${DEPTH / 2 - 1}.M.forward.0`);
    await page.keyboard.press('Home');
    await becomes(() => here.text('nodeName'), 'DefaultModel');
  });

  it('opens a link to the last one, and the diff view shows its row', async () => {
    const { frame } = await here.open(FILE, { hash: `&m.file=${FILE}&m.node=${LAST}&m.view=diff` });
    const row = frame.locator(`[data-testid=diffRow].chosen[data-name="${LAST}"]`);
    await row.waitFor();
    await frame.getByTestId('hideAgreeing').check();
    await row.waitFor();
    await frame.getByTestId('diffSort').selectOption('worst');
    await row.waitFor();
    await frame.getByTestId('view-overview').click();
    await frame.getByTestId('graphRow').first().waitFor();
    await frame.getByTestId('view-graph').click();
    await arrives(LAST);
  });
});
