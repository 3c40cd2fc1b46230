// Tests what all guides have in common: a test runs their commands, the variables that these use, and the index that
// lists them.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readBlocks } from './support/guide.ts';
import { guideNames as names, ownTests, readGuide as readPage } from './support/guides.ts';

const index = readPage('README.md');

/** The variables that `npm run dev` prints. */
const shared = ['PLINTH', 'TOKEN', 'APP', 'AUTH', 'JSON', 'RECEIVER', 'INBOX', 'GIT_TOKEN'];

/** Blocks that no test runs as they stand. All other blocks of commands are marked as `bash`, and a test runs them. */
const notRun = [
  { page: 'first-hour.md', begins: 'npm ci\n', why: 'The test starts `npm run dev` itself.' },
  { page: 'console.md', begins: 'npm ci\n', why: 'The test starts `npm run dev` itself.' },
  { page: '../../README.md', begins: 'npm ci\n', why: 'The test starts `npm run dev` itself.' },
  { page: 'README.md', begins: 'export PLINTH=https', why: "It names the reader's own installation." },
  {
    page: 'building-apps-by-chat.md',
    begins: 'curl -s $PLINTH/api/apps/$APP/chat/full-conversation',
    why: "The sandbox's model never proposes a rule that would be held.",
  },
  {
    page: 'receiving-webhooks.md',
    begins: 'WEBHOOK_SECRET=',
    why: 'It runs until stopped: receivers.test.ts runs it.',
  },
];

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
    ({ language, text }) =>
      /^(?:(?:ba)?sh|console)$/.test(language) ||
      (language === '' && /^(?:curl|export|node|npm|python3|sed) /m.test(text)),
  );

const listUnrun = (page: string, markdown: string): string[] =>
  listCommands(markdown)
    .filter(({ language }) => language !== 'bash' && language !== 'console')
    .map(({ text }) => text)
    .filter((text) => !notRun.some((block) => block.page === page && text.startsWith(block.begins)));

describe('every command', () => {
  it.each([...names, 'README.md', '../../README.md'])('is run by a test, or says why not: %s', (name) =>
    expect(listUnrun(name, readPage(name))).toEqual([]),
  );

  it.each(Object.entries(ownTests))('of %s is run by %s', (name, test) => {
    const source = readFileSync(new URL(test, import.meta.url), 'utf8');
    expect(source).toContain(`docs/guides/${name}`);
    expect(source).toContain('readSteps(');
  });

  it.each(notRun)('that is not run exists: $begins of $page', ({ page, begins }) =>
    expect(listCommands(readPage(page)).filter(({ text }) => text.startsWith(begins))).toHaveLength(1),
  );

  it('that is not marked as bash is found', () => {
    for (const fence of ['```sh\nls\n```\n', '```\ncurl -s x\n```\n', '```\npython3 x\n```\n'])
      expect(listUnrun('first-hour.md', fence)).toHaveLength(1);
  });
});

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
