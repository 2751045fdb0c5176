// Files that are broken, odd or made to do harm, in front of a person: nothing runs, nothing hangs, every trouble has words.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { becomes, boxOf, build, chooseFile, eventually, find, inBrowser, python, sql } from './harness.mjs';

const EVIL = 'Module.<img src=x onerror="window.broken=1">.X.forward.0';
const FRAME = 'File </pre><script>window.broken=1</script>, line 3, in forward, \n <b>x</b>';

function addHostile(logdir) {
  build(join(logdir, 'evil.vis.db'), { [EVIL]: null, 'Torch.add.0.forward': EVIL }, { stack: { 0: [[EVIL, 'Torch.add.0.forward'], [FRAME]] } });
  const wide = { 'Module.wide.W.forward.0': null };
  for (let at = 0; at < 100_000; at += 1) wide[`Torch.add.${at}.forward`] = 'Module.wide.W.forward.0';
  build(join(logdir, 'wide.vis.db'), wide);
  const plain = { 'Module.a.A.forward.0': null, 'Torch.add.0.forward': 'Module.a.A.forward.0', 'Torch.mul.0.forward': 'Module.a.A.forward.0' };
  build(join(logdir, 'plain.vis.db'), plain);
  for (const name of ['odd', 'gone', 'held', 'cut', 'cycle']) copyFileSync(join(logdir, 'plain.vis.db'), join(logdir, `${name}.vis.db`));
  truncateSync(join(logdir, 'cut.vis.db'), 8192);
  for (const change of [
    "UPDATE tb_nodes SET micro_step_id = 'x', precision_index = 'words', overflow_level = 7, node_order = 'z' WHERE node_type = '1'",
    "UPDATE tb_nodes SET input_data = '{no json', output_data = x'00ff', sub_nodes = 'oops', stack_id = NULL WHERE node_name LIKE 'Torch.add%'",
    "UPDATE tb_config SET micro_steps = NULL, rank_list = 'all', node_colors = '[]'",
  ]) {
    sql(join(logdir, 'odd.vis.db'), change);
  }
  sql(join(logdir, 'cycle.vis.db'), "UPDATE tb_nodes SET up_node = 'Torch.add.0.forward' WHERE node_name = 'Module.a.A.forward.0'");
  sql(join(logdir, 'schema.vis.db'), 'CREATE TABLE other (x)');
  writeFileSync(join(logdir, 'empty.vis.db'), '');
  mkdirSync(join(logdir, 'folder.vis.db'));
  symlinkSync('/etc/passwd', join(logdir, 'outside.vis.db'));
}

inBrowser('hostile files', { fill: addHostile }, (here) => {
  const opened = (file) => here.open(file);

  it('shows names and stacks that are HTML as the texts they are', async () => {
    const { frame, page } = await opened('evil.vis.db');
    const at = await boxOf(frame, EVIL.replaceAll('"', '\\"'));
    await page.mouse.click(at.x, at.y);
    await becomes(() => frame.getByTestId('nodeName').textContent(), EVIL);
    await page.mouse.move(at.x + 3, at.y + 3);
    await frame.getByTestId('tab-stack').click();
    await frame.getByTestId('stack').first().getByText('<b>x</b>').waitFor();
    await frame.getByTestId('searchInput').fill('onerror');
    await frame.getByTestId('hit').first().getByText('onerror').waitFor();
    await frame.getByTestId('view-overview').click();
    await frame.getByTestId('graphRow').first().waitFor();
    assert.equal(await frame.evaluate(() => window.broken), undefined);
    assert.equal(await frame.locator('img').count(), 0);
  });

  it('says in words why a file cannot be shown, and goes on to the next', async () => {
    const { frame } = await opened('plain.vis.db');
    const troubles = { cut: /ends too early/, schema: /another kind or version/, empty: /The file is empty/ };
    for (const [name, words] of Object.entries(troubles)) {
      await frame.getByTestId('tagSelect').click();
      await frame.getByTestId('fileList').getByText(`${name}.vis.db`, { exact: true }).click();
      await frame.getByTestId('trouble').getByText(words).first().waitFor();
    }
    await chooseFile(frame, 'plain.vis.db');
    assert.equal((await fetch(`${here.world.api}file?path=folder.vis.db`)).status, 422);
    assert.equal((await fetch(`${here.world.api}file?path=outside.vis.db`)).status, 403);
  });

  it('reads odd columns as well as they can be read', async () => {
    const { frame, page } = await opened('odd.vis.db');
    const at = await boxOf(frame, 'Module.a.A.forward.0');
    await page.mouse.dblclick(at.x, at.y);
    const child = await boxOf(frame, 'Torch.add.0.forward');
    await page.mouse.click(child.x, child.y);
    await frame.getByTestId('nodePanel').getByText('input_data:').waitFor();
    await frame.getByTestId('tab-stack').click();
    await frame.getByTestId('nodePanel').getByText('does not have the stack').first().waitFor();
    await chooseFile(frame, 'cycle.vis.db');
    await frame.getByTestId('fileNotes').getByText(/without a way to the root/).waitFor();
    await find(frame, 'Torch.mul.0.forward');
    await becomes(() => frame.getByTestId('nodeName').textContent(), 'Torch.mul.0.forward');
  });

  it('keeps standing when the file is deleted under it', async () => {
    const { frame, page } = await opened('gone.vis.db');
    const at = await boxOf(frame, 'Module.a.A.forward.0');
    rmSync(join(here.world.logdir, 'gone.vis.db'));
    await page.mouse.click(at.x, at.y);
    await frame.getByTestId('nodePanel').getByRole('alert').getByText('gone.vis.db').waitFor();
    await chooseFile(frame, 'plain.vis.db');
    const again = await boxOf(frame, 'Module.a.A.forward.0');
    await page.mouse.click(again.x, again.y);
    await becomes(() => frame.getByTestId('nodeName').textContent(), 'Module.a.A.forward.0');
  });

  it('says that another program writes the file, and opens it when that is done', async () => {
    const hold = 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\nc.execute("BEGIN EXCLUSIVE")\nprint("held", flush=True)\nsys.stdin.read()';
    const writer = spawn(python, ['-c', hold, join(here.world.logdir, 'held.vis.db')], { stdio: ['pipe', 'pipe', 'inherit'] });
    await new Promise((resolve) => writer.stdout.once('data', resolve));
    here.finally(() => writer.kill());
    const { frame } = await opened('plain.vis.db');
    await frame.getByTestId('tagSelect').click();
    await frame.getByTestId('fileList').getByText('held.vis.db', { exact: true }).click();
    await frame.getByTestId('trouble').getByText('Another program is writing this file').first().waitFor();
    writer.stdin.end();
    await new Promise((resolve) => writer.once('exit', resolve));
    await frame.getByTestId('trouble').getByRole('button', { name: 'Try again' }).click();
    await frame.locator('[role=treeitem][data-name="Module.a.A.forward.0"]').waitFor({ state: 'attached' });
  });

  it('opens a node of 100,000 children and goes to the last one', async () => {
    const { frame, page } = await opened('wide.vis.db');
    const at = await boxOf(frame, 'Module.wide.W.forward.0');
    await page.mouse.dblclick(at.x, at.y);
    await eventually(async () => assert.ok(Number(await frame.getByTestId('debugGraph').getAttribute('data-boxes')) > 4_000));
    await find(frame, 'Torch.add.99999.forward');
    await frame.locator('[role=treeitem][data-name="Torch.add.99999.forward"][aria-selected=true]').waitFor({ state: 'attached' });
    await becomes(() => frame.getByTestId('nodeName').textContent(), 'Torch.add.99999.forward');
  });

  it('leaves no trace beside the files', () => {
    const names = readdirSync(here.world.logdir);
    assert.deepEqual(names.filter((name) => /-(wal|shm|journal)$/.test(name)), []);
    assert.ok(statSync(join(here.world.logdir, 'plain.vis.db')).size > 0 && readFileSync(join(here.world.logdir, 'plain.vis.db')).length > 0);
  });
});
