// The schemas for security scans (docs/api/security.md), and how a stored result is presented.
import { z } from 'zod';
import {
  answer,
  body,
  count,
  described,
  distinct,
  list,
  oneOf,
  optional,
  query,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import { severities } from './finding.ts';
import { findingTypes } from './groups.ts';
import { headerFlags } from './headers/item.ts';

export const languages = ['en', 'ja', 'de', 'es', 'fr', 'pt'] as const;
export type Language = (typeof languages)[number];

export const scanStatuses = ['up_to_date', 'out_of_date', 'none', 'pending', 'scanning', 'scan_failed'] as const;
export type ScanStatus = (typeof scanStatuses)[number];

/** The fields that all findings share. Only their examples differ. */
const finding = (example: { rule_id: string; title: string; description: string; recommendation: string }) => ({
  fingerprint: described(z.string(), 'Identifies the finding across scans.', '5f0c1d6f2b7e4b7a'),
  rule_id: described(z.string(), 'The id of the rule.', example.rule_id),
  severity: described(z.enum(severities), 'The severity of the finding.'),
  title: described(z.string(), 'The title of the finding.', example.title),
  description: described(z.string(), 'Why the finding matters.', example.description),
  recommendation: described(z.string(), 'How to fix the problem.', example.recommendation),
});

const rulesByOperation = z.record(z.string(), z.unknown());

const RlsRecommendation = answer('RlsRecommendation', {
  ...finding({
    rule_id: 'open_row_rules',
    title: 'Order can be read by anyone',
    description: 'Anyone can read records.',
    recommendation: 'Use the recommended rules.',
  }),
  entity_name: described(z.string(), 'The entity whose rules are too open.', 'Order'),
  open_operations: described(z.array(z.string()), 'The operations that are open to others.', ['read']),
  current_rules: described(rulesByOperation, 'The current rules of the open operations.', { read: true }),
  recommended_rules: described(rulesByOperation, 'Rules that close the open operations.', {
    read: { created_by: '{{user.email}}' },
  }),
  proof: described(
    answer('RlsProof', {
      principal: described(
        z.enum(['anonymous', 'any_user']),
        'Who can send the request: everyone (`anonymous`) or every user of the app (`any_user`).',
      ),
      operation: described(z.string(), 'The operation that the request performs.', 'read'),
      reachable_records: described(count, 'How many records the request reaches.', 120),
      sample_fields: described(z.array(z.string()), 'Names of fields of these records, never their values.', [
        'email',
        'total',
      ]),
    }),
    'A request that succeeds today.',
  ),
});

const HardcodedSecret = answer('HardcodedSecret', {
  ...finding({
    rule_id: 'secrets/stripe',
    title: 'A Stripe key is in a file',
    description: 'Browsers receive the file.',
    recommendation: 'Revoke the key.',
  }),
  file_path: described(z.string(), 'The file that contains the secret.', 'src/pay.ts'),
  line: described(count, 'The line of the secret, from 1.', 12),
  secret_type: described(z.string(), 'The kind of secret.', 'stripe'),
  masked_value: described(z.string(), 'The first four characters of the secret.', 'sk_l…'),
  reachable_from_browser: described(z.boolean(), 'Whether visitors of the app can read the secret.'),
});

const BackendFunction = answer('BackendFunction', {
  ...finding({
    rule_id: 'functions/no_caller_check',
    title: 'The function does not check who calls it',
    description: 'Anyone can call it.',
    recommendation: 'Check the caller first.',
  }),
  file_path: described(z.string(), 'The file that contains the function.', 'functions/refund.ts'),
  line: described(count, 'The line of the problem, from 1.', 12),
  function_name: described(z.string(), 'The name of the function.', 'refund'),
  issue: described(
    z.enum(['no_caller_check', 'unverified_webhook', 'open_cors', 'unsafe_redirect', 'secret_in_response']),
    'What is wrong with the function.',
  ),
});

const DependencyVulnerability = answer('DependencyVulnerability', {
  ...finding({
    rule_id: 'dependencies/known-vulnerability',
    title: 'lodash has a known vulnerability',
    description: 'Command injection.',
    recommendation: 'Update to 4.17.21.',
  }),
  package_name: described(z.string(), 'The name of the package.', 'lodash'),
  installed_version: described(z.string(), 'The installed version, or several separated by commas.', '4.17.20'),
  vulnerable_range: described(z.string(), 'The vulnerable versions.', '>=0.0.0 <4.17.21'),
  fixed_version: described(
    z.string().nullable(),
    'The version that fixes the vulnerability; null if there is none.',
    '4.17.21',
  ),
  advisory_id: described(z.string(), 'The id of the advisory.', 'GHSA-35jh-r3h4-6jhm'),
  aliases: described(z.array(z.string()), 'Other ids of the advisory.', ['CVE-2021-23337']),
  direct: described(z.boolean(), 'Whether the app itself depends on the package; if not, another package does.'),
  file_path: described(z.string(), 'The path of the lockfile.', 'package-lock.json'),
});

const StaticCodeFinding = answer('StaticCodeFinding', {
  ...finding({
    rule_id: 'static/injection',
    title: 'A query is built from input',
    description: 'A parameter reaches a query.',
    recommendation: 'Use a placeholder.',
  }),
  file_path: described(z.string(), 'The file that contains the code.', 'functions/search.ts'),
  line_start: described(count, 'The first line of the code, from 1.', 12),
  line_end: described(count, 'The last line of the code.', 14),
  category: described(z.string(), 'The kind of problem.', 'injection'),
  confidence: described(z.enum(['high', 'medium', 'low']), 'How certain the scanner is of the finding.'),
  snippet: described(z.string(), 'The code, with secrets masked.', "sql.unsafe('select ' + id)"),
  verdict: described(
    z.enum(['confirmed', 'likely', 'unverified']),
    'How well the flow of data to the code was verified.',
  ),
});

const HeaderRecommendation = answer('HeaderRecommendation', {
  flag: described(z.enum(headerFlags), 'The name of the header in the security settings.'),
  header_name: described(z.string(), 'The name of the HTTP header.', 'Content-Security-Policy'),
  severity: described(z.enum(severities), 'The severity of the problem.'),
  title: described(z.string(), 'The title of the recommendation.', 'No Content-Security-Policy'),
  description: described(z.string(), 'Why the header matters.', 'Injected scripts can run.'),
  current_value: described(
    z.string().nullable(),
    'The value that the app sends; null if it sends none.',
    'default-src *',
  ),
  recommended_value: described(z.string(), 'The value that the app should send.', "default-src 'self'"),
});
export type HeaderRecommendation = z.input<typeof HeaderRecommendation>;

const integrationValues = ['compatible', 'needs_changes', 'not_used', 'unknown'] as const;

const ScanResult = answer('ScanResult', {
  analysis_summary: described(
    z.string(),
    'A summary of the result in one to three sentences.',
    'The scan found 3 problems.',
  ),
  rls_recommendations: described(z.array(RlsRecommendation), 'Entities whose rules are too open.'),
  hardcoded_secrets: described(z.array(HardcodedSecret), 'Secrets in the files of the app.'),
  backend_functions: described(z.array(BackendFunction), 'Backend functions that others could misuse.'),
  dependency_vulnerabilities: described(z.array(DependencyVulnerability), 'Packages with known vulnerabilities.'),
  static_code_findings: described(z.array(StaticCodeFinding), 'Problems in the code of the app.'),
  header_recommendations: described(z.array(HeaderRecommendation), 'Headers that the published app should send.'),
  core_integration_recommendation: described(
    z.enum(integrationValues),
    'Whether the use of built-in integrations is safe; `needs_changes` if anonymous visitors can reach one.',
  ),
  scanned_at: described(timestamp, 'When the scan ended.', '2026-11-16T09:30:00.000Z'),
});
export type ScanResult = z.input<typeof ScanResult>;

export const SecurityScan = answer('SecurityScan', {
  status: described(z.enum(scanStatuses), 'The status of the scan. Read it before `result`.'),
  result: described(ScanResult.nullable(), 'The result of the last finished scan, or null.'),
  static_code_enabled: described(z.boolean(), 'Whether a security scan reads the code for `static_code_findings`.'),
  ignored_fingerprints: described(z.array(z.string()), 'The fingerprints of ignored findings.', ['5f0c1d6f2b7e4b7a']),
});
export type SecurityScan = z.input<typeof SecurityScan>;

export const ScanQuery = query({
  language: described(optional(oneOf(...languages)), 'The language of the summary; English by default.'),
});

export const fingerprintText = text(1, 128);

export const IgnoredFinding = body({
  fingerprint: described(fingerprintText, 'The `fingerprint` of a finding.', '5f0c1d6f2b7e4b7a'),
  finding_type: described(optional(oneOf(...findingTypes)), 'The type of the finding.'),
  file_path: described(optional(text(0, 1_024)), 'The file of the finding, as a note for people.', 'src/pay.ts'),
  title: described(
    optional(text(0, 500)),
    'The title of the finding, as a note for people.',
    'A Stripe key is in the code',
  ),
  reason: described(optional(text(0, 500)), 'Why the finding is ignored.', 'A test environment key.'),
});
export type IgnoredFinding = z.output<typeof IgnoredFinding>;

export const Marked = answer('MarkedFinding', { status: described(z.literal('ok'), 'Always `ok`.') });

export const RulesToFix = body({
  entity_names: described(
    distinct(list(text(1, 200), 1, 100), (name) => name),
    'The names of the entities whose rules are to be replaced.',
    ['Order'],
  ),
});

export const FixedRules = answer('FixedRules', {
  applied: described(
    z.array(
      answer('AppliedRules', {
        entity_name: described(z.string(), 'The name of the entity.', 'Order'),
        operations: described(z.array(z.string()), 'The operations that have the recommended rules now.', ['read']),
      }),
    ),
    'The entities that have the recommended rules now.',
  ),
  failed: described(
    z.array(
      answer('FailedFix', {
        entity_name: described(z.string(), 'The name of the entity.', 'Invoice'),
        reason: described(
          z.enum(['no_recommendation', 'write_failed', 'schema_changed']),
          'Why the rules were not replaced; `schema_changed` if they have changed since the scan.',
        ),
      }),
    ),
    'The entities whose rules were not replaced.',
  ),
});
export type FixedRules = z.input<typeof FixedRules>;
