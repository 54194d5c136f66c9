// A configuration that is wrong is refused with exit code 2 and a message that
// leads to the place: file, line, column, and what to write instead.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folder, run } from '../harness/bot.js';

// config has what every configuration needs, from line 3 on what the test is about.
const config = (rest) => `model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n${rest}`;
const fine = { 'model.yaml': '- say: Hello\n', 'tools.ts': 'export const tools = {}\n' };

const cases = {
  'an unknown key, with the nearest one': {
    yaml: 'server:\n  lisen: 127.0.0.1:0\n', want: /parley\.yaml:4:3: unknown key "lisen" in server; did you mean "listen"\?/,
  },
  'an unknown section': { yaml: 'confrim: {}\n', want: /parley\.yaml:3:1: unknown key "confrim"; did you mean "confirm"\?/ },
  'a key twice': { yaml: 'bot: {name: A}\nbot: {name: B}\n', want: /parley\.yaml:4:1: duplicate key "bot"/ },
  'a wrong type': { yaml: 'loop: {max_steps: five}\n', want: /parley\.yaml:3:19: loop\.max_steps: "five" is not a whole number/ },
  'a variable that is not set': {
    yaml: 'server:\n  admin_token: ${PARLEY_E2E_NOT_SET}\n', want: /parley\.yaml:4:16: .*PARLEY_E2E_NOT_SET/,
  },
  'a secret file that is not there': { yaml: 'server: {admin_token_file: token.txt}\n', want: /parley\.yaml:3:\d+: .*token\.txt/ },
  'a script that is not there': { yaml: 'tools: {scripts: [nowhere.ts]}\n', want: /parley\.yaml:3:19: .*nowhere\.ts/ },
  'a script that is no TypeScript': {
    yaml: 'tools: {scripts: [tools.ts]}\n', want: /tools\.ts:3:\d+: /,
    files: { 'tools.ts': "import { defineTool } from 'parley'\nexport const tools = {\n  order: defineTool({ title: 'Order' description: 'x' }),\n}\n" },
  },
  'a script that fails when it is loaded': {
    yaml: 'tools: {scripts: [tools.ts]}\n', want: /tools\.ts:2:\d+/, files: { 'tools.ts': 'const a = 1\nthrow new Error("no such bakery")\nexport const tools = {}\n' },
  },
  'a model script with a broken rule': { yaml: '', want: /model\.yaml:2:\d+: /, files: { 'model.yaml': '- say: Hello\n- when: {txet: hi}\n  say: Hi\n' } },
  'no YAML': { yaml: 'bot: {name: [\n', want: /parley\.yaml:\d+:\d+: not valid YAML/ },
};

for (const [name, { yaml, want, files }] of Object.entries(cases)) {
  test(name, async (t) => {
    const dir = await folder(t, { ...fine, ...files, 'parley.yaml': config(yaml) });
    for (const command of ['serve', 'check']) {
      const got = await run([command], { dir });
      assert.equal(got.code, 2, `${command}: ${got.stdout}${got.stderr}`);
      assert.match(got.stderr, want, command);
      assert.doesNotMatch(got.stderr, /goroutine|panic/, command);
    }
  });
}

test('all mistakes are told at once', async (t) => {
  const dir = await folder(t, { ...fine, 'parley.yaml': config('server: {lisen: x}\nloop: {max_steps: five}\nlimits: {workers: 0}\n') });
  const got = await run(['check'], { dir });
  assert.equal(got.code, 2);
  for (const place of [':3:10: ', ':4:19: ', ':5:19: ']) assert.ok(got.stderr.includes(place), got.stderr);
});

test('mistakes in scripts, rules and tools are told with the rest', async (t) => {
  const dir = await folder(t, {
    ...fine, 'tools.ts': 'export const tools = {\n  menu: { description \'x\' },\n}\n', 'model.yaml': 'rules:\n  - when: {txet: hi}\n    say: Hi\n',
    'parley.yaml': config('limits: {workers: 0}\nfetch: {allow: [h.example]}\ntools:\n  scripts: [tools.ts]\n  pay:\n    description: Pays.\n' +
      '    http:\n      url: https://h.example\n      auth:\n        basic: {user: "a:b", password: x}\n'),
  });
  const got = await run(['check'], { dir });
  assert.equal(got.code, 2);
  for (const want of [/parley\.yaml:3:19: limits\.workers/, /parley\.yaml:12:17: tool pay: auth: basic/, /tools\.ts:2:23: /, /model\.yaml:2:12: /]) assert.match(got.stderr, want);
});

test('wrong use is told in plain words', async (t) => {
  const dir = await folder(t, { ...fine, 'parley.yaml': config('') });
  for (const [args, want] of [
    [['completion', 'nosh'], /there are bash, fish, powershell, zsh/],
    [['audit', '--limit', 'abc'], /--limit: expected a whole number such as 100, not "abc"/],
    [['health', '--timeout', '5'], /--timeout: expected a duration such as 500ms, 3s or 2m, not "5"/],
  ]) {
    const got = await run(args, { dir });
    assert.equal(got.code, 2, args.join(' '));
    assert.match(got.stderr, want);
    assert.doesNotMatch(got.stderr, /strconv|time:/);
  }
});

test('a fine configuration passes; wrong use does not', async (t) => {
  const dir = await folder(t, { ...fine, 'parley.yaml': config('') });
  assert.equal((await run(['check'], { dir })).code, 0);
  assert.equal((await run(['check', '-c', 'elsewhere.yaml'], { dir })).code, 2);
  assert.equal((await run(['serve', '--no-such-flag'], { dir })).code, 2);
  assert.equal((await run(['dance'], { dir })).code, 2);
});

test('a secret never shows', async (t) => {
  const canary = 'canary-5f2a91';
  const dir = await folder(t, { ...fine, 'parley.yaml': config('server: {admin_token: "${TOKEN}", lisen: x}\n') });
  for (const args of [['check'], ['serve', '--log-level', 'debug']]) {
    const got = await run(args, { dir, env: { TOKEN: canary } });
    assert.equal(got.code, 2);
    assert.ok(!`${got.stdout}${got.stderr}`.includes(canary));
  }
});

test('the demo serves loopback only', async (t) => {
  const got = await run(['serve', '--listen', '0.0.0.0:0'], { dir: await folder(t) });
  assert.equal(got.code, 2, got.stderr);
  assert.match(got.stderr, /loopback/);
});
