// The guides, and the tests that run them.
import { readdirSync, readFileSync } from 'node:fs';
import { readSteps } from './guide.ts';

const folder = new URL('../../../docs/guides/', import.meta.url);

export const readGuide = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
export const guideNames = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');

/** Tests that run one guide, with more checks than its commands. `e2e/guides.test.ts` runs all other guides. */
export const ownTests: Readonly<Record<string, string>> = {
  'building-apps-by-chat.md': 'e2e/first-hour.test.ts',
  'coding-sessions.md': 'e2e/coding-guide.test.ts',
  'first-hour.md': 'e2e/first-hour.test.ts',
  'plinthctl.md': 'e2e/plinthctl-guide.test.ts',
  'retries.md': 'retries.test.ts',
  'rules-by-example.md': 'rules-guide.test.ts',
  'seeing-what-people-do.md': 'e2e/events-guide.test.ts',
  'workflows.md': 'e2e/workflows-guide.test.ts',
};

export const otherGuides = guideNames.filter((name) => !(name in ownTests) && readSteps(readGuide(name)).length > 0);
