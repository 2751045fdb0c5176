// What the server answers, asked as a page asks it: errors with codes, compression, caching, files that change, no shared state.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { it } from 'node:test';
import { becomes, build, chooseFile, eventually, hasAllFiles, inBrowser, recordedFolder, reload, sql } from './harness.mjs';

const skip = hasAllFiles ? false : 'needs the recorded files of MSPROBE_SHARED or ../shared';
const FILE = 'compare_statistics.vis.db';

inBrowser('the server', { skip }, (here) => {
  const ask = (route, query = {}) => fetch(`${here.world.api}${route}?${new URLSearchParams(query)}`);
  /** The plain bytes of an answer and its headers: fetch would unpack them. */
  const raw = (address, headers = {}) =>
    new Promise((resolve, reject) => {
      get(address, { headers }, (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part)).on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
      }).on('error', reject);
    });

  it('answers a question it cannot answer with a code, a status and words', async () => {
    const graph = { path: FILE, step: 0, rank: 0 };
    const troubles = [
      ['way', { ...graph, name: 'Module.nowhere.N.forward.0' }, 404, 'no_node'],
      ['node', { path: FILE, id: 99_999_999 }, 404, 'no_node'],
      ['children', { path: FILE, ids: '99999999' }, 404, 'no_node'],
      ['children', { path: FILE, ids: 'x' }, 400, 'parameter'],
      ['pairs', { path: FILE, pairs: '1' }, 400, 'parameter'],
      ['way', { ...graph, name: 'DefaultModel', side: 'left' }, 400, 'parameter'],
      ['search', { ...graph, status: 'awful' }, 400, 'parameter'],
      ['file', { path: 'gone.vis.db' }, 404, 'no_file'],
      ['start', { path: '../x.vis.db' }, 403, 'outside'],
      ['nothing', {}, 404, 'route'],
    ];
    for (const [route, query, status, code] of troubles) {
      const answer = await eventually(async () => {
        const one = await ask(route, query);
        assert.notEqual(one.status, 202);
        return one;
      });
      const { error } = await answer.json();
      assert.deepEqual([route, answer.status, error.code], [route, status, code]);
      assert.ok(error.message.length > 5 && !error.message.includes('<'));
    }
  });

  it('begins with one answer, whatever the step and rank of an old link', async () => {
    const start = await (await ask('start', { path: FILE, step: 77, rank: 3, micro: 9 })).json();
    assert.deepEqual([start.step, start.rank, start.micro], [0, 0, -1]);
    assert.equal(start.roots.target.name[0], 'DefaultModel');
    assert.deepEqual(start.children.parent, [start.roots.target.id[0], start.roots.golden.id[0]]);
    assert.equal(start.children.count.reduce((sum, one) => sum + one), start.children.nodes.id.length);
    // Without a path: the first file of the list that can be read.
    const { files } = await (await ask('files')).json();
    const any = await (await ask('start')).json();
    assert.equal(any.file.path, files.find((file) => file.state === 'ok').path);
  });

  it('compresses, says when nothing has changed, and lets files with their content in the name be kept for ever', async () => {
    const address = `${here.world.api}start?path=${FILE}`;
    const plain = await raw(address);
    const small = await raw(address, { 'Accept-Encoding': 'gzip' });
    assert.equal(small.headers['content-encoding'], 'gzip');
    assert.ok(small.body.length < plain.body.length / 2);
    const again = await raw(address, { 'If-None-Match': small.headers.etag });
    assert.deepEqual([again.status, again.body.length], [304, 0]);
    const root = here.world.api.replace(/api\/$/, '');
    const entry = (await raw(`${root}index.js`)).body.toString();
    const chunk = /static\/[\w.-]+\.js/.exec(entry)[0];
    const kept = await raw(root + chunk);
    assert.match(kept.headers['cache-control'], /immutable/);
    assert.equal((await raw(`${root}../../etc/passwd`)).status, 404);
  });

  it('shows another content as soon as the file has it', async () => {
    const name = 'changing.vis.db';
    const place = join(here.world.logdir, name);
    build(place, { 'Module.old.O.forward.0': null });
    const tab = await here.open(name);
    await here.item('Module.old.O.forward.0').waitFor({ state: 'attached' });
    build(`${place}.next`, { 'Module.new.N.forward.0': null });
    renameSync(`${place}.next`, place);
    await reload(tab);
    await here.item('Module.new.N.forward.0').waitFor({ state: 'attached' });
    await becomes(() => here.item('Module.old.O.forward.0').count(), 0);
    rmSync(place);
  });

  it('keeps two tabs on two files apart, and two on one', async () => {
    const first = await here.open(FILE);
    await chooseFile(first.frame, 'compare_md5.vis.db');
    const second = await here.open(FILE);
    const ids = async (path) => {
      const start = await (await ask('start', { path })).json();
      return start.roots.target.id[0];
    };
    // Questions name their file each time; those of one file do not change the answers to another.
    const [one, two] = [await ids(FILE), await ids('compare_md5.vis.db')];
    for (let turn = 0; turn < 5; turn += 1) {
      assert.equal((await (await ask('children', { path: FILE, ids: one })).json()).parent[0], one);
      assert.equal((await (await ask('children', { path: 'compare_md5.vis.db', ids: two })).json()).parent[0], two);
    }
    assert.deepEqual([first.problems, second.problems], [[], []]);
    await first.context.close();
  });

  it('shows a node whose stack the file does not have, and a file without indexes, and says so', async () => {
    const name = 'bare.vis.db';
    const place = join(here.world.logdir, name);
    copyFileSync(join(recordedFolder(), FILE), place);
    for (const index of ['index1', 'index2', 'index3']) sql(place, `DROP INDEX ${index}`);
    sql(place, 'DELETE FROM tb_stack');
    const { frame } = await here.open(name);
    await frame.getByTestId('fileNotes').getByText(/index/).waitFor();
    await frame.getByTestId('searchInput').fill('emb.Embedding.forward.0');
    await frame.getByTestId('hit').first().click();
    await frame.getByTestId('paramTable').getByText('parameters.weight').first().waitFor();
    await frame.getByTestId('tab-stack').click();
    await frame.getByTestId('nodePanel').getByText('does not have the stack').first().waitFor();
  });
});

inBrowser('an empty log directory', { empty: true }, (here) => {
  it('says what to do, and offers to make a file', async () => {
    const { frame } = await here.open();
    await frame.getByTestId('trouble').getByText(here.world.logdir).waitFor();
    await frame.getByTestId('trouble').getByRole('button', { name: 'Convert' }).click();
    await frame.getByTestId('convertView').waitFor();
    const folder = mkdtempSync(join(here.world.logdir, 'run-'));
    build(join(folder, 'late.vis.db'), { 'Module.late.L.forward.0': null });
    await frame.getByTestId('view-graph').click();
    await frame.getByTestId('trouble').getByRole('button').first().click();
    await here.item('Module.late.L.forward.0').waitFor({ state: 'attached' });
  });
});
