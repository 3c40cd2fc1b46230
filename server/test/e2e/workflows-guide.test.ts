// Runs docs/guides/workflows.md as a reader would: every command in bash, against the processes that `npm run dev`
// starts.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { readSteps } from '../support/guide.ts';
import { repository, startDevelopment } from './dev.ts';

const text = await readFile(join(repository, 'docs/guides/workflows.md'), 'utf8');
const { guide } = await startDevelopment();

describe('docs/guides/workflows.md', () => {
  it.each(readSteps(text))('line $line: the command prints what the guide says', (step) => guide.run(step));
});
