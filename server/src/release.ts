// The facts about this release: its version, its migrations folder, its locations file, the folder of the built
// console and the files for containers.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const version = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));

export const consoleFolder = fileURLToPath(new URL('../../console/dist', import.meta.url));

export const placesFile = fileURLToPath(new URL('../locations/places.tsv.gz', import.meta.url));

export const composeFiles: readonly string[] = ['compose/compose.yaml', 'proxy/Caddyfile'].map((name) =>
  fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url)),
);
