// The program under test: a process of its own, in a folder of its own, on a
// free port.

import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './until.js';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const binary = process.env.PARLEY_BIN ?? path.join(root, 'bin/parley');

// folder makes a temporary folder with files: {name: content}.
export async function folder(t, files = {}) {
  const dir = await mkdtemp(path.join(tmpdir(), 'parley-e2e-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(dir, name)), { recursive: true });
    await writeFile(path.join(dir, name), content);
  }
  return dir;
}

// freePort finds one below the ports that the system hands to outgoing
// connections, so that it is still free after a restart.
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const free = await new Promise((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

// environment has nothing of the caller's that could change the program.
function environment(dir, env) {
  return { PATH: process.env.PATH, HOME: dir, TMPDIR: tmpdir(), ...env };
}

// A process with what it wrote. wrapper is a command that runs another one, and
// program is the file to run instead of the usual one.
function start(args, { dir, env = {}, input, wrapper = [], program = binary }) {
  const [command, ...rest] = [...wrapper, program, ...args];
  const child = spawn(command, rest, {
    cwd: dir, env: environment(dir, env), stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const p = { child, stdout: '', stderr: '', code: null, signal: null };
  child.stdout.setEncoding('utf8').on('data', (s) => { p.stdout += s; });
  child.stderr.setEncoding('utf8').on('data', (s) => { p.stderr += s; });
  p.ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => { Object.assign(p, { code, signal }); resolve(p); });
  });
  p.ended.catch(() => {}); // reported by whoever waits
  if (input !== undefined) {
    child.stdin.on('error', () => {}); // it may end before it has read all
    child.stdin.end(input);
  }
  return p;
}

// run runs one command to its end: {code, signal, stdout, stderr}.
export async function run(args, { timeout = 30_000, ...options }) {
  const p = start(args, options);
  const timer = setTimeout(() => p.child.kill('SIGKILL'), timeout);
  try {
    return await p.ended;
  } finally {
    clearTimeout(timer);
  }
}

export class Bot {
  #t; #options; #process = null; #log = '';

  constructor(t, dir, port, options) {
    this.#t = t;
    this.dir = dir;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.#options = options;
  }

  get log() { return this.#log + (this.#process?.stderr ?? ''); }
  get pid() { return this.#process.child.pid; }

  // start runs it, again after it ended, and returns when it is ready.
  async start() {
    const { args = ['serve'], env = {}, wrapper } = this.#options;
    this.#log = this.log;
    this.#process = start(args, { dir: this.dir, wrapper, env: { PARLEY_SERVER_LISTEN: `127.0.0.1:${this.port}`, ...env } });
    await until('the bot is ready', async () => {
      if (this.ended) throw new Error(`it ended: ${JSON.stringify({ code: this.#process.code, log: this.log })}`);
      return (await fetch(`${this.url}/readyz`)).ok;
    }, { timeout: 30_000 });
    return this;
  }

  get ended() { return this.#process.code !== null || this.#process.signal !== null; }

  // kill ends it as a crash does.
  async kill() {
    this.#process.child.kill('SIGKILL');
    await this.#process.ended;
  }

  // stop ends it in order and returns its exit code.
  async stop() {
    this.#process.child.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.child.kill('SIGKILL'), 30_000);
    const { code } = await this.#process.ended;
    clearTimeout(timer);
    return code;
  }

  // close is for the end of a test. verbose shows what the bot logged.
  async close(verbose) {
    if (this.#process && !this.ended) await this.kill();
    if (verbose) this.#t.diagnostic(`log of ${this.url}:\n${this.log.slice(-6000)}`);
  }
}

// serve starts a bot: the demo bakery, unless files has a parley.yaml. dir is a
// folder to use instead of a new one.
export async function serve(t, { files, dir, ...options } = {}) {
  let bot;
  t.after(() => bot?.close(process.env.PARLEY_E2E_LOG)); // before its folder goes
  bot = new Bot(t, dir ?? await folder(t, files), await freePort(), options);
  return bot.start();
}
