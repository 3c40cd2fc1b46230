// Tests that differences are read with the right numbers of lines.
import { expect, it } from 'vitest';
import { compareTexts, countLines, readDiff } from './diff.ts';

const diff = `--- a/public/app.js
+++ b/public/app.js
@@ -1,3 +1,3 @@
 import { entities } from './plinth.js';
-const due = null;
+const due = item.due;
 export {};
@@ -40,2 +40,3 @@
 const last = 1;
+const added = 2;
\\ No newline at end of file
`;

it('numbers lines before and after, and leaves out the heads', () => {
  expect(readDiff(diff)).toEqual([
    { kind: 'same', text: "import { entities } from './plinth.js';", before: 1, after: 1 },
    { kind: 'removed', text: 'const due = null;', before: 2 },
    { kind: 'added', text: 'const due = item.due;', after: 2 },
    { kind: 'same', text: 'export {};', before: 3, after: 3 },
    { kind: 'gap', text: 'Line 40' },
    { kind: 'same', text: 'const last = 1;', before: 40, after: 40 },
    { kind: 'added', text: 'const added = 2;', after: 41 },
  ]);
});

it('counts added and removed lines', () => expect(countLines(readDiff(diff))).toEqual({ added: 2, removed: 1 }));

it('finds the lines that differ between two texts', () => {
  expect(compareTexts('a\nb\nc', 'a\nx\nc\nd').map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'same a',
    'removed b',
    'added x',
    'same c',
    'added d',
  ]);
  expect(compareTexts('', 'a')).toEqual([{ kind: 'added', text: 'a', after: 1 }]);
});
