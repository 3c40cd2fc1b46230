// The platform files on app hosts, below /_plinth/: the runtime client, and what it needs to know: the
// app's id, the API's URL, and how people can sign in and sign up.
import { readFileSync } from 'node:fs';
import type { PlatformApp, PlatformFiles } from '../serve/serve.ts';

export function createPlatformFiles(apiUrl: string): PlatformFiles {
  const client = readFileSync(new URL('./client.browser.js', import.meta.url));
  const describeApp = ({ id, signIn }: PlatformApp) => Buffer.from(toModule({ id, api: apiUrl, ...signIn }));
  return new Map([
    ['client.js', () => client],
    ['app.js', describeApp],
  ]);
}

/** The script that runs first on every page of a preview. */
export const readPreviewScript = (): Buffer => readFileSync(new URL('./preview.browser.js', import.meta.url));

const toModule = (app: object): string => `export const app = Object.freeze(${JSON.stringify(app)});\n`;
