// Decides which failed tests are rerun, because a busy machine should not fail a change. Only tests of whole
// installations, of background work and of features that wait for other systems are rerun. All other failures are
// final, especially in security tests and random cases, because a fault that appears in only half of the runs is still
// a fault.
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import type { Results } from './results.ts';
import { root } from './root.ts';

const maxRepeated = 3;

const repeatable = [
  'client/cli/test/{app,listen,work}.test.ts',
  'client/sdk/test/{guide,live,package,runtimes}.test.ts',
  'console/test/{guide,screens}.test.ts',
  'server/src/features/{ads,agents,browser-tests,builder}/**',
  'server/src/features/coding-sessions/turn/{limits,recovery,turn}.test.ts',
  'server/src/features/workflows/runs/**',
  'server/src/kit/background/**',
  'server/test/e2e/{ads-report,agents,backup,browser-session,browser-tests,builder,builder-page,building,coding-crashes}.test.ts',
  'server/test/e2e/{coding-guide,command-line,console-dev,doctor,doctor-model,events-guide,first-hour,generated-clients}.test.ts',
  'server/test/e2e/{guides,import,openapi-tasks,page-check,plinthctl-guide,processes,production,publish-crashes}.test.ts',
  'server/test/e2e/{reference,reload,scan-crashes,session-page,starter,tracking,webhooks,workflow-crashes,workflows-guide}.test.ts',
];
const drawsCases = /fast-check|support\/(cases|rule-agreement|rule-cases)\.ts/;

/** Returns the files to rerun. Empty if the failures are final. */
export function listRepeatable({ failed, failedFiles, hasOtherErrors }: Results): readonly string[] {
  const isFinal = hasOtherErrors || failed === 0 || failed > maxRepeated || !failedFiles.every(mayBeRepeated);
  return isFinal ? [] : failedFiles;
}

const mayBeRepeated = (file: string): boolean =>
  repeatable.some((glob) => matchesGlob(file, glob)) && !drawsCases.test(readFileSync(join(root, file), 'utf8'));
