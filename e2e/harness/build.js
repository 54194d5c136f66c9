// Builds the program that the tests run, as it is released, unless PARLEY_BIN
// names another one.

import { execFileSync } from 'node:child_process';
import { root } from './bot.js';

if (!process.env.PARLEY_BIN) execFileSync('make', ['--no-print-directory', 'build'], { cwd: root, stdio: 'inherit' });
