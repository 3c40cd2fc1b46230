// Presents a scan result as SARIF 2.1.0, for tools that show scanner findings.
import type { SecurityScan } from './contract.ts';
import { renderCoverage } from './coverage.ts';
import type { Severity } from './finding.ts';
import { findingGroups, type StoredFinding, typeOfGroup } from './groups.ts';
import type { PresentedResult } from './result.ts';

export const sarifType = 'application/sarif+json';

const levels: Readonly<Record<Severity, 'error' | 'warning' | 'note'>> = {
  critical: 'error',
  high: 'error',
  medium: 'warning',
  low: 'note',
};

interface SarifRule {
  readonly id: string;
  readonly shortDescription: { readonly text: string };
  readonly help: { readonly text: string };
}

/** If there is no result, the log has no `results`, which means that nothing was scanned. */
export function renderSarif(
  presented: PresentedResult | undefined,
  { status, ignored_fingerprints }: SecurityScan,
  scannerVersion: number,
) {
  const ignored = new Set(ignored_fingerprints);
  const findings = presented === undefined ? [] : listFindings(presented);
  const rules = [...new Map(findings.map(({ finding }) => [finding.rule_id, toRule(finding)])).values()];
  const ruleIndex = new Map(rules.map(({ id }, index) => [id, index]));
  const results = findings.map(({ finding, type }) => ({
    ruleId: finding.rule_id,
    ruleIndex: ruleIndex.get(finding.rule_id) ?? -1,
    level: levels[finding.severity],
    message: { text: `${finding.title}. ${finding.description} ${finding.recommendation}`.trim() },
    locations: [toLocation(finding)],
    ...(finding.fingerprint !== '' && { partialFingerprints: { 'plinth/v1': finding.fingerprint } }),
    suppressions: ignored.has(finding.fingerprint) ? [{ kind: 'external' }] : [],
    properties: { severity: finding.severity, finding_type: type },
  }));
  return {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'Plinth', version: String(scannerVersion), rules } },
        columnKind: 'utf16CodeUnits',
        properties: { status, ...(presented && { coverage: renderCoverage(presented.coverage) }) },
        ...(presented && { results }),
      },
    ],
  };
}

interface SarifFinding {
  readonly finding: StoredFinding;
  readonly type: string;
}

/** Lists all findings, including header recommendations, which have no fingerprint. */
const listFindings = ({ groups, result }: PresentedResult): SarifFinding[] => [
  ...findingGroups.flatMap((group) => groups[group].map((finding) => ({ finding, type: typeOfGroup[group] }))),
  ...result.header_recommendations.map(({ flag, header_name, severity, title, description, recommended_value }) => ({
    type: 'header',
    finding: {
      fingerprint: '',
      secondary: null,
      rule_id: `header.${flag}`,
      severity,
      title,
      description,
      recommendation: `Send \`${header_name}: ${recommended_value}\`.`,
      header_name,
    },
  })),
];

const toRule = ({ rule_id, title, recommendation }: StoredFinding): SarifRule => ({
  id: rule_id,
  shortDescription: { text: title },
  help: { text: recommendation },
});

/** The location is a file with line numbers, or the name of an entity or a header. */
function toLocation(finding: StoredFinding) {
  const { file_path, line, line_start, line_end, entity_name, header_name } = finding;
  if (typeof file_path !== 'string')
    return entity_name === undefined
      ? { logicalLocations: [{ name: String(header_name), kind: 'header' }] }
      : { logicalLocations: [{ name: String(entity_name), kind: 'type' }] };
  const startLine = [line, line_start].find((value) => typeof value === 'number' && value >= 1);
  const endLine = typeof line_end === 'number' && line_end >= Number(startLine) ? line_end : undefined;
  return {
    physicalLocation: {
      artifactLocation: { uri: file_path.split('/').map(encodeURIComponent).join('/') },
      ...(startLine !== undefined && { region: { startLine, ...(endLine !== undefined && { endLine }) } }),
    },
  };
}
