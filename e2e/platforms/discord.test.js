// The fake Discord under clients that nobody of this project wrote
// (discord.js, and discord-interactions for signatures), and the program
// itself on it.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';
import { verifyKey } from 'discord-interactions';
import { ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, Events, GatewayIntentBits, MessageFlags, Partials } from 'discord.js';
import { Bot, folder, freePort, root, run } from '../harness/bot.js';
import { discord } from '../harness/discord.js';
import { until } from '../harness/until.js';

const ana = '4200000000000000042';

// client is a discord.js bot that is at home on the fake.
async function client(fake, handle) {
  const bot = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent],
    partials: [Partials.Channel], rest: { api: fake.api },
  });
  fake.leave.push(() => bot.destroy());
  handle(bot);
  const ready = new Promise((resolve) => { bot.once(Events.ClientReady, resolve); });
  await bot.login(fake.token);
  await ready;
  return bot;
}

test('discord.js takes the fake for Discord', async (t) => {
  const fake = await discord(t);
  const heard = [];
  const bot = await client(fake, (b) => {
    b.on(Events.MessageCreate, async (m) => {
      if (m.author.bot) return;
      heard.push(m.content);
      const row = new ActionRowBuilder().addComponents(new ButtonBuilder().setCustomId('yes').setLabel('Yes').setStyle(ButtonStyle.Primary));
      await m.channel.sendTyping();
      await m.reply({ content: `you said ${m.content}`, components: [row], nonce: m.id, enforceNonce: true });
    });
    b.on(Events.InteractionCreate, async (i) => {
      if (!i.isButton()) return;
      await i.deferUpdate();
      await i.followUp({ content: 'only you see this', flags: MessageFlags.Ephemeral });
      await i.message.edit({ content: 'done', components: [] });
    });
  });
  assert.equal(bot.guilds.cache.get(fake.guild).name, 'Bakery');

  await fake.ask({ do: 'say', user: ana, channel: fake.channel, text: 'hello' });
  const [answer] = await until('an answer', async () => { const all = await fake.ask({ do: 'messages', channel: fake.channel }); return all.length === 1 && all; });
  assert.equal(answer.Content, 'you said hello');
  const dm = await fake.ask({ do: 'dm', user: ana });
  await fake.ask({ do: 'say', user: ana, channel: dm, text: 'in private' });
  await until('an answer in private', async () => (await fake.ask({ do: 'messages', channel: dm })).length === 1);

  await fake.ask({ do: 'press', user: ana, channel: fake.channel, message: answer.ID, button: answer.Buttons[0].ID });
  await until('the notice', async () => (await fake.ask({ do: 'notices', user: ana }))?.[0] === 'only you see this');
  await until('the edit', async () => (await fake.ask({ do: 'messages', channel: fake.channel }))[0].Content === 'done');

  // A connection that is cut is resumed, and what was said meanwhile comes.
  await fake.ask({ do: 'reset' });
  await fake.ask({ do: 'say', user: ana, channel: fake.channel, text: 'meanwhile' });
  await until('the resume', () => heard.includes('meanwhile'));
  assert.equal(await fake.ask({ do: 'identified' }), 1);

  await assert.rejects(bot.channels.cache.get(fake.channel).send('é'.repeat(2001)), /2000 or fewer/);
  assert.deepEqual(await fake.ask({ do: 'violations' }), null);
});

test('what the fake signs, discord-interactions verifies', async (t) => {
  const fake = await discord(t);
  const seen = [];
  const server = http.createServer(async (req, res) => {
    const chunks = [];
    for await (const c of req) chunks.push(c);
    const raw = Buffer.concat(chunks);
    const [sig, at] = [req.headers['x-signature-ed25519'], req.headers['x-signature-timestamp']];
    seen.push({ good: await verifyKey(raw, sig, at, fake.publicKey), tampered: await verifyKey(Buffer.concat([raw, Buffer.from(' ')]), sig, at, fake.publicKey) });
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ type: 6 }));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => { server.closeAllConnections(); server.close(); });
  await fake.ask({ do: 'endpoint', url: `http://127.0.0.1:${server.address().port}/` });
  const id = await fake.ask({ do: 'press', user: ana, channel: fake.channel, message: '1', button: 'yes' });
  await until('the answer', async () => (await fake.ask({ do: 'answered', id })).kind === 6);
  assert.deepEqual(seen, [{ good: true, tampered: false }]);
});

async function bakery(t, fake, more) {
  const port = await freePort();
  const file = (name) => readFile(path.join(root, 'configs/bakery', name), 'utf8');
  const dir = await folder(t, {
    'parley.yaml': `
server: {public_url: "http://127.0.0.1:${port}"}
model: {provider: script, script: model.yaml}
tools: {scripts: [tools.ts]}
channels:
  discord: {token: "${fake.token}", api_url: "${fake.api}", public_key: ${fake.publicKey}${more}}
`,
    'model.yaml': await file('model.yaml'),
    'tools.ts': await file('tools.ts'),
  });
  const bot = new Bot(t, dir, port, {});
  fake.leave.push(() => bot.close(process.env.PARLEY_E2E_LOG));
  await bot.start();
  return { bot, dir, port };
}

// said waits for the n-th message of the bot.
function said(fake, channel, n) {
  return until(`message ${n}`, async () => (await fake.ask({ do: 'messages', channel }))?.[n - 1]);
}

test('an order in a server, confirmed by a button after a restart', async (t) => {
  const fake = await discord(t);
  const { bot, dir } = await bakery(t, fake, '');
  await until('the gateway', async () => (await fake.ask({ do: 'connected' })) === 1);
  const check = await run(['check', '--live'], { dir });
  assert.match(check.stdout, /channel discord: ok, parley \(id/);
  await fake.ask({ do: 'say', user: ana, channel: fake.channel, text: 'nobody is asked' });
  await fake.ask({ do: 'say', user: ana, channel: fake.channel, text: `<@${fake.bot}> I'd like 2 croissants, please` });
  const question = await said(fake, fake.channel, 1);
  assert.match(question.Content, /2 × /);
  assert.deepEqual(question.Buttons.map((b) => b.Label), ['Yes', 'No']);
  await bot.stop();
  await bot.start();
  await fake.ask({ do: 'press', user: '999999999999999999', channel: fake.channel, message: question.ID, button: question.Buttons[0].ID });
  await until('the notice', async () => (await fake.ask({ do: 'notices', user: '999999999999999999' }))?.length === 1);
  await fake.ask({ do: 'press', user: ana, channel: fake.channel, message: question.ID, button: question.Buttons[0].ID });
  await said(fake, fake.channel, 2);
  await until('the buttons are gone', async () => {
    const [q] = await fake.ask({ do: 'messages', channel: fake.channel });
    return !q.Buttons?.length && q.Content.endsWith('→ Yes');
  });
  assert.equal(await fake.ask({ do: 'identified' }), 1, 'the session was resumed over the restart');
  assert.match(await (await fetch(`${bot.url}/metrics`)).text(), /parley_tool_calls_total\{outcome="ok",tool="place_order"\} 1\b/);
  assert.equal(await fake.ask({ do: 'violations' }), null);
});

test('an order by commands, where Discord calls the bot', async (t) => {
  const fake = await discord(t);
  const { bot, dir, port } = await bakery(t, fake, ', mode: interactions');
  const env = { PARLEY_SERVER_LISTEN: `127.0.0.1:${port}` };
  const set = await run(['webhooks', 'register', 'discord'], { dir, env });
  assert.equal(set.code, 0, set.stderr + set.stdout);
  const dm = await fake.ask({ do: 'dm', user: ana });
  await fake.ask({ do: 'command', user: ana, channel: dm, text: 'ask', options: ['text', 'two coffees, please'] });
  const question = await said(fake, dm, 1);
  await fake.ask({ do: 'press', user: ana, channel: dm, message: question.ID, button: question.Buttons[0].ID });
  await said(fake, dm, 2);
  await fake.ask({ do: 'command', user: ana, channel: dm, text: 'lang', options: ['language', 'es'] });
  assert.match((await said(fake, dm, 3)).Content, /español/);
  const res = await fetch(`${bot.url}/webhooks/discord`, { method: 'POST', body: '{"type":1}', headers: { 'X-Signature-Ed25519': 'aa', 'X-Signature-Timestamp': '1' } });
  assert.equal(res.status, 401);
  assert.equal(await fake.ask({ do: 'violations' }), null);
});
