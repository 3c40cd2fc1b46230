// The demo repository: a price calculator with tests, two of which fail because of a bug. It depends only on Node.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('files', import.meta.url));

export const demoRepositoryName = 'bakery/price-calculator';

/** The file contents by path. */
export const demoFiles: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`)
    .map((file) => [file.slice(folder.length + 1), readFileSync(file, 'utf8')]),
);
