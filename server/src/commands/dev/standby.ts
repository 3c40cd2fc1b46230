// The API process that `plinth dev` starts in advance. It loads the packages, which rarely change and take longer
// to load than our own code. When it receives a message, it runs the command line. Before that, it must not import any
// of our own files, because it would load the code from before the change.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const message = once(process, 'message');
const { dependencies } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  dependencies: Record<string, string>;
};
// Packages that can't be imported by name, such as fonts, are skipped.
for (const name of Object.keys(dependencies)) await import(name).catch(() => undefined);
await message;
process.argv.splice(1, 1); // leaves the command line: plinth.js api
await import('../../main.ts');
