// Owns the files of the platform on the hosts of apps, below /_plinth/: the runtime client, and what it must know of the app.
import { readFileSync } from 'node:fs';
import type { PlatformFiles } from '../serve/serve.ts';

export function createPlatformFiles(apiUrl: string): PlatformFiles {
  const client = readFileSync(new URL('./client.browser.js', import.meta.url));
  const describeApp = ({ id }: { readonly id: string }) => Buffer.from(toModule({ id, api: apiUrl }));
  return new Map([
    ['client.js', () => client],
    ['app.js', describeApp],
  ]);
}

const toModule = (app: object): string => `export const app = Object.freeze(${JSON.stringify(app)});\n`;
