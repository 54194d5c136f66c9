// The protocol's own servers, which nobody of this project wrote, through the
// real program: asked about, run, and told to a model.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort, run } from '../harness/bot.js';
import { call, program, tooled } from '../harness/mcp.js';
import { sent } from '../harness/model.js';
import { until } from '../harness/until.js';
import { Visitor } from '../harness/visitor.js';

const yes = (question) => question.buttons.find((b) => b.value === 'yes').id;
const told = (model) => sent(model).at(-1).messages.at(-1).content;

const files = (dir) => ({
  files: { command: program('server-filesystem', path.join(dir, 'shared')), allow: { read_text_file: { confirm: false, effect: 'read' }, write_file: { title: 'Save a file' } } },
});

test('E4 a file is written after a Yes, and read without asking', async (t) => {
  const { bot, model, dir, pinned } = await tooled(t, files, []);
  assert.match(pinned.stdout, /parley\.mcp\.lock: written/);
  assert.match(pinned.stdout, /not allowed: mcp server files also has: .*edit_file/);
  const note = path.join(dir, 'shared', 'note.txt');
  model.on({ userMessage: 'write the note', hasToolResult: false }, call('files_write_file', { path: note, content: 'five croissants' }));
  model.on({ userMessage: 'write the note', hasToolResult: true }, { content: 'Written.' });
  model.on({ userMessage: 'what does it say', hasToolResult: false }, call('files_read_text_file', { path: note }));
  model.on({ userMessage: 'what does it say', hasToolResult: true }, { content: 'Five croissants.' });
  model.on({ userMessage: 'and elsewhere', hasToolResult: false }, call('files_read_text_file', { path: '/etc/hostname' }));
  model.on({ userMessage: 'and elsewhere', hasToolResult: true }, { content: 'I may not look there.' });

  const ana = await Visitor.join(bot);
  await ana.say('write the note');
  const question = await ana.asked();
  assert.equal(question.text, `About to: Save a file\n• Path: ${note}\n• Content: five croissants\nDo you confirm?`);
  await assert.rejects(readFile(note), { code: 'ENOENT' }, 'nothing is written before the answer');
  const names = sent(model)[0].tools.map((c) => c.function.name);
  assert.deepEqual(names.sort(), ['files_read_text_file', 'files_write_file'], 'what is allowed, and nothing else');
  assert.equal(await ana.press(yes(question)), 'accepted');
  await until('the answer', async () => (await ana.answers()).find((m) => m.text === 'Written.'));
  assert.equal(await readFile(note, 'utf8'), 'five croissants');

  await ana.say('what does it say');
  await until('the answer', async () => (await ana.answers()).find((m) => m.text === 'Five croissants.'));
  assert.match(told(model), /five croissants/);

  await ana.say('and elsewhere');
  await until('the answer', async () => (await ana.answers()).find((m) => m.text === 'I may not look there.'));
  assert.match(told(model), /"error":"tool_failed".*Access denied/);
});

const everything = { allow: { echo: { confirm: false }, 'get-structured-content': { confirm: false }, 'get-tiny-image': { confirm: false }, 'trigger-long-running-operation': { confirm: false, timeout: '500ms' } } };
const talk = [
  [{ userMessage: 'echo', hasToolResult: false }, call('every_echo', { message: 'hola 🙂' })],
  [{ userMessage: 'echo', hasToolResult: true }, { content: 'echoed' }],
  [{ userMessage: 'weather', hasToolResult: false }, call('every_get-structured-content', { location: 'Chicago' })],
  [{ userMessage: 'weather', hasToolResult: true }, { content: 'cold' }],
  [{ userMessage: 'picture', hasToolResult: false }, call('every_get-tiny-image', {})],
  [{ userMessage: 'picture', hasToolResult: true }, { content: 'tiny' }],
  [{ userMessage: 'take long', hasToolResult: false }, call('every_trigger-long-running-operation', { duration: 30, steps: 3 })],
  [{ userMessage: 'take long', hasToolResult: true }, { content: 'too long' }],
];

async function conversation(bot, model) {
  const ana = await Visitor.join(bot);
  const say = async (text, answer) => {
    await ana.say(text);
    await until(answer, async () => (await ana.answers()).at(-1)?.text === answer);
    return told(model);
  };
  assert.match(await say('echo', 'echoed'), /hola 🙂/);
  assert.deepEqual(Object.keys(JSON.parse(await say('weather', 'cold'))).sort(), ['conditions', 'humidity', 'temperature']);
  const picture = await say('picture', 'tiny');
  assert.match(picture, /\[image, image\/png, \d+ bytes\]/);
  assert.ok(picture.length < 500, 'no picture in the prompt');
  const long = JSON.parse(await say('take long', 'too long'));
  assert.equal(long.executed, 'unknown');
  assert.equal(long.error, 'timeout');
  assert.match(await say('echo', 'echoed'), /hola/, 'the session goes on');
}

test('A5 A7 everything, on standard input and output', async (t) => {
  const { bot, model } = await tooled(t, { every: { command: program('server-everything', 'stdio'), ...everything } }, talk);
  await conversation(bot, model);
});

test('A5 A7 everything, by streamable HTTP, also after it was started again', async (t) => {
  const port = await freePort();
  const [node, script, ...rest] = program('server-everything', 'streamableHttp');
  let child;
  const begin = async () => {
    child = spawn(node, ['--import', fileURLToPath(new URL('../harness/loopback.js', import.meta.url)), script, ...rest], { env: { ...process.env, PORT: port }, stdio: 'ignore' });
    await until('the server listens', async () => (await fetch(`http://127.0.0.1:${port}/mcp`)).status > 0);
  };
  t.after(() => child.kill('SIGKILL'));
  await begin();
  const { bot, model } = await tooled(t, { every: { url: `http://127.0.0.1:${port}/mcp`, ...everything } }, talk);
  await conversation(bot, model);
  const gone = new Promise((resolve) => { child.once('exit', resolve); });
  child.kill('SIGKILL');
  await gone;
  await begin();
  await conversation(bot, model);
});

test('E4 a card that isn\'t the pinned one: check, diff and the model say so', async (t) => {
  const { bot, model, dir } = await tooled(t, files, [[{ userMessage: 'hello' }, { content: 'Hello.' }]]);
  const lock = path.join(dir, 'parley.mcp.lock');
  const before = await readFile(lock, 'utf8');
  assert.equal((await run(['mcp', 'diff'], { dir })).code, 0);
  // The pins of a time when one of the tools wasn't allowed yet.
  await bot.stop();
  const { servers: { files: pins } } = JSON.parse(before);
  await writeFile(lock, JSON.stringify({ version: 1, servers: { files: { read_text_file: pins.read_text_file } } }));
  const check = await run(['check'], { dir });
  assert.equal(check.code, 0, check.stderr);
  assert.match(check.stdout, /quarantined: mcp server files: write_file was never pinned/);
  const diff = await run(['mcp', 'diff'], { dir });
  assert.equal(diff.code, 1);
  assert.match(diff.stdout, /^\+\+\+ server\/files\/write_file$/m);
  assert.equal((await run(['check', '--live'], { dir })).code, 1);
  await bot.start();
  const ana = await Visitor.join(bot);
  await ana.say('hello');
  await ana.hears(1);
  assert.deepEqual(sent(model).at(-1).tools.map((c) => c.function.name), ['files_read_text_file']);
  const again = await run(['mcp', 'pin'], { dir });
  assert.equal(again.code, 0, again.stderr);
  assert.equal(await readFile(lock, 'utf8'), before, 'the same cards are the same file');
});
