// Owns the group `rls` of a scan: what explicit rules open to people whom the records have nothing to do with
// (docs/internals/row-rule-findings.md).
import canonicalize from 'canonicalize';
import type { AppReach } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';
import type { Finding, GroupResult, Severity } from '../finding.ts';
import type { RowRulesItem } from './item.ts';

/** An operation that is open, with the rule that opens it and one that closes it. */
interface OpenOperation {
  readonly operation: 'create' | 'read' | 'update' | 'delete';
  readonly principal: 'anonymous' | 'any_user';
  readonly current: unknown;
  readonly recommended: unknown;
}

interface OpenRules {
  readonly entity_name: string;
  /** Not empty. The worst comes first, and the other fields are about it. */
  readonly operations: readonly OpenOperation[];
  /** Null: they were not counted in time. */
  readonly reachable_records: number | null;
  readonly sample_fields: readonly string[];
}

interface ScannedSchema {
  readonly name: string;
  readonly document: Readonly<Record<string, unknown>>;
}

/** Reasons on the rules of these schemas and counts what they reach. Of the entities. */
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
          ? 'Use the recommended rules: they let only signed-in users of the app create records.'
          : 'Use the recommended rules: they keep what the rules allow to the creator of a record and close it to others.',
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
const callers = { anonymous: 'everyone', any_user: 'every user of the app' } as const;

const toRules = (operations: readonly OpenOperation[], read: (open: OpenOperation) => unknown) =>
  Object.fromEntries(operations.map((open) => [open.operation, read(open)]));

/** Creating harms no record that is there, so it counts as less than reading. */
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
    anonymous !== '' && `Everyone, even without an account of the app, may ${anonymous} records.`,
    users !== '' && `Every signed-in user of the app may ${users} records that other people created.`,
    worst.operation !== 'create' && countRecords(reachable_records),
    anonymous !== '' && 'While the app requires login, it is open to its signed-in users only.',
  ]
    .filter((sentence) => sentence !== false)
    .join(' ');
}

function countRecords(count: number | null): string {
  if (count === null) return 'Its records could not be counted in time.';
  return `Today this reaches ${count === 1 ? '1 record' : `${count} of the newest 10,000 records`}.`;
}
