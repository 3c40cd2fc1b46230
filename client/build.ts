// `npm run build`: writes client/sdk/dist, which is what is published. Nothing in this repository reads it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}client/sdk/dist`;

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript-7/bin/tsc`, '-p', `${root}client/sdk`], {
  stdio: 'inherit',
});
copyFileSync(`${root}client/sdk/src/generated/describe.json`, `${dist}/generated/describe.json`);
