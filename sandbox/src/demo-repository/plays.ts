// Plays for the demo repository. One fixes the bug, one asks for a currency, one asks before it deletes a file, and one
// answers a question.

import type { ModelReply } from '../chat.ts';
import type { CodingPlay, Seen } from '../coding-play.ts';

const listFiles = { name: 'list_files', arguments: {} };
const read = (path: string) => ({ name: 'read_file', arguments: { path } });
const edit = (path: string, old_text: string, new_text: string) => ({
  name: 'edit_file',
  arguments: { path, old_text, new_text },
});
const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });
const runTests = { name: 'run_command', arguments: { command: 'node --test' } };

const say =
  (text: string, ...tool_calls: NonNullable<ModelReply['tool_calls']>): CodingPlay['steps'][number] =>
  () => ({ text, tool_calls });

/** Reads the counts from the last test run's output. */
function readTests({ results }: Seen): { passed: number; failed: number } | undefined {
  const printed = results.findLast((result) => /\b(?:pass|fail) \d+/.test(result));
  if (printed === undefined) return undefined;
  const count = (word: string) => Number(new RegExp(`\\b${word} (\\d+)`).exec(printed)?.[1] ?? 0);
  return { passed: count('pass'), failed: count('fail') };
}

function describeTests(seen: Seen): string {
  const tests = readTests(seen);
  if (tests === undefined) return 'The tests could not be run here.';
  if (tests.failed > 0) return `${tests.failed} of ${tests.passed + tests.failed} tests fail.`;
  return tests.passed === 1 ? 'The test passes.' : `All ${tests.passed} tests pass.`;
}

const mend: CodingPlay = {
  pattern: /\btests? .*\b(?:fail|pass)|\bfailing\b|\bdiscount/is,
  steps: [
    say('First I look at what is there.', listFiles),
    say('', read('README.md'), read('src/discount.js'), read('src/price.js'), read('test/price.test.js')),
    say('Now I run the tests, to see what fails.', runTests),
    (seen) =>
      readTests(seen)?.failed === 0
        ? { text: `${describeTests(seen)} There is nothing to change.` }
        : {
            text: 'The README says “10 or more”, but the code compares with `>`: exactly 10 and exactly 50 pieces get the discount of the step below.',
            tool_calls: [edit('src/discount.js', 'quantity > pieces', 'quantity >= pieces')],
          },
    say('I run the tests again.', runTests),
    (seen) => ({
      text: `Exactly 10 and exactly 50 pieces now get their discount, as the README says.\n\n- \`src/discount.js\`: the comparison was \`>\` and is now \`>=\`.\n\n${describeTests(seen)}`,
    }),
  ],
};

const symbols: Readonly<Record<string, string>> = { Euro: '€', 'Pound sterling': '£' };
const findSymbol = ({ results }: Seen): string =>
  Object.entries(symbols).find(([label]) => results.some((result) => result.includes(label)))?.[1] ?? '€';

const formatPrices: CodingPlay = {
  pattern: /\bcurrency|\bformat(?:ted)? prices|\bprint prices/i,
  steps: [
    say('First I look at what is there.', listFiles, read('src/price.js')),
    say('The repository does not say which currency the prices are in.', {
      name: 'ask_question',
      arguments: {
        questions: [
          {
            text: 'Which currency are the prices in?',
            options: [
              { label: 'Euro', description: 'Prices look like €3.90' },
              { label: 'Pound sterling', description: 'Prices look like £3.90' },
            ],
          },
        ],
      },
    }),
    (seen) => ({
      text: 'I add a function that prints prices, with a test.',
      tool_calls: [
        write('src/format.js', formatSource(findSymbol(seen))),
        write('test/format.test.js', formatTest(findSymbol(seen))),
      ],
    }),
    say('Now I run the tests.', { name: 'run_command', arguments: { command: 'node --test test/format.test.js' } }),
    (seen) => ({
      text: `\`formatPrice(390)\` is \`${findSymbol(seen)}3.90\`. It is in \`src/format.js\`, with a test.\n\n${describeTests(seen)}`,
    }),
  ],
};

const formatSource = (symbol: string): string =>
  `// How prices are printed.\n\nexport const formatPrice = (cents) => \`${symbol}\${(cents / 100).toFixed(2)}\`;\n`;
const formatTest = (symbol: string): string => `// What a price looks like.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPrice } from '../src/format.js';

test('a price has two decimals', () => {
  assert.equal(formatPrice(390), '${symbol}3.90');
});
`;

const deleteOldPrices: CodingPlay = {
  pattern: /\bold[- ]prices|\bunused\b|\bnothing uses|\bdead code/i,
  steps: [
    say('I look for what uses the old prices.', listFiles, { name: 'search', arguments: { text: 'oldPrices' } }),
    say('Nothing imports `src/old-prices.js`.', {
      name: 'ask_approval',
      arguments: {
        title: 'Delete src/old-prices.js',
        description: 'Only the file itself mentions oldPrices.',
        action: 'delete_files',
        details: 'src/old-prices.js',
      },
    }),
    ({ last }) =>
      last.some((result) => /\b(?:refused|declined|not approved|denied|"approve":\s*false)/i.test(result))
        ? { text: 'You refused, so nothing was deleted.' }
        : {
            text: 'I delete the file.',
            tool_calls: [{ name: 'delete_file', arguments: { path: 'src/old-prices.js' } }],
          },
    say('I run the tests, to see that nothing needed it.', runTests),
    (seen) => ({
      text: `\`src/old-prices.js\` is deleted: nothing used it.\n\n${describeTests(seen)}`,
    }),
  ],
};

const explain: CodingPlay = {
  pattern: /^(?:how|what|why|which)\b[^\n]*\?/im,
  steps: [
    say('I read how it is computed.', read('README.md'), read('src/discount.js'), read('src/price.js')),
    ({ results }) => ({
      text: `A line of an order is 5 % cheaper from 10 pieces of one item on, and 10 % from 50 on; cents are rounded once per line (\`src/price.js\`).${
        results.some((result) => result.includes('quantity > pieces')) ? ` ${theBug}` : ''
      } I changed nothing.`,
    }),
  ],
};

const theBug =
  'So the README says, but `src/discount.js` compares with `>`, so exactly 10 and exactly 50 pieces get the discount of the step below.';

export const codingPlays: readonly CodingPlay[] = [explain, formatPrices, deleteOldPrices, mend];
