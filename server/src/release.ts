// The facts about this release: its version, its migrations folder and its locations file.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const version = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));

export const placesFile = fileURLToPath(new URL('../locations/places.tsv.gz', import.meta.url));
