// Owns the shapes of security scans (docs/api/security.md), and how a stored result is presented.
import { z } from 'zod';
import { answer, body, count, distinct, list, oneOf, optional, query, text, timestamp } from '../../kit/http/shapes.ts';
import { severities } from './finding.ts';
import { findingTypes } from './groups.ts';
import { headerFlags } from './headers/item.ts';

export const languages = ['en', 'ja', 'de', 'es', 'fr', 'pt'] as const;
export type Language = (typeof languages)[number];

export const scanStatuses = ['up_to_date', 'out_of_date', 'none', 'pending', 'scanning', 'scan_failed'] as const;
export type ScanStatus = (typeof scanStatuses)[number];

const finding = {
  fingerprint: z.string(),
  rule_id: z.string(),
  severity: z.enum(severities),
  title: z.string(),
  description: z.string(),
  recommendation: z.string(),
};

const rulesByOperation = z.record(z.string(), z.unknown());

const RlsRecommendation = answer('RlsRecommendation', {
  ...finding,
  entity_name: z.string(),
  open_operations: z.array(z.string()),
  current_rules: rulesByOperation,
  recommended_rules: rulesByOperation,
  proof: answer('RlsProof', {
    principal: z.enum(['anonymous', 'any_user']),
    operation: z.string(),
    reachable_records: count,
    sample_fields: z.array(z.string()),
  }),
});

const HardcodedSecret = answer('HardcodedSecret', {
  ...finding,
  file_path: z.string(),
  line: count,
  secret_type: z.string(),
  masked_value: z.string(),
  reachable_from_browser: z.boolean(),
});

const BackendFunction = answer('BackendFunction', {
  ...finding,
  file_path: z.string(),
  line: count,
  function_name: z.string(),
  issue: z.enum(['no_caller_check', 'unverified_webhook', 'open_cors', 'unsafe_redirect', 'secret_in_response']),
});

const DependencyVulnerability = answer('DependencyVulnerability', {
  ...finding,
  package_name: z.string(),
  installed_version: z.string(),
  vulnerable_range: z.string(),
  fixed_version: z.string().nullable(),
  advisory_id: z.string(),
  aliases: z.array(z.string()),
  direct: z.boolean(),
  file_path: z.string(),
});

const StaticCodeFinding = answer('StaticCodeFinding', {
  ...finding,
  file_path: z.string(),
  line_start: count,
  line_end: count,
  category: z.string(),
  confidence: z.enum(['high', 'medium', 'low']),
  snippet: z.string(),
  verdict: z.enum(['confirmed', 'likely', 'unverified']),
});

const HeaderRecommendation = answer('HeaderRecommendation', {
  flag: z.enum(headerFlags),
  header_name: z.string(),
  severity: z.enum(severities),
  title: z.string(),
  description: z.string(),
  current_value: z.string().nullable(),
  recommended_value: z.string(),
});
export type HeaderRecommendation = z.input<typeof HeaderRecommendation>;

const integrationValues = ['compatible', 'needs_changes', 'not_used', 'unknown'] as const;

const ScanResult = answer('ScanResult', {
  analysis_summary: z.string(),
  rls_recommendations: z.array(RlsRecommendation),
  hardcoded_secrets: z.array(HardcodedSecret),
  backend_functions: z.array(BackendFunction),
  dependency_vulnerabilities: z.array(DependencyVulnerability),
  static_code_findings: z.array(StaticCodeFinding),
  header_recommendations: z.array(HeaderRecommendation),
  core_integration_recommendation: z.enum(integrationValues),
  scanned_at: timestamp,
});
export type ScanResult = z.input<typeof ScanResult>;

export const SecurityScan = answer('SecurityScan', {
  status: z.enum(scanStatuses),
  result: ScanResult.nullable(),
  static_code_enabled: z.boolean(),
  ignored_fingerprints: z.array(z.string()),
});
export type SecurityScan = z.input<typeof SecurityScan>;

export const ScanQuery = query({ language: optional(oneOf(...languages)) });

export const fingerprintText = text(1, 128);

export const IgnoredFinding = body({
  fingerprint: fingerprintText,
  finding_type: optional(oneOf(...findingTypes)),
  file_path: optional(text(0, 1_024)),
  title: optional(text(0, 500)),
  reason: optional(text(0, 500)),
});
export type IgnoredFinding = z.output<typeof IgnoredFinding>;

export const Marked = answer('MarkedFinding', { status: z.literal('ok') });

export const RulesToFix = body({ entity_names: distinct(list(text(1, 200), 1, 100), (name) => name) });

export const FixedRules = answer('FixedRules', {
  applied: z.array(answer('AppliedRules', { entity_name: z.string(), operations: z.array(z.string()) })),
  failed: z.array(
    answer('FailedFix', {
      entity_name: z.string(),
      reason: z.enum(['no_recommendation', 'write_failed', 'schema_changed']),
    }),
  ),
});
export type FixedRules = z.input<typeof FixedRules>;
