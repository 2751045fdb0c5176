import { describe, expect, it } from 'vitest';
import { csvCell } from '../src/core/clipboard';
import { partners } from '../src/core/communication';
import { cutMiddle, frame, label, userFrame } from '../src/core/names';
import { barLength, differsAt, relative, shortNumber } from '../src/core/numbers';
import { flatten, merged, type PairRow } from '../src/core/outline';
import { lines, messages, result, sorted } from '../src/core/table';
import { decode, decodeOpen, encode, encodeOpen, NOWHERE } from '../src/core/url';
import { bringIntoView, fit, zoomAt } from '../src/core/view';

describe('labels follow the rules users of the reference know', () => {
  // Examples of the reference's page.
  it.each([
    ['Module.layers.0.attn.qkv.Linear.forward.0', 0, 'qkv.Linear.forward.0'],
    ['Module.blocks.0.Sequential.forward.0', 0, 'blocks.0.Sequential.forward.0'],
    ['Torch.softmax.0.forward', 1, 'softmax.0.forward'],
    ['DefaultModel', 0, 'DefaultModel'],
  ])('%s', (name, kind, expected) => expect(label(name, kind, false)).toBe(expected));

  it('are those that the parts of a name give', () => {
    // The rule as it is told, by cutting the name into all of its parts.
    const told = (name: string, kind: number): string => {
      const parts = name.split('.');
      const shown = kind === 0 ? 4 : 2;
      if (parts.length < shown) return name;
      const number = /^\d+$/.test(parts.at(-shown) ?? '');
      return number && parts.length === shown ? name : parts.slice(-shown - (number ? 1 : 0)).join('.');
    };
    const words = ['Module', '0', 'layers', '12', 'attn', 'forward', 'x1', '7'];
    for (let seed = 0; seed < 4000; seed += 1) {
      const name = Array.from({ length: 1 + (seed % 7) }, (_, at) => words[Math.floor(seed / 8 ** (at % 4)) % 8]).join('.');
      for (const kind of [0, 1, 9]) expect(label(name, kind, false), name).toBe(told(name, kind));
    }
  });

  it('cuts in the middle and keeps the call number', () => {
    const cut = cutMiddle('Module.very.long.name.of.a.Thing.forward.12', 20);
    expect(cut).toHaveLength(20);
    expect(cut.endsWith('.forward.12')).toBe(true);
    expect(cutMiddle('short', 20)).toBe('short');
  });
});

describe('stacks', () => {
  const library = 'File /home/user/venv/lib/python3.11/site-packages/torch/nn/modules/module.py, line 1811, in inner, \n return inner()';
  const own = 'File /home/user/train/model.py, line 84, in forward, \n x = self.emb(ids)';
  it('are split into file, line and code', () => {
    expect(frame(own)).toMatchObject({ file: '/home/user/train/model.py', line: 84, code: 'x = self.emb(ids)', library: false });
    expect(frame('<script>alert(1)</script>')).toMatchObject({ file: '', text: '<script>alert(1)</script>' });
  });
  it('show the user frame first', () => {
    expect(userFrame([library, own])?.line).toBe(84);
    expect(userFrame([library])?.line).toBe(1811);
    expect(userFrame([])).toBeNull();
  });
});

describe('numbers', () => {
  it('are short without touching other texts', () => {
    expect(shortNumber('0.43282467126846313')).toBe('0.432825');
    expect(shortNumber('4.443570%')).toBe('4.44357%');
    expect(shortNumber('N/A')).toBe('N/A');
    expect(shortNumber('[2, 8]')).toBe('[2, 8]');
    expect(shortNumber('12345')).toBe('12345');
  });
  it('read as errors', () => {
    expect([relative(null), relative(0), relative(2.1e-7), relative(0.0053), relative(38.9), relative(1e30)]).toEqual(['–', '0', '2.1e-7', '0.53 %', '38.9×', 'NaN / ∞']);
    expect(barLength(1e-8)).toBe(0);
    expect(barLength(100)).toBe(1);
  });
  it('part where digits part', () => {
    expect(differsAt('1.234', '1.239')).toBe(4);
    expect(differsAt('1.2', '1.2')).toBe(-1);
  });
});

describe('the parameter table', () => {
  const pair = (name: string, target: object | null, golden: object | null) => ({ name, output: false, target, golden }) as never;
  it('has a line a side and sorts by severity and by number', () => {
    const pairs = [
      pair('a', { Result: 'pass', Max: '2' }, { Max: '3' }),
      pair('b', { Result: 'error', Max: '10' }, { Max: '1' }),
      pair('c', { Max: '' }, null),
    ];
    expect(lines(pairs, true).map((line) => line.name + line.side[0])).toEqual(['at', 'ag', 'bt', 'bg', 'ct']);
    expect(sorted(pairs, { column: 'Result', down: true }).map((one) => one.name)).toEqual(['b', 'c', 'a']);
    expect(sorted(pairs, { column: 'Max', down: false }).map((one) => one.name)).toEqual(['a', 'b', 'c']);
    expect(result(pairs[2]!)).toBe(4);
    expect(messages('["one", "two"]')).toEqual(['one', 'two']);
  });
});

describe('links', () => {
  it('come back as they were', () => {
    const place = { ...NOWHERE, file: 'a/b c&d=#.vis.db', step: 3, rank: 12, node: 'Module.层.L.forward.0', q: 'x & y', view: 'diff', open: encodeOpen([1, 36, 999]) };
    expect(decode(`#graph_ascend&${encode(place)}`)).toEqual(place);
    expect(decodeOpen(place.open)).toEqual([1, 36, 999]);
  });
  it('do not trust what they hold', () => {
    expect(decode('#m.step=abc&m.file=%E0%A4&m.evil=1&m.rank=5')).toEqual({ ...NOWHERE, rank: 5 });
    expect(decodeOpen('zz.-.!.')).toEqual([1295]);
  });
});

describe('communication partners', () => {
  it('are read from one object or a list, names whole', () => {
    expect(partners({ communications_type: 'send', nodes_info: { 1: ['Nan', 'Distributed.re-cv.0.forward'] } })).toEqual([
      { kind: 'send', list: [{ rank: 1, name: 'Distributed.re-cv.0.forward' }] },
    ]);
    expect(partners([{ communications_type: 'receive', nodes_info: { 0: [null, 'a'], x: ['b'] } }, 7])).toEqual([{ kind: 'receive', list: [{ rank: 0, name: 'a' }] }]);
    for (const none of [null, {}, 'text', { nodes_info: null }]) expect(partners(none)).toEqual([]);
  });
});

describe('views', () => {
  it('zoom at the pointer', () => {
    const view = zoomAt({ tx: 10, ty: 20, k: 1 }, 100, 50, 2);
    expect((100 - 10) / 1).toBeCloseTo((100 - view.tx) / view.k);
    expect((50 - 20) / 1).toBeCloseTo((50 - view.ty) / view.k);
  });
  it('fit what they should fit', () => {
    const view = fit({ x: 0, y: 0, w: 4000, h: 1000 }, 800, 600);
    expect(view.tx).toBeGreaterThanOrEqual(0);
    expect(4000 * view.k + view.tx).toBeLessThanOrEqual(800);
  });
  it('move only when they must', () => {
    const view = { tx: 20, ty: 20, k: 1 };
    expect(bringIntoView(view, { x: 0, y: 100, w: 50, h: 20 }, 800, 600)).toEqual(view);
    expect(bringIntoView(view, { x: 0, y: 5000, w: 50, h: 20 }, 800, 600).ty).toBeLessThan(-4000);
  });
});

describe('the diff outline', () => {
  it('is flat, in order, with a row for what is not loaded', () => {
    const row = (key: string, place: number): PairRow => ({ key, place, depth: 0, kids: 2 }) as PairRow;
    const [root, a, b, far] = [row('r', 0), row('a', 0), row('b', 1), row('f', 7)];
    const loaded = merged(merged(undefined, [a, b], 9, 0), [far], 9, 0);
    const flat = flatten(root, new Set(['r']), new Map([['r', loaded]]));
    expect(flat.map((one) => one.key)).toEqual(['r', 'a', 'b', 'r+2', 'f', 'r+8']);
    expect(flat.map((one) => one.depth)).toEqual([0, 1, 1, 1, 1, 1]);
    expect([flat[3]?.kids, flat[5]?.kids]).toEqual([5, 1]);
  });
});

describe('exports', () => {
  it('neutralise what a spreadsheet would run', () => {
    expect(csvCell('=cmd()')).toBe("'=cmd()");
    expect(csvCell('-1.5e-3')).toBe('-1.5e-3');
    expect(csvCell('a,"b"')).toBe('"a,""b"""');
  });
});
