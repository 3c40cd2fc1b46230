// Other tests run at the same time and slow the starts, so processor times are compared. `bench client` compares how long
// starts take.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { measureStart } from './start.ts';

it('the packed plinthctl prints its version with at most 40 ms more processor time than a bare Node', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'));
  const { node, version } = await measureStart(folder, 9);
  await rm(folder, { recursive: true });
  expect(node.cpuMs).toBeGreaterThan(5);
  expect(version.cpuMs - node.cpuMs).toBeLessThan(40);
});
