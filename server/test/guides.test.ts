// Tests what all guides have in common: the variables that their commands use, and the index that lists them.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readBlocks } from './support/guide.ts';

const folder = new URL('../../docs/guides/', import.meta.url);
const readPage = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const names = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
const index = readPage('README.md');

/** The variables that `npm run dev` prints. The sandbox's are explained in the first hour. */
const shared = ['PLINTH', 'TOKEN', 'APP', 'AUTH', 'JSON', 'RECEIVER', 'INBOX', 'GIT_TOKEN'];

/** Lists the variables that commands use before they are set. */
function listUnset(markdown: string): string[] {
  const set = new Set(shared);
  const unset = new Set<string>();
  for (const { text } of listCommands(markdown))
    for (const { groups = {} } of text.matchAll(/\b(?<assigned>[A-Z_]{2,})=|\$\{?(?<used>[A-Z_]{2,})/g)) {
      if (groups.assigned !== undefined) set.add(groups.assigned);
      else if (groups.used !== undefined && !set.has(groups.used)) unset.add(groups.used);
    }
  return [...unset];
}

const listCommands = (markdown: string) =>
  readBlocks(markdown).filter(
    ({ language, text }) => /^(?:ba)?sh$/.test(language) || (language === '' && /^curl/m.test(text)),
  );

describe('every guide', () => {
  it.each(names)('is in the index: %s', (name) => expect(index).toContain(`](${name})`));

  it.each(names)('uses only variables that npm run dev prints, or that it sets: %s', (name) =>
    expect(listUnset(readPage(name))).toEqual([]),
  );

  it.each(names)('uses APP for the id of an app: %s', (name) =>
    expect(listCommands(readPage(name)).filter(({ text }) => /\bAPP=[^\s]*\//.test(text))).toEqual([]),
  );

  it.each(names)('names the installation by its variable, in commands: %s', (name) => {
    expect(listCommands(readPage(name)).filter(({ text }) => text.includes('plinth.example'))).toEqual([]);
  });
});

describe('the check of variables', () => {
  const block = (text: string) => `\`\`\`bash\n${text}\n\`\`\`\n`;

  it.each([
    ['a variable that nothing sets', block('curl $PLINTH/api/apps/$APP_ID'), ['APP_ID']],
    ['a variable that is set later', block('echo $HOOK') + block('export HOOK=1'), ['HOOK']],
    ['a variable that is set before', block('export HOOK=1') + block('echo $HOOK "$TOKEN"'), []],
  ])('finds %s', (_what, page, expected) => expect(listUnset(page)).toEqual(expected));
});
