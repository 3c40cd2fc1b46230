// Applies recommended row rules. Each entity has its own transaction, which verifies that nothing is still open.
import canonicalize from 'canonicalize';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { incrementRevision } from '../../core/identity/apps.ts';
import { transaction } from '../../kit/db/database.ts';
import { isStatementTimeout } from '../../kit/db/failures.ts';
import { type Answer, unchanged, withNotes } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { FixedRules } from './contract.ts';
import type { GroupResult } from './finding.ts';
import type { StoredFinding } from './groups.ts';
import type { ScannedSchema } from './input.ts';
import { readGroups } from './result.ts';
import { scannerVersion } from './scan.ts';
import { findResult, toAppKey } from './store.ts';

type Document = Readonly<Record<string, unknown>>;

export interface FixDeps {
  readonly schemas: {
    lock(db: Db, access: AppAccess): Promise<void>;
    list(db: Db, access: AppAccess): Promise<readonly ScannedSchema[]>;
    apply(db: Db, access: AppAccess, documents: readonly Document[], revision: number, now: Date): Promise<void>;
  };
  readonly scanRowRules: (
    db: Db,
    access: AppAccess,
    schemas: readonly ScannedSchema[],
    now: Date,
  ) => Promise<GroupResult<object>>;
}

type FailedReason = FixedRules['failed'][number]['reason'];

/** The reason why an entity was not changed. Rolls back its transaction. */
class NotFixed extends Error {
  readonly reason: FailedReason;

  constructor(reason: FailedReason) {
    super(reason);
    this.reason = reason;
  }
}

export async function fixRls(
  db: Db,
  deps: FixDeps,
  access: AppAccess,
  names: readonly string[],
  now: Date,
): Promise<Answer<FixedRules>> {
  const result = await findResult(db, toAppKey(access));
  const findings = result?.scanner_version === scannerVersion ? readGroups(result).rls : [];
  const fixed: FixedRules = { applied: [], failed: [] };
  let isChanged = false;
  for (const entity_name of names) {
    const finding = findings.find((each) => each.entity_name === entity_name);
    try {
      if (finding === undefined) throw new NotFixed('no_recommendation');
      isChanged = (await fixEntity(db, deps, access, finding, now)) || isChanged;
      fixed.applied.push({ entity_name, operations: [...(finding.open_operations as readonly string[])] });
    } catch (error) {
      fixed.failed.push({ entity_name, reason: toReason(error) });
    }
  }
  return isChanged ? withNotes(fixed, {}) : unchanged(fixed);
}

/** Any other error is a bug or an outage, so the request fails. */
function toReason(error: unknown): FailedReason {
  if (error instanceof NotFixed) return error.reason;
  if (error instanceof ValidationError || error instanceof Problem || isStatementTimeout(error)) return 'write_failed';
  throw error;
}

/**
 * Returns whether rules were replaced. They are not if the entity has the recommended ones already, for example because
 * an earlier request was applied and its answer was lost.
 */
function fixEntity(db: Db, deps: FixDeps, access: AppAccess, finding: StoredFinding, now: Date): Promise<boolean> {
  const name = String(finding.entity_name);
  const operations = finding.open_operations as readonly string[];
  const [current, recommended] = [toRules(finding.current_rules), toRules(finding.recommended_rules)];
  if (!operations.every((operation) => Object.hasOwn(recommended, operation))) throw new NotFixed('no_recommendation');
  return transaction(db, async (db) => {
    await deps.schemas.lock(db, access);
    const schema = (await deps.schemas.list(db, access)).find((each) => each.name === name);
    if (schema === undefined) throw new NotFixed('schema_changed');
    const rules = toRules(schema.document.rls);
    const hasRules = (expected: Document) =>
      operations.every((operation) => canonicalize(findRule(rules, operation)) === canonicalize(expected[operation]));
    if (hasRules(recommended)) return false;
    if (!hasRules(current)) throw new NotFixed('schema_changed');
    const replaced = Object.fromEntries(operations.map((operation) => [operation, recommended[operation]]));
    const document = { ...schema.document, rls: { ...rules, ...replaced } };
    const revision = await incrementRevision(db, access, { cause: 'fix' }, now);
    await deps.schemas.apply(db, access, [document], revision, now);
    await requireClosed(db, deps, access, { schema: { name, document, revision }, operations }, now);
    await audit(
      db,
      access,
      {
        type: 'scan.rls_fixed',
        target: { kind: 'entity_schema', id: name },
        app_id: access.app.id,
        before: {
          rls: Object.fromEntries(operations.map((operation) => [operation, findRule(rules, operation) ?? null])),
        },
        after: { rls: replaced, revision },
      },
      now,
    );
    return true;
  });
}

const toRules = (rls: unknown): Document => (rls ?? {}) as Document;

/** `write` applies to all operations without their own rule, except `read`. */
const findRule = (rules: Document, operation: string): unknown =>
  Object.hasOwn(rules, operation) || operation === 'read' ? rules[operation] : rules.write;

/** Runs the same analysis that found the opening. */
async function requireClosed(
  db: Db,
  { scanRowRules }: FixDeps,
  access: AppAccess,
  { schema, operations }: { readonly schema: ScannedSchema; readonly operations: readonly string[] },
  now: Date,
): Promise<void> {
  const { findings, coverage } = await scanRowRules(db, access, [schema], now);
  const stillOpen = findings.flatMap(({ item }) => Reflect.get(item, 'open_operations') as readonly string[]);
  if (coverage.value !== 'ran' || operations.some((operation) => stillOpen.includes(operation)))
    throw new NotFixed('write_failed');
}
