// Runs all guides that have no test of their own as a reader would: every command in bash, against the processes that
// `npm run dev` starts. Each guide gets a shell in which only the variables are set that `npm run dev` prints.
import { describe, it } from 'vitest';
import { readSteps } from '../support/guide.ts';
import { otherGuides, readGuide } from '../support/guides.ts';
import { startDevelopment } from './dev.ts';

/** Until a scan has ended, or the demo has loaded the places of the world, on a busy machine. */
const patienceMs = 180_000;
const { newGuide } = await startDevelopment();

describe.each(otherGuides)('docs/guides/%s', (name) => {
  const guide = newGuide();

  it.each(readSteps(readGuide(name)))('line $line: the command prints what the guide says', (step) =>
    guide.run(step, patienceMs),
  );
});
