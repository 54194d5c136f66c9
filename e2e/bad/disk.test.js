// A disk without space: nothing is taken that can't be kept, the process stays
// up, and goes on when there is space again.

import assert from 'node:assert/strict';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { folder, serve } from '../harness/bot.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

// The data folder is a small file system that only the program sees, and that
// goes with it (mount namespace; as root or where users may make them).
const small = [
  'unshare', process.getuid() === 0 ? '-m' : '-rm', 'sh', '-c',
  'mount -t tmpfs -o size=6m tmpfs data && exec "$0" "$@"',
];

// fill writes until nothing more fits.
async function fill(file) {
  const f = await open(file, 'w');
  try {
    for (let size = 64 << 10; size >= 512; size /= 2) {
      const chunk = Buffer.alloc(size, 1);
      try {
        for (;;) if ((await f.write(chunk)).bytesWritten < size) break;
      } catch (err) {
        if (err.code !== 'ENOSPC') throw err;
      }
    }
  } finally {
    await f.close();
  }
}

test('G9 full disk: 503, alive, and well again when there is space', async (t) => {
  const dir = await folder(t);
  await mkdir(path.join(dir, 'data'));
  const bot = await serve(t, { dir, wrapper: small, env: { PARLEY_LIMITS_PER_USER: 'off' } });
  const data = path.join(`/proc/${bot.pid}/root`, dir, 'data');
  assert.match(await readFile(`/proc/${bot.pid}/mounts`, 'utf8'), /size=6144k/, 'the data folder is the small one');
  const ana = await Visitor.join(bot);
  await ana.say('2 croissants');
  const question = await ana.asked();
  const yes = question.buttons.find((b) => b.value === 'yes').id;

  await fill(path.join(data, 'filler'));
  const refused = await until('a message that is refused', async () => {
    const res = await ana.post('messages', { text: `hello ${'x'.repeat(8000)}` });
    return res.status !== 202 && res;
  });
  assert.equal(refused.status, 503, JSON.stringify(refused.body));
  assert.equal(refused.body.error.code, 'unavailable');
  assert.ok(Number(refused.retryAfter) > 0);
  await until('readyz 503', async () => (await fetch(`${bot.url}/readyz`)).status === 503);
  assert.equal((await fetch(`${bot.url}/healthz`)).status, 200);
  assert.equal(bot.ended, false);
  assert.equal((await ana.post('press', { button: yes })).status, 503, 'a press that cannot be kept is not taken');
  assert.ok((await ana.messages()).some((m) => m.id === question.id), 'what is there can be read');

  await rm(path.join(data, 'filler'));
  await until('readyz 200', async () => (await fetch(`${bot.url}/readyz`)).status === 200, { timeout: 30_000 });
  assert.equal(await ana.press(yes), 'accepted');
  const placed = () => ana.answers().then((all) => all.filter((m) => /Your order is P-/.test(m.text)).length);
  await until('the order', placed, { timeout: 30_000 });
  const ben = await Visitor.join(bot);
  await ben.say('3 teas');
  await ben.asked();
  assert.equal(await placed(), 1);
  assert.equal(await bot.stop(), 0);
  assert.doesNotMatch(bot.log, /panic|goroutine \d/);
});
