// A model API of others' making (aimock speaks those of OpenAI, Anthropic,
// Gemini and Ollama), and the bakery on it. What it answers is set by each test; what it was sent is in its journal.

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { root, serve } from './bot.js';

const key = 'key-of-the-model-4f1c';

// The folder's scripts are the demo's, its configuration has another model.
const config = (port, providers) => `
bot: {name: La Espiga, lang: en, persona: "You are the assistant of La Espiga, a small bakery."}
model: ${JSON.stringify({ ...member(port, providers[0]), fallback: providers.slice(1).map((p) => member(port, p)) })}
tools: {scripts: [tools.ts]}
channels: {web: {kind: webchat}}
`;

// names are the models, each of which is asked for by its provider's API.
export const names = { openai: 'gpt-5-mini', anthropic: 'claude-sonnet-4-5', gemini: 'gemini-2.5-flash', ollama: 'qwen3' };

const member = (port, provider) => ({
  provider, name: names[provider], base_url: `http://127.0.0.1:${port}${provider === 'openai' ? '/v1' : ''}`,
  api_key: '${MODEL_KEY}', timeout: '5s', max_tokens: 300,
});

// modelled starts both and returns {bot, model}. providers are the model and
// its fallbacks.
export async function modelled(t, answers, providers = ['openai']) {
  const model = new LLMock({ port: 0, host: '127.0.0.1', strict: true, auth: { apiKeys: [key] } });
  for (const [match, response, options] of answers) model.on(match, response, options);
  await model.start();
  // Not waited for: it ends with the last connection, and the bot, which may
  // keep one that it hasn't used yet, is closed after it.
  t.after(() => { model.stop(); });
  const bot = await serve(t, {
    files: {
      'parley.yaml': config(model.port, providers),
      'tools.ts': await readFile(path.join(root, 'configs/bakery/tools.ts'), 'utf8'),
    },
    env: { MODEL_KEY: key },
  });
  return { bot, model };
}

// sent are the bodies of the requests that the model got, oldest first.
export const sent = (model) => model.journal.getAll().map((e) => e.body);
export const statuses = (model) => model.journal.getAll().map((e) => e.response.status);

// result is what the model was told of its last call.
export function result(body) {
  const last = body.messages.at(-1);
  return last.role === 'tool' ? JSON.parse(last.content) : null;
}

// system is the system prompt as one text.
export const system = (body) => body.messages.filter((m) => m.role === 'system').map((m) => m.content).join('\n');
