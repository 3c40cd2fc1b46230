// Builds of the product with a planted fault: copies of the source in which results reach a different caller.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Passages in server/src/kit/db/lookups.ts, and their replacements. */
export const plantedBuilds: Readonly<Record<string, readonly (readonly [text: string, planted: string])[]>> = {
  'answers shifted by one': [
    ['(findRow(rows, index) as Row).found', '(findRow(rows, (index + 1) % lookups.length) as Row).found'],
  ],
  'a batch used again for the next': [
    ['const arrived = new Map', 'let previous: readonly Row[] | undefined;\n  const arrived = new Map'],
    ['const rows = await countParsing', 'const fresh = await countParsing'],
    [
      'if (rows !== undefined && parsingMs > 0)',
      'const rows = previous?.length === fresh?.length ? previous : fresh;\n      previous = fresh;\n      if (rows !== undefined && parsingMs > 0)',
    ],
  ],
};

/** Creates the build and returns its folder. */
export function plantFault(name: string): { readonly checkout: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-planted-'));
  for (const part of ['package.json', 'server', 'harness'])
    cpSync(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.endsWith('node_modules') && !path.endsWith('.test.ts'),
    });
  for (const modules of ['node_modules', 'server/node_modules'])
    symlinkSync(join(root, modules), join(folder, modules), 'dir');
  const file = join(folder, 'server/src/kit/db/lookups.ts');
  let source = readFileSync(file, 'utf8');
  for (const [text, planted] of plantedBuilds[name] ?? []) {
    if (!source.includes(text)) throw new Error(`the fault "${name}" can't be planted: there is no "${text}"`);
    source = source.replace(text, planted);
  }
  writeFileSync(file, source);
  return {
    checkout: folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
