// Files that are broken, odd or made to do harm, in front of a person: nothing runs, nothing hangs, every trouble has words.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { becomes, boxOf, chooseFile, eventually, openTab, python, settled, start } from './harness.mjs';

const EVIL = 'Module.<img src=x onerror="window.broken=1">.X.forward.0';
const FRAME = 'File </pre><script>window.broken=1</script>, line 3, in forward, \n <b>x</b>';
const TENSOR = { type: 'torch.Tensor', dtype: 'torch.float32', shape: [2], Max: 1, Min: 0, Mean: 0.5, Norm: 1.5, requires_grad: false };
const ENTRY = { input_args: [TENSOR], input_kwargs: {}, output: [TENSOR] };

/** Makes a vis.db of a dump with these parents, names in order. */
function build(logdir, name, construct, stack = {}) {
  const dump = mkdtempSync(join(tmpdir(), 'msprobe-dump-'));
  const data = Object.fromEntries(Object.keys(construct).map((key) => [key, ENTRY]));
  writeFileSync(join(dump, 'dump.json'), JSON.stringify({ task: 'statistics', level: 'mix', framework: 'pytorch', dump_data_dir: null, data }));
  writeFileSync(join(dump, 'construct.json'), JSON.stringify(construct));
  writeFileSync(join(dump, 'stack.json'), JSON.stringify(stack));
  const done = spawnSync(python, ['-m', 'msprobe', 'graph_visualize', '-tp', dump, '-o', join(dump, 'out')], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  copyFileSync(join(dump, 'out', readdirSync(join(dump, 'out'))[0]), join(logdir, name));
  rmSync(dump, { recursive: true });
}

function sql(file, ...statements) {
  const script = 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n[c.execute(s) for s in sys.argv[2:]]\nc.commit()';
  const done = spawnSync(python, ['-c', script, file, ...statements], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
}

describe('hostile files', { timeout: 7_200_000 }, () => {
  let world;
  let tab;
  /** What a test that fails must let go. */
  const releases = [];
  before(async () => {
    world = await start({
      fill(logdir) {
        build(logdir, 'evil.vis.db', { [EVIL]: null, 'Torch.add.0.forward': EVIL }, { 0: [[EVIL, 'Torch.add.0.forward'], [FRAME]] });
        const wide = { 'Module.wide.W.forward.0': null };
        for (let at = 0; at < 100_000; at += 1) wide[`Torch.add.${at}.forward`] = 'Module.wide.W.forward.0';
        build(logdir, 'wide.vis.db', wide);
        const plain = { 'Module.a.A.forward.0': null, 'Torch.add.0.forward': 'Module.a.A.forward.0', 'Torch.mul.0.forward': 'Module.a.A.forward.0' };
        build(logdir, 'plain.vis.db', plain);
        for (const name of ['odd', 'gone', 'held', 'cut', 'cycle']) copyFileSync(join(logdir, 'plain.vis.db'), join(logdir, `${name}.vis.db`));
        truncateSync(join(logdir, 'cut.vis.db'), 8192);
        sql(
          join(logdir, 'odd.vis.db'),
          "UPDATE tb_nodes SET micro_step_id = 'x', precision_index = 'words', overflow_level = 7, node_order = 'z' WHERE node_type = '1'",
          "UPDATE tb_nodes SET input_data = '{no json', output_data = x'00ff', sub_nodes = 'oops', stack_id = NULL WHERE node_name LIKE 'Torch.add%'",
          "UPDATE tb_config SET micro_steps = NULL, rank_list = 'all', node_colors = '[]'",
        );
        sql(join(logdir, 'cycle.vis.db'), "UPDATE tb_nodes SET up_node = 'Torch.add.0.forward' WHERE node_name = 'Module.a.A.forward.0'");
        sql(join(logdir, 'schema.vis.db'), 'CREATE TABLE other (x)');
        writeFileSync(join(logdir, 'empty.vis.db'), '');
        mkdirSync(join(logdir, 'folder.vis.db'));
        symlinkSync('/etc/passwd', join(logdir, 'outside.vis.db'));
      },
    });
  });
  after(async () => {
    await world?.stop();
  });
  afterEach(async () => {
    releases.splice(0).forEach((release) => release());
    const problems = tab?.problems ?? [];
    await tab?.context.close();
    tab = undefined;
    assert.deepEqual(problems, []);
  });

  const opened = async (file) => {
    tab = await openTab(world, { file });
    return tab;
  };
  const find = async (words) => {
    await tab.frame.getByTestId('searchInput').fill(words);
    await tab.frame.getByTestId('hit').first().getByText(words).click();
    await settled(tab.frame);
  };

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
    assert.equal((await fetch(`${world.api}file?path=folder.vis.db`)).status, 422);
    assert.equal((await fetch(`${world.api}file?path=outside.vis.db`)).status, 403);
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
    await find('Torch.mul.0.forward');
    await becomes(() => frame.getByTestId('nodeName').textContent(), 'Torch.mul.0.forward');
  });

  it('keeps standing when the file is deleted under it', async () => {
    const { frame, page } = await opened('gone.vis.db');
    const at = await boxOf(frame, 'Module.a.A.forward.0');
    rmSync(join(world.logdir, 'gone.vis.db'));
    await page.mouse.click(at.x, at.y);
    await frame.getByTestId('nodePanel').getByRole('alert').getByText('gone.vis.db').waitFor();
    await chooseFile(frame, 'plain.vis.db');
    const again = await boxOf(frame, 'Module.a.A.forward.0');
    await page.mouse.click(again.x, again.y);
    await becomes(() => frame.getByTestId('nodeName').textContent(), 'Module.a.A.forward.0');
  });

  it('says that another program writes the file, and opens it when that is done', async () => {
    const hold = 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\nc.execute("BEGIN EXCLUSIVE")\nprint("held", flush=True)\nsys.stdin.read()';
    const writer = spawn(python, ['-c', hold, join(world.logdir, 'held.vis.db')], { stdio: ['pipe', 'pipe', 'inherit'] });
    await new Promise((resolve) => writer.stdout.once('data', resolve));
    releases.push(() => writer.kill());
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
    await find('Torch.add.99999.forward');
    await frame.locator('[role=treeitem][data-name="Torch.add.99999.forward"][aria-selected=true]').waitFor({ state: 'attached' });
    await becomes(() => frame.getByTestId('nodeName').textContent(), 'Torch.add.99999.forward');
  });

  it('leaves no trace beside the files', () => {
    const names = readdirSync(world.logdir);
    assert.deepEqual(names.filter((name) => /-(wal|shm|journal)$/.test(name)), []);
    assert.ok(statSync(join(world.logdir, 'plain.vis.db')).size > 0 && readFileSync(join(world.logdir, 'plain.vis.db')).length > 0);
  });
});
