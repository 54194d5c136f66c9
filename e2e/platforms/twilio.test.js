// The bakery by SMS, on a Twilio that nobody of this project wrote: emulate's.
// It checks credentials and numbers, signs its webhooks and reports deliveries.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { createEmulator } from 'emulate';
import '../harness/loopback.js'; // emulate listens on all interfaces
import { Bot, folder, freePort, root, run } from '../harness/bot.js';
import { until } from '../harness/until.js';

const account = 'AC00000000000000000000000000000001';
const token = 'tokenOfTheAccount4f1c';
const ours = '+15550002222';
const ana = '+15550001111';

class Twilio {
  constructor(url) { this.url = url; }

  async call(at, form) {
    const res = await fetch(this.url + at, {
      method: form ? 'POST' : 'GET',
      headers: { Authorization: `Basic ${Buffer.from(`${account}:${token}`).toString('base64')}` },
      body: form && new URLSearchParams(form),
    });
    assert.ok(res.ok, `${at}: ${res.status} ${await res.clone().text()}`);
    return res.json();
  }

  // say lets a person write, and report says what became of a message.
  say(text) { return this.call('/_twilio/simulate/inbound-message', { From: ana, To: ours, Body: text }); }
  report(sid, status) { return this.call('/_twilio/simulate/message-status', { MessageSid: sid, Status: status }); }

  // sent are the bot's messages, oldest first.
  async sent() {
    const { messages } = await this.call(`/2010-04-01/Accounts/${account}/Messages.json?PageSize=100`);
    return messages.filter((m) => m.from === ours).reverse();
  }

  said(n) { return until(`message ${n}`, async () => (await this.sent())[n - 1]); }
}

async function bakery(t) {
  const emulator = await createEmulator({
    service: 'twilio', port: await freePort(),
    seed: { twilio: { account: { sid: account, auth_token: token }, phone_numbers: [{ phone_number: ours }] } },
  });
  t.after(() => emulator.close());
  const port = await freePort();
  const file = (name) => readFile(path.join(root, 'configs/bakery', name), 'utf8');
  const dir = await folder(t, {
    'parley.yaml': `
server: {public_url: "http://127.0.0.1:${port}"}
model: {provider: script, script: model.yaml}
tools: {scripts: [tools.ts]}
channels:
  sms: {kind: twilio, account_sid: ${account}, auth_token: ${token}, from: "${ours}", api_url: "http://127.0.0.1:${new URL(emulator.url).port}"}
`,
    'model.yaml': await file('model.yaml'),
    'tools.ts': await file('tools.ts'),
  });
  const bot = new Bot(t, dir, port, {});
  t.after(() => bot.close(process.env.PARLEY_E2E_LOG));
  await bot.start();
  const set = await run(['webhooks', 'register', 'sms'], { dir, env: { PARLEY_SERVER_LISTEN: `127.0.0.1:${port}` } });
  assert.equal(set.code, 0, set.stderr + set.stdout);
  return { bot, dir, twilio: new Twilio(`http://127.0.0.1:${new URL(emulator.url).port}`) };
}

test('an order by SMS, confirmed in words', async (t) => {
  const { bot, twilio } = await bakery(t);
  await twilio.say("I'd like 2 croissants, please — ¿sí? 🥐 & +1%20");
  const question = await twilio.said(1);
  assert.match(question.body, /2 × /);
  assert.match(question.body, /\(yes\/no\)$/);
  await twilio.report(question.sid, 'delivered');
  await until('the question is known to have left', async () => /parley_outbox_pending 0\b/.test(await (await fetch(`${bot.url}/metrics`)).text()));
  await twilio.say('yes');
  const done = await twilio.said(2);
  assert.doesNotMatch(done.body, /\(yes\/no\)/);
  const metrics = await (await fetch(`${bot.url}/metrics`)).text();
  assert.match(metrics, /parley_tool_calls_total\{outcome="ok",tool="place_order"\} 1\b/);
  assert.match(metrics, /parley_delivery_reports_total\{channel="sms",state="delivered"\} 1\b/);
  assert.doesNotMatch(metrics, /parley_webhook_rejected_total\{channel="sms",reason="unauthorized"\} [1-9]/);
});

test('a message that failed later is told by the outbox', async (t) => {
  const { bot, dir, twilio } = await bakery(t);
  await twilio.say('hello');
  const greeting = await twilio.said(1);
  await twilio.report(greeting.sid, 'undelivered');
  await until('the log tells', () => bot.log.includes('not delivered'));
  const dead = await run(['outbox', '--dead', '--json'], { dir });
  assert.equal(dead.code, 0, dead.stderr);
  assert.match(dead.stdout, /undelivered/);
});

test('what Twilio has not signed is refused', async (t) => {
  const { bot, twilio } = await bakery(t);
  const form = new URLSearchParams({ MessageSid: 'SM1', From: ana, To: ours, Body: 'hello' });
  for (const headers of [{}, { 'X-Twilio-Signature': 'AAAA' }, { 'X-Twilio-Signature': '%' }]) {
    const res = await fetch(`${bot.url}/webhooks/sms`, { method: 'POST', headers, body: form });
    assert.equal(res.status, 401);
    assert.equal(await res.text(), '');
  }
  assert.equal((await twilio.sent()).length, 0);
});
