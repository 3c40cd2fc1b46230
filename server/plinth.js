// The start of the command line: checks the version of Node, then runs src/main.ts. Plain JavaScript, so a Node
// that is too old for the rest can still say so.
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const required = engines.node.replace('>=', '');
const [major, minor] = process.versions.node.split('.').map(Number);
const [requiredMajor, requiredMinor] = required.split('.').map(Number);
if (major < requiredMajor || (major === requiredMajor && minor < requiredMinor)) {
  console.error(
    `Plinth needs Node ${required} or newer. This is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer Node, or start Plinth with the path of one: /path/to/node server/plinth.js COMMAND',
  );
  process.exit(1);
}
await import('./src/main.ts');
