// Tests docs/guides/rules-by-example.md, the guide to rules by example. Its commands run and print the documented
// output.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Guide, readSteps } from './support/guide.ts';
import { startWorld } from './support/world.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const folder = mkdtempSync(join(tmpdir(), 'plinth-guide-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the guide', () => {
  const text = readFileSync(new URL('../../docs/guides/rules-by-example.md', import.meta.url), 'utf8');
  const steps = readSteps(text);
  const guide = new Guide(folder);
  guide.export('PLINTH', world.url);

  it('has ten examples, each with a question and its answer', async () => {
    guide.export('TOKEN', await world.token(owner, workspace));
    expect(text.match(/^## \d+\. .*\?$/gm)).toHaveLength(10);
    expect(steps.filter(({ command }) => command.includes('/rules/explain'))).toHaveLength(10);
  });

  it.each(steps.map((step) => [step.line, step] as const))(
    'line %i: the command prints what the guide says',
    (_line, step) => guide.run(step),
  );
});
