// Tests which of an app's files are read as code.
import { expect, it } from 'vitest';
import { collectCode } from './code-files.ts';

function collect(...paths: string[]) {
  const collection = collectCode(1_000);
  for (const path of paths) collection.add({ path, content: `// ${path}` });
  return collection.finish();
}

it('leaves out what is built, belongs to packages or runs only in tests', () => {
  const { texts, isComplete } = collect(
    'src/a.ts',
    'dist/a.js',
    'node_modules/x/a.js',
    'src/a.test.ts',
    'src/__tests__/a.ts',
    'a.css',
  );
  expect([...texts.keys()]).toEqual(['src/a.ts']);
  expect(isComplete).toBe(true);
});

it('reads the built code of functions that have no source', () => {
  const built = ['functions/build/index.js', 'functions/pay/dist/index.js', 'functions/dist/node_modules/x/a.js'];
  expect([...collect(...built).texts.keys()]).toEqual(['functions/build/index.js', 'functions/pay/dist/index.js']);
  const withSource = collect('functions/pay/index.ts', ...built);
  expect([...withSource.texts.keys()]).toEqual(['functions/pay/index.ts']);
  expect(withSource.hasBackend).toBe(true);
});

it('is incomplete if a file is too large, or all of them together', () => {
  const collection = collectCode(1_000);
  collection.add({ path: 'a.ts', content: 'x'.repeat(600) });
  expect(collection.finish().isComplete).toBe(true);
  collection.add({ path: 'b.ts', content: 'x'.repeat(600) });
  expect(collection.finish()).toMatchObject({ isComplete: false, hasCode: true });
  const long = collectCode(10_000_000);
  long.add({ path: 'functions/dist/a.js', content: 'x'.repeat(300_000) });
  expect(long.finish()).toMatchObject({ isComplete: false, hasBackend: true });
  long.add({ path: 'functions/a.ts', content: '' });
  expect(long.finish().isComplete).toBe(true);
});
