// A bot with MCP servers, whose model is played by aimock: what it is sent is in
// its journal.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';
import { folder, run, serve } from './bot.js';

const modules = fileURLToPath(new URL('../node_modules/@modelcontextprotocol', import.meta.url));

// program is the command of a server that others wrote.
export const program = (name, ...args) => ['node', path.join(modules, name, 'dist/index.js'), ...args];

const config = (port, mcp) => JSON.stringify({
  model: { provider: 'openai', name: 'gpt-5-mini', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'key-of-the-model', timeout: '5s' },
  loop: { tool_timeout: '15s' },
  channels: { web: { kind: 'webchat' } },
  mcp,
});

// tooled pins the cards of the servers as they are, and starts a bot with them.
// servers may be a function of the bot's folder, which has a folder named shared.
export async function tooled(t, servers, answers) {
  const model = new LLMock({ port: 0, host: '127.0.0.1', strict: true });
  for (const [match, response] of answers) model.on(match, response);
  await model.start();
  // Not waited for: it ends with the last connection, and the bot, which may
  // keep one that it hasn't used yet, is closed after it.
  t.after(() => { model.stop(); });
  const dir = await folder(t);
  await mkdir(path.join(dir, 'shared'));
  await writeFile(path.join(dir, 'parley.yaml'), config(model.port, { servers: typeof servers === 'function' ? servers(dir) : servers }));
  const pinned = await run(['mcp', 'pin'], { dir });
  assert.equal(pinned.code, 0, pinned.stderr);
  const bot = await serve(t, { dir });
  return { bot, model, dir, pinned };
}

// call is a model's wish.
export const call = (name, args, id = 'call_1') => ({ toolCalls: [{ id, name, arguments: args }] });
