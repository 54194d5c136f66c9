// What stands in the way of a start, and the end that SIGTERM brings.

import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { binary, folder, run, serve } from '../harness/bot.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

const slow = {
  'parley.yaml': 'model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n',
  'model.yaml': '- when: {text: slow}\n  delay: 1s\n- say: Here you are\n',
};

test('a port in use ends it with 1 and the remedy', async (t) => {
  const taken = createServer();
  await new Promise((resolve) => { taken.listen(0, '127.0.0.1', resolve); });
  t.after(() => taken.close());
  const { port } = taken.address();
  const got = await run(['serve', '--listen', `127.0.0.1:${port}`], { dir: await folder(t) });
  assert.equal(got.code, 1, got.stderr);
  assert.match(got.stderr, new RegExp(`127\\.0\\.0\\.1:${port}.*(in use)`));
});

test('a data folder that cannot be written ends it with 1 and says so', async (t) => {
  const dir = await folder(t);
  await mkdir(path.join(dir, 'data'));
  await chmod(path.join(dir, 'data'), 0o555);
  const root = process.getuid() === 0;
  // Root may write everywhere, so the program runs as nobody; its own folder
  // may be closed to that one.
  const program = path.join(dir, 'parley');
  await copyFile(binary, program);
  const wrapper = root ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
  const got = await run(['serve', '--listen', '127.0.0.1:0'], { dir, wrapper, program });
  assert.equal(got.code, 1, got.stderr);
  assert.match(got.stderr, /data/);
  assert.match(got.stderr, /permission denied|read-only|not writable|can't be written/i);
  assert.doesNotMatch(got.stderr, /goroutine|panic/);
});

test('a second process on the same database ends with 1; the first goes on', async (t) => {
  const bot = await serve(t);
  const got = await run(['serve', '--listen', '127.0.0.1:0'], { dir: bot.dir });
  assert.equal(got.code, 1, got.stderr);
  assert.match(got.stderr, /parley\.db/);
  assert.match(got.stderr, /another process|in use|locked/i);
  const ana = await Visitor.join(bot);
  await ana.say('hello');
  assert.match((await ana.hears(1)).text, /Welcome/);
});

test('G7 SIGTERM: a turn under way is finished, exit code 0', async (t) => {
  const bot = await serve(t, { files: slow });
  const ana = await Visitor.join(bot);
  await ana.say('slow, please');
  const stream = await ana.stream(); // an open stream doesn't hold it
  const began = Date.now();
  assert.equal(await bot.stop(), 0, bot.log);
  assert.ok(Date.now() - began < 10_000, 'within the grace time');
  await stream.ended;
  await bot.start();
  assert.deepEqual((await ana.answers()).map((m) => m.text), ['Here you are']);
});

test('G7 SIGTERM with a question open: it is open after the restart', async (t) => {
  const bot = await serve(t);
  const ana = await Visitor.join(bot);
  await ana.say('2 croissants');
  const { buttons } = await ana.asked();
  assert.equal(await bot.stop(), 0, bot.log);
  await bot.start();
  assert.equal(await ana.press(buttons[0].id), 'accepted');
  const done = await until('the order', async () => (await ana.answers()).find((m) => m.text.includes('P-1001')));
  assert.match(done.text, /2 × Croissant/);
});
