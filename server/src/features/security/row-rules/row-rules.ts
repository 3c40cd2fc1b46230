// The scan group `rls`: access that explicit rules open to people unrelated to the records
// (docs/internals/row-rule-findings.md).
import canonicalize from 'canonicalize';
import type { AppReach } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';
import type { Finding, GroupResult, Severity } from '../finding.ts';
import type { RowRulesItem } from './item.ts';

/** An open operation, with the rule that opens it and a rule that closes it. */
interface OpenOperation {
  readonly operation: 'create' | 'read' | 'update' | 'delete';
  readonly principal: 'anonymous' | 'any_user';
  readonly current: unknown;
  readonly recommended: unknown;
}

interface OpenRules {
  readonly entity_name: string;
  /** Never empty. The worst operation comes first, and the other fields describe it. */
  readonly operations: readonly OpenOperation[];
  /** Null if the records could not be counted in time. */
  readonly reachable_records: number | null;
  readonly sample_fields: readonly string[];
}

interface ScannedSchema {
  readonly name: string;
  readonly document: Readonly<Record<string, unknown>>;
}

/** Analyses these schemas' rules, and counts the records that they open in each entity. */
export type FindOpenRules = (
  db: Db,
  access: AppReach,
  schemas: readonly ScannedSchema[],
  now: Date,
) => Promise<{ readonly entities: readonly OpenRules[]; readonly isComplete: boolean }>;

export type ScanRowRules = (
  db: Db,
  access: AppReach,
  schemas: readonly ScannedSchema[],
  now: Date,
) => Promise<GroupResult<RowRulesItem>>;

export const createRowRulesScan =
  (findOpenRules: FindOpenRules): ScanRowRules =>
  async (db, access, schemas, now) => {
    if (schemas.length === 0) return { coverage: { value: 'skipped', reason: 'no_schemas' }, findings: [] };
    const { entities, isComplete } = await findOpenRules(db, access, schemas, now);
    return {
      coverage: isComplete ? { value: 'ran' } : { value: 'partial', reason: 'too_large' },
      findings: entities.flatMap((entity) => describeEntity(entity)),
    };
  };

function describeEntity(entity: OpenRules): Finding<RowRulesItem>[] {
  const { entity_name, operations, reachable_records, sample_fields } = entity;
  const [worst] = operations;
  if (worst === undefined) return [];
  const current_rules = toRules(operations, ({ current }) => current);
  return [
    {
      rule_id: 'open_row_rules',
      severity: severityOf(worst),
      title: `${entity_name} can be ${participles[worst.operation]} by ${callers[worst.principal]}`,
      description: describe(entity, worst),
      recommendation:
        worst.operation === 'create'
          ? 'Use the recommended rules, which let only signed-in app users create records.'
          : 'Use the recommended rules, which remove the access of people who have nothing to do with a record.',
      identity: [entity_name, canonicalize(current_rules) ?? ''],
      secondary: null,
      position: { path: entity_name, line: 1 },
      item: {
        entity_name,
        open_operations: rowOperations.filter((each) => operations.some(({ operation }) => operation === each)),
        current_rules,
        recommended_rules: toRules(operations, ({ recommended }) => recommended),
        proof: {
          principal: worst.principal,
          operation: worst.operation,
          reachable_records: reachable_records ?? 0,
          sample_fields,
        },
      },
    },
  ];
}

const rowOperations = ['create', 'read', 'update', 'delete'] as const;
const participles = { create: 'created', read: 'read', update: 'changed', delete: 'deleted' } as const;
const verbs = { create: 'create', read: 'read', update: 'change', delete: 'delete' } as const;
const callers = { anonymous: 'anyone', any_user: 'any app user' } as const;

const toRules = (operations: readonly OpenOperation[], read: (open: OpenOperation) => unknown) =>
  Object.fromEntries(operations.map((open) => [open.operation, read(open)]));

/** Creating a record harms no existing record, so it is less severe than reading. */
function severityOf({ principal, operation }: OpenOperation): Severity {
  if (operation === 'create') return 'medium';
  if (principal === 'anonymous') return operation === 'read' ? 'high' : 'critical';
  return operation === 'read' ? 'low' : 'medium';
}

function describe({ operations, reachable_records }: OpenRules, worst: OpenOperation): string {
  const list = (principal: OpenOperation['principal']) =>
    rowOperations
      .filter((each) => operations.some((open) => open.principal === principal && open.operation === each))
      .map((operation) => verbs[operation])
      .join(', ');
  const [anonymous, users] = [list('anonymous'), list('any_user')];
  return [
    anonymous !== '' && `Anyone, even without an account, can ${anonymous} records.`,
    users !== '' && `Any signed-in app user can ${users} records that other people created.`,
    worst.operation !== 'create' && countRecords(reachable_records),
    anonymous !== '' && 'While the app requires login, this applies only to signed-in users.',
  ]
    .filter((sentence) => sentence !== false)
    .join(' ');
}

function countRecords(count: number | null): string {
  if (count === null) return 'The affected records could not be counted in time.';
  return `This currently affects ${count === 1 ? '1 record' : `${count} of the 10,000 most recent records`}.`;
}
