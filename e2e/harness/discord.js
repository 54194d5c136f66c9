// The fake Discord, as a process that is told what its people do.

import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { promisify } from 'node:util';
import { root } from './bot.js';

export async function discord(t) {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'parley-discord-'));
  const program = path.join(dir, 'fakediscord');
  await promisify(execFile)('go', ['build', '-o', program, './e2e/platforms/fakediscordtest'], { cwd: root });
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => { child.once('exit', resolve); });
  // Who is connected leaves first, or would try to come back.
  const leave = [];
  t.after(async () => {
    for (const fn of leave) await fn();
    child.stdin.end();
    await ended;
    await rm(dir, { recursive: true, force: true });
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  const where = await next();
  let turn = Promise.resolve();
  // One request after the other, each with its answer.
  const ask = (request) => {
    const answer = turn.then(async () => {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      return (await next()).result;
    });
    turn = answer.catch(() => {});
    return answer;
  };
  return { ...where, ask, leave };
}
