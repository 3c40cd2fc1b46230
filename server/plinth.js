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
const [name, ...args] = process.argv.slice(2);
// Supervisors run it every few seconds, and everything else takes half a second to load.
if (name === 'health' && !args.includes('--help') && !args.includes('-h'))
  await import('./src/commands/health.ts').then(({ health }) => health(args));
else await import('./src/main.ts');
