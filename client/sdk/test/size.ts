// Measures the client as a page would load it: bundled, without comments, and compressed.
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const input = fileURLToPath(new URL('../src/index.ts', import.meta.url));

async function measure(external: RegExp[]): Promise<number> {
  const bundle = await rolldown({ input, external });
  const { output } = await bundle.generate({ minify: true });
  await bundle.close();
  const [{ code }] = output;
  if (!code.includes('outcomeUnknown')) throw new Error('the bundle does not contain the client');
  return gzipSync(code).length;
}

export const measureSize = async (): Promise<{ readonly withTable: number; readonly withoutTable: number }> => ({
  withTable: await measure([]),
  withoutTable: await measure([/generated\/table/]),
});
