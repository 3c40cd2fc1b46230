// Packs plinthctl into one folder: the start by itself, and each command in a file that is loaded when it is used.
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

export async function packCommandLine(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const bundle = await rolldown({
    input: fileURLToPath(new URL('src/main.ts', import.meta.url)),
    platform: 'node',
    // jq finds its WebAssembly beside its own code, so it stays a package.
    external: ['jq-wasm'],
  });
  await bundle.write({ dir: folder, format: 'esm', minify: true, chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
}
