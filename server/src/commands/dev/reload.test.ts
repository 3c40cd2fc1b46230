// Tests which files affect the running processes. server/test/e2e/reload.test.ts tests the effects themselves.
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { effectOf } from './reload.ts';

it.each([
  ['server/src/features/apps/app.ts', 'reload'],
  ['server/src/features/builder/pages/page.browser.js', 'reload'],
  ['server/src/features/apps/apps.test.ts', undefined],
  ['server/src/features/apps/.app.ts.swp', undefined],
  ['server/src/features/apps/app.ts~', undefined],
  ['server/src/features/apps/4913', undefined],
  ['server/src/commands/dev.ts', 'say that dev changed'],
  ['server/src/commands/dev/watch.ts', 'say that dev changed'],
  ['server/src/commands/demo/demo.ts', 'reload'],
  ['server/migrations/0001_access.sql', 'say that migrations changed'],
  ['sandbox/src/model.ts', 'restart sandbox'],
  ['sandbox/src/main.test.ts', undefined],
])('%s: %s', (path, effect) => {
  expect(effectOf(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)))).toBe(effect);
});
