// The demo repository: a price calculator with tests, of which two fail because of a bug. It needs nothing but Node.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('files', import.meta.url));

export const demoRepositoryName = 'bakery/price-calculator';

/** The contents of its files by their paths. */
export const demoFiles: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`)
    .map((file) => [file.slice(folder.length + 1), readFileSync(file, 'utf8')]),
);
