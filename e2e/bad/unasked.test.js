// A server that goes on after its answer: what it says then is nobody's, and
// may quote what it was sent.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { serve } from '../harness/bot.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

test('bytes that come unasked are not in the log', async (t) => {
  const marker = 'MARKER-of-a-bearer-token';
  let unasked = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (request) => {
      const [, sent] = /authorization: (.*)\r\n/i.exec(request.toString()) ?? [];
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');
      // Once the answer was read, the connection is one that is kept.
      setTimeout(() => { unasked += 1; socket.write(`HTTP/1.1 400 x\r\n\r\n${sent}`); }, 50);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const host = `127.0.0.1:${server.address().port}`;
  const bot = await serve(t, {
    files: {
      'parley.yaml': `model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\nfetch: {allow: ["${host}"]}
tools: {look: {description: Looks., http: {method: GET, url: "http://${host}/", auth: {bearer: ${marker}}}}}\n`,
      'model.yaml': 'rules:\n  - when: {last: user}\n    call: {tool: look}\n  - say: seen\n',
    },
  });
  const ana = await Visitor.join(bot);
  for (let n = 1; n <= 3; n += 1) {
    await ana.say('look');
    await until('an answer', async () => (await ana.messages()).filter((m) => m.from === 'bot' && m.text === 'seen').length === n);
    await until('what comes unasked', () => unasked === n);
  }
  assert.equal(await bot.stop(), 0);
  assert.ok(!bot.log.includes(marker), bot.log);
  assert.ok(!bot.log.includes('Unsolicited'), bot.log);
});
