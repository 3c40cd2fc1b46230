// Tests with random cases that rules and queries give the same results in the process and in PostgreSQL.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AgreementDatabase,
  compareQueries,
  compareRules,
  openAgreementDatabase,
} from '../../../../test/support/rule-agreement.ts';
import { serverUrl } from '../../../../test/support/template.ts';

let database: AgreementDatabase;

beforeAll(async () => {
  database = await openAgreementDatabase(serverUrl, 1);
});
afterAll(() => database.close());

describe('evaluation in the process and in SQL', () => {
  it('agrees on 60,000 rules, with each verdict in at least a tenth of the cases', async () => {
    const { cases, expected, verdicts, disagreements } = await compareRules(database, 2, 60_000);
    expect(disagreements.slice(0, 3)).toEqual([]);
    expect(cases).toBeGreaterThanOrEqual(60_000);
    expect(expected, 'true, false and missing rules').toBeGreaterThan(1_000);
    for (const verdict of [verdicts.true, verdicts.false, verdicts.unknown]) {
      expect(verdict / cases, JSON.stringify(verdicts)).toBeGreaterThan(0.1);
    }
  });

  it('agrees on 20,000 queries over fields with rules', async () => {
    const { cases, verdicts, disagreements } = await compareQueries(database, 3, 20_000);
    expect(disagreements.slice(0, 3)).toEqual([]);
    expect(cases).toBeGreaterThanOrEqual(20_000);
    expect(Math.min(verdicts.true, verdicts.false) / cases, JSON.stringify(verdicts)).toBeGreaterThan(0.1);
  });
});
