// An MCP server on standard input and output that misbehaves when it is asked to.
// It is written without the SDK, which wouldn't let it. Its card of quick is in
// the file that its first argument names.

import { readFileSync, watchFile } from 'node:fs';
import { createInterface } from 'node:readline';

const [described] = process.argv.slice(2);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const schema = { type: 'object', properties: {}, additionalProperties: false };
const text = (s) => ({ content: [{ type: 'text', text: s }] });

const tools = {
  quick: (id) => send({ id, result: text(`pid ${process.pid}`) }),
  die: () => process.kill(process.pid, 'SIGKILL'),
  hang: () => {},
  huge: (id) => send({ id, result: text('x'.repeat(50 * 1024 * 1024)) }),
  flood: () => {
    const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })}\n`.repeat(500);
    const more = () => { while (process.stdout.write(line)); process.stdout.once('drain', more); };
    more();
  },
};
const cards = () => Object.keys(tools).map((name) => ({
  name, inputSchema: schema, description: name === 'quick' ? readFileSync(described, 'utf8') : `Does ${name}.`,
}));

watchFile(described, { interval: 50 }, () => send({ method: 'notifications/tools/list_changed' }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') {
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'naughty', version: '1' } } });
  } else if (method === 'tools/list') {
    send({ id, result: { tools: cards() } });
  } else if (method === 'tools/call') {
    tools[params.name](id);
  } else {
    send({ id, error: { code: -32601, message: 'no such method' } });
  }
}).on('close', () => process.exit(0));
