// Tests that rules and queries say the same in the process and as SQL on PostgreSQL (contract §5.7, "two engines").
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareQueries, compareRules, openStage, type Stage } from '../../../../test/support/rule-agreement.ts';
import { serverUrl } from '../../../../test/support/template.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage(serverUrl, 1);
});
afterAll(() => stage.close());

describe('in the process and as SQL', () => {
  it('60,000 rules say the same, and say everything often', { timeout: 60_000 }, async () => {
    const { cases, verdicts, disagreements } = await compareRules(stage, 2, 60_000);
    expect(disagreements.slice(0, 3)).toEqual([]);
    expect(cases).toBeGreaterThanOrEqual(60_000);
    for (const verdict of [verdicts.true, verdicts.false, verdicts.unknown]) {
      expect(verdict / cases, JSON.stringify(verdicts)).toBeGreaterThan(0.1);
    }
  });

  it('20,000 queries over fields with rules say the same', { timeout: 60_000 }, async () => {
    const { cases, verdicts, disagreements } = await compareQueries(stage, 3, 20_000);
    expect(disagreements.slice(0, 3)).toEqual([]);
    expect(cases).toBeGreaterThanOrEqual(20_000);
    expect(Math.min(verdicts.true, verdicts.false) / cases, JSON.stringify(verdicts)).toBeGreaterThan(0.1);
  });
});
