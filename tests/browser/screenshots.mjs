// Takes the pictures of docs/browser.md: `node tests/browser/screenshots.mjs`.
import { chooseFile, openTab, settled, start } from './harness.mjs';

const out = new URL('../../docs/images/', import.meta.url).pathname;
const world = await start();
for (const [theme, lang] of [['light', 'en'], ['dark', 'zh']]) {
  const tab = await openTab(world);
  const { frame, page } = tab;
  const shot = async (name) => {
    await page.mouse.move(5, 5);
    await settled(frame);
    // Nothing says when a hover has faded; pictures are looked at, not asserted.
    await page.waitForTimeout(500);
    await page.screenshot({ path: `${out}browser_${name}_${theme}_${lang}.png` });
  };
  if (lang === 'zh') await frame.getByTestId('languageButton').click();
  if (theme === 'dark') await frame.getByTestId('themeButton').click();
  await chooseFile(frame, 'compare_statistics.vis.db');
  await frame.getByTestId('firstDifference').click();
  await frame.getByTestId('nodeName').waitFor();
  await shot('graph');
  await frame.getByTestId('view-diff').click();
  await frame.locator('[data-testid=diffRow].chosen').waitFor();
  await shot('diff');
  await frame.getByTestId('view-convert').click();
  await shot('convert');
  await chooseFile(frame, 'compare_multirank.vis.db');
  await frame.getByTestId('view-overview').click();
  await frame.getByTestId('graphRow').first().waitFor();
  await shot('overview');
  await frame.getByTestId('view-graph').click();
  await chooseFile(frame, 'build_overflow.vis.db');
  await frame.getByTestId('firstOverflow').click();
  await frame.getByTestId('nodeName').waitFor();
  await shot('overflow');
  await tab.context.close();
}
await world.stop();
