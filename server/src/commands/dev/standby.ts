// Owns the wait of an API process that `plinth dev` has started ahead: it loads the packages, which rarely change and take longer to
// load than our own code, and runs the command line when it receives a message. It must not import any of our own files before:
// they would be those from before the change.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const message = once(process, 'message');
const { dependencies } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  dependencies: Record<string, string>;
};
// A package that can't be imported by its name, such as one of fonts only, is skipped.
for (const name of Object.keys(dependencies)) await import(name).catch(() => undefined);
await message;
process.argv.splice(1, 1); // what follows is the command line: plinth.js api
await import('../../main.ts');
