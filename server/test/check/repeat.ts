// Owns which failed tests are run once more, because a busy machine must not refuse a change. Tests of security and of random
// cases never are: a fault that shows itself in one run of two is a fault.
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import type { Results } from './results.ts';
import { root } from './root.ts';

const maxRepeated = 3;

const neverRepeated = [
  'server/src/{core,kit}/**',
  'server/src/features/{accounts,app-users,security}/**',
  'server/src/features/entities/{explain,rules}/**',
  'server/src/gateways/{browser,command-sandbox}/**',
  'server/test/*',
  'server/test/check/**',
  'server/test/derived/**',
  'server/test/e2e/{hostile-repositories,page-check,published-apps,session-network}.test.ts',
];
const drawsCases = /fast-check|support\/(cases|rule-agreement|rule-cases)\.ts/;

/** The files to run once more; none if the failures stand. */
export function listRepeatable({ failed, failedFiles, hasOtherErrors }: Results): readonly string[] {
  const isFinal = hasOtherErrors || failed === 0 || failed > maxRepeated || !failedFiles.every(mayBeRepeated);
  return isFinal ? [] : failedFiles;
}

const mayBeRepeated = (file: string): boolean =>
  !neverRepeated.some((glob) => matchesGlob(file, glob)) && !drawsCases.test(readFileSync(join(root, file), 'utf8'));
