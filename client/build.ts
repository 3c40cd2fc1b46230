// `npm run build`: writes client/sdk/dist and client/cli/dist, which are what is published. Nothing in this repository
// reads them.
import { fileURLToPath } from 'node:url';
import { packCommandLine } from './cli/pack.ts';
import { packClient } from './sdk/pack.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

await packClient(`${here}sdk`);
await packCommandLine(`${here}cli/dist`);
