// Fails the build when the whole front end is larger than its budget.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const BUDGET = 150_000;
const root = new URL('../../python/msprobe/tensorboard/static', import.meta.url).pathname;

function* files(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

let total = 0;
for (const path of files(root)) total += gzipSync(readFileSync(path)).length;
console.log(`front end: ${(total / 1000).toFixed(1)} kB gzip of ${BUDGET / 1000} kB`);
if (total > BUDGET) {
  console.error('the front end is larger than its budget');
  process.exit(1);
}
