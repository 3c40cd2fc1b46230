// Tests the SARIF log against the schema published by OASIS.
import { readFileSync } from 'node:fs';
import Draft04 from 'ajv-draft-04';
import { describe, expect, it } from 'vitest';
import type { StoredFinding } from './groups.ts';
import { type PresentedResult, presentResult } from './result.ts';
import { renderSarif } from './sarif.ts';
import type { ReadResult } from './store.ts';

const schemaFile = new URL('../../../test/support/sarif/sarif-2.1.0.json', import.meta.url);
const Ajv = (Draft04 as unknown as { default: typeof import('ajv-draft-04').default }).default ?? Draft04;
const validate = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(
  JSON.parse(readFileSync(schemaFile, 'utf8')),
);
const check = (log: unknown) => {
  validate(JSON.parse(JSON.stringify(log)));
  return validate.errors ?? [];
};

const common = {
  rule_id: 'r',
  severity: 'critical',
  title: 'A title',
  description: 'It is so.',
  recommendation: 'Do this.',
  secondary: null,
} as const;
const finding = (fingerprint: string, more: object): StoredFinding => ({ ...common, fingerprint, ...more });
const ran = { value: 'ran' };
const row = {
  language: 'en',
  scanned_at: new Date('2026-11-16T09:00:00Z'),
  coverage: { rls: ran, secrets: ran, functions: ran, dependencies: ran, static: ran, headers: ran },
  rls: [finding('f1', { rule_id: 'rls', entity_name: 'Order' })],
  secrets: [finding('f2', { file_path: 'src/a b#%.ts', line: 3, severity: 'low' })],
  functions: [finding('f3', { file_path: 'functions/ü.ts', line: 0 })],
  dependencies: [finding('f4', { file_path: 'package-lock.json' })],
  static_code: [finding('f5', { file_path: 'src/x.ts', line_start: 4, line_end: 9, severity: 'medium' })],
  headers: [
    {
      flag: 'csp',
      header_name: 'Content-Security-Policy',
      severity: 'medium',
      title: 'No policy',
      description: 'There is none.',
      current_value: null,
      recommended_value: "default-src 'self'",
    },
  ],
  truncated_groups: [],
  dismissed_headers: [],
  integrations: 'unknown',
} as unknown as ReadResult;

const present = (): PresentedResult => presentResult(row, { isStaticOn: true, hasDependencies: true });
const scan = { status: 'up_to_date', result: null, static_code_enabled: true, ignored_fingerprints: ['f2'] } as const;
const render = (presented: PresentedResult | undefined) =>
  renderSarif(presented, { ...scan, ignored_fingerprints: ['f2'] }, 1);

describe('the SARIF log', () => {
  it('is valid with findings of all groups', () => {
    const log = render(present());
    expect(check(log)).toEqual([]);
    const results = log.runs[0]?.results ?? [];
    expect(results.map(({ level }) => level)).toEqual(['error', 'note', 'error', 'error', 'warning', 'warning']);
    expect(results[1]).toMatchObject({
      partialFingerprints: { 'plinth/v1': 'f2' },
      suppressions: [{ kind: 'external' }],
      locations: [{ physicalLocation: { artifactLocation: { uri: 'src/a%20b%23%25.ts' }, region: { startLine: 3 } } }],
    });
    expect(results[0]?.suppressions).toEqual([]);
  });

  it('has no results if there was no scan', () => {
    const log = render(undefined);
    expect(check(log)).toEqual([]);
    expect(log.runs[0]).not.toHaveProperty('results');
  });

  it('is refused by the schema with faults', () => {
    const [run] = render(present()).runs;
    const [first] = run?.results ?? [];
    for (const fault of [{ level: 'critical' }, { unknown: 1 }, { message: {} }])
      expect(check({ version: '2.1.0', runs: [{ ...run, results: [{ ...first, ...fault }] }] })).not.toEqual([]);
  });
});
