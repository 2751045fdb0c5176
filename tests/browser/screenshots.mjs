// Takes the pictures of docs/browser.md: `node tests/browser/screenshots.mjs`.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { chooseFile, find, hasAllFiles, openTab, recordedFolder, settled, start } from './harness.mjs';

if (!hasAllFiles) throw new Error('needs the recorded files of MSPROBE_SHARED or ../shared');
const out = new URL('../../docs/images/', import.meta.url).pathname;
const world = await start({
  fill(logdir) {
    for (const name of ['tf_mixed', 'tf_base']) cpSync(join(recordedFolder(), 'dumps', name), join(logdir, 'dumps', name), { recursive: true });
  },
});
for (const [theme, lang] of [['light', 'en'], ['dark', 'zh']]) {
  const { context, frame, page } = await openTab(world, { file: 'compare_statistics.vis.db' });
  const shot = async (name) => {
    await page.mouse.move(5, 5);
    await settled(frame);
    // Nothing says when a hover has faded; pictures are looked at, not asserted.
    await page.waitForTimeout(500);
    await page.screenshot({ path: `${out}browser_${name}_${theme}_${lang}.png` });
  };
  if (lang === 'zh') await frame.getByTestId('languageButton').click();
  if (theme === 'dark') {
    await page.evaluate(() => document.body.classList.add('dark-mode'));
    await frame.getByTestId('themeButton').waitFor();
  }
  await frame.getByTestId('firstDifference').click();
  await frame.getByTestId('nodeName').waitFor();
  await shot('graph');
  await frame.getByTestId('searchInput').fill('mlp forward');
  await frame.getByTestId('filter-warning').click();
  await frame.getByTestId('filter-error').click();
  await frame.getByTestId('hit').nth(2).click();
  await frame.getByTestId('tab-stack').click();
  await shot('search');
  await frame.getByTestId('tab-parameters').click();
  await frame.getByTestId('clearFilters').click();
  await find(frame, 'layers.1.mlp.FusedMLP.forward');
  await frame.getByTestId('panel-match').click();
  await frame.getByTestId('unmatchedSearch-golden').fill('mlp.MLP');
  await frame.getByTestId('unmatchedList-golden').getByTestId('unmatchedHit').first().click();
  await shot('match');
  await frame.getByTestId('panel-find').click();
  await frame.getByTestId('clearFilters').click();
  await frame.getByTestId('firstDifference').click();
  await settled(frame);
  await frame.getByTestId('view-diff').click();
  await frame.locator('[data-testid=diffRow].chosen').waitFor();
  await shot('diff');
  await frame.getByTestId('view-convert').click();
  await frame.getByTestId('targetPath').fill('dumps/tf_mixed/step0/rank0');
  await frame.getByTestId('goldenPath').fill('dumps/tf_base/step0/rank0');
  await frame.getByTestId('overflowCheck').check();
  await frame.getByTestId('outputPath').focus();
  await shot('convert');
  await frame.getByTestId('view-graph').click();
  await chooseFile(frame, 'compare_multirank.vis.db');
  await frame.getByTestId('view-overview').click();
  await frame.getByTestId('graphRow').first().waitFor();
  await shot('overview');
  await frame.getByTestId('view-graph').click();
  await chooseFile(frame, 'build_overflow.vis.db');
  await frame.getByTestId('firstOverflow').click();
  await frame.getByTestId('nodeName').waitFor();
  await shot('overflow');
  await context.close();
}
await world.stop();
