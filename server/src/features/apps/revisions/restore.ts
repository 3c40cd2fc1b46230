// Restores a kept revision of an app: its files, schemas and headers become a new revision, and nothing of the history is
// removed. Rules that would open data are restored only if the caller has named them (docs/api/apps.md#restore).
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { incrementRevision } from '../../../core/identity/apps.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
import { transaction } from '../../../kit/db/database.ts';
import { unchanged, withNotes } from '../../../kit/http/answer.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type FileChanges, isEmpty, maxFiles, revisionConflict, writeRevision } from '../files.ts';
import { leftOut, type RestoreInput, restoredParts } from './contract.ts';
import { compareHeaders, compareSchemas } from './differences.ts';
import { requireKept } from './revision.ts';
import { compareFiles, type FileComparison, type Headers, type RevisionRow, restoreFiles } from './store.ts';

type Document = Readonly<Record<string, unknown>>;

export interface RestoreDeps {
  readonly storage: StorageQuota;
  readonly schemas: RestoredSchemas;
  readonly headers: RestoredHeaders;
}

export interface RestoreRequestDeps extends RestoreDeps {
  countBytes(bytes: number): Promise<Problem | undefined>;
}

/** The app's schemas. */
export interface RestoredSchemas {
  /** Must be called before the revision is incremented. */
  lock(db: Db, access: AppAccess): Promise<void>;
  /** Finds what saving these documents would open. Throws a ValidationError if one is not valid. */
  findNewlyOpened(db: Db, access: AppAccess, documents: readonly Document[], now: Date): Promise<NewlyOpened>;
  /** Lists those of the entities that have records. The others can't get any until the transaction ends. */
  listWithRecords(db: Db, access: AppAccess, names: readonly string[]): Promise<readonly string[]>;
  /** Lists those of the entities that have records or that the app uses elsewhere. */
  listInUse(db: Db, access: AppAccess, names: readonly string[]): Promise<readonly string[]>;
  apply(db: Db, access: AppAccess, documents: readonly Document[], revision: number, now: Date): Promise<void>;
  remove(db: Db, access: AppAccess, names: readonly string[], revision: number, now: Date): Promise<void>;
}

/** The app's security headers. */
export interface RestoredHeaders {
  apply(db: Db, access: AppAccess, headers: Headers, now: Date): Promise<void>;
}

interface Opening {
  readonly entity: string;
  readonly operation: 'create' | 'read' | 'update' | 'delete' | 'update_check' | 'fields';
  readonly principal: 'anonymous' | 'any_user' | 'creator' | 'some_user' | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly example: object | null;
}

interface NewlyOpened {
  readonly held: readonly Opening[];
  /** Entities that had no records. Their rules open nothing for the sake of records. */
  readonly withoutRecords: readonly string[];
}

export async function restoreRevision(
  db: Db,
  deps: RestoreRequestDeps,
  access: AppAccess & { readonly revision: RevisionRow },
  input: RestoreInput,
  now: Date,
) {
  const { app } = access;
  if (input.expected_revision !== undefined && input.expected_revision !== app.revision)
    throw revisionConflict(app.revision);
  // All of this is slow, so it is done outside the transaction, which refuses if the app has changed meanwhile.
  const differences = await readDifferences(db, access, input);
  if (!input.dry_run) await countWritten(deps, differences);
  const opened = await deps.schemas.findNewlyOpened(db, access, differences.documents, now);
  if (!input.dry_run) requireConsent(opened.held, input.opens ?? []);
  return transaction(db, async (db) => {
    await deps.schemas.lock(db, access); // always locked before the app's row
    const kept = await deps.schemas.listInUse(db, access, differences.addedEntities);
    const removed = differences.addedEntities.filter((name) => !kept.includes(name));
    const plan = { ...differences, removed };
    const isChange = !isEmpty(plan.files) || plan.documents.length + removed.length > 0 || plan.headers !== null;
    const isDone = isChange && !input.dry_run;
    const revision = isDone ? await saveAsRevision(db, deps, access, { plan, opened }, now) : app.revision;
    const answer = present(access, { plan, opened: opened.held, kept, revision });
    return isDone ? withNotes(answer, {}) : unchanged(answer);
  });
}

interface Differences {
  readonly files: FileChanges;
  readonly written: readonly { readonly path: string; readonly size: number }[];
  /** The schemas that are created or replaced. */
  readonly documents: readonly Document[];
  readonly createdEntities: readonly string[];
  /** The entities that the revision did not have. */
  readonly addedEntities: readonly string[];
  /** Null if they stay as they are. */
  readonly headers: Headers | null;
}

interface Plan extends Differences {
  /** The entities that are removed. */
  readonly removed: readonly string[];
}

/** Compares the app's revision that the guard read with the one to restore, whatever is changed meanwhile. */
async function readDifferences(
  db: Db,
  access: AppAccess & { readonly revision: RevisionRow },
  { parts = [...restoredParts] }: RestoreInput,
): Promise<Differences> {
  const comparison = { before: access.app.revision, after: access.revision.revision };
  const files = parts.includes('files') ? await compareFiles(db, access, comparison, 2 * maxFiles) : [];
  const entities = parts.includes('entities') ? await compareSchemas(db, access, comparison) : [];
  const headers = parts.includes('headers') ? await compareHeaders(db, access, comparison) : null;
  await requireKept(db, access, comparison.after); // after reading: what is removed meanwhile would seem to be missing
  const pathsOf = (isWanted: (file: FileComparison) => boolean) => files.filter(isWanted).map(({ path }) => path);
  return {
    files: {
      created: pathsOf(({ before_sha256 }) => before_sha256 === null),
      updated: pathsOf(({ before_sha256, after_sha256 }) => before_sha256 !== null && after_sha256 !== null),
      deleted: pathsOf(({ after_sha256 }) => after_sha256 === null),
    },
    written: files.flatMap(({ path, after_size: size }) => (size === null ? [] : [{ path, size }])),
    documents: entities.flatMap(({ after }) => (after === null ? [] : [after])),
    createdEntities: entities.filter(({ before }) => before === null).map(({ name }) => name),
    addedEntities: entities.filter(({ after }) => after === null).map(({ name }) => name),
    headers: headers?.after ?? null,
  };
}

/** Refuses only what begins when the budget is used up, so a large app can be restored. */
async function countWritten({ countBytes }: RestoreRequestDeps, { written }: Differences): Promise<void> {
  const refusal = await countBytes(0);
  if (refusal !== undefined) throw refusal;
  void countBytes(written.reduce((bytes, { size }) => bytes + size, 0));
}

/** Restoring a revision is no consent to what its rules open, because they may be long forgotten. */
function requireConsent(opened: readonly Opening[], named: NonNullable<RestoreInput['opens']>): void {
  const isNamed = ({ entity, operation }: Opening) =>
    named.some((one) => one.entity === entity && one.operation === operation);
  const others = opened.filter((opening) => !isNamed(opening));
  if (others.length > 0) throw opensRules(others);
}

async function saveAsRevision(
  db: Db,
  { storage, schemas, headers }: RestoreDeps,
  access: AppAccess & { readonly revision: RevisionRow },
  { plan, opened }: { readonly plan: Plan; readonly opened: NewlyOpened },
  now: Date,
): Promise<number> {
  const { app } = access;
  const restored_revision = access.revision.revision;
  const revision = await incrementRevision(db, access, { cause: 'restore', restored_revision }, now);
  if (revision !== app.revision + 1) throw revisionConflict(revision - 1);
  // Their rules were looked at as those of entities without records.
  if ((await schemas.listWithRecords(db, access, opened.withoutRecords)).length > 0)
    throw revisionConflict(app.revision);
  await schemas.apply(db, access, plan.documents, revision, now);
  await schemas.remove(db, access, plan.removed, revision, now);
  if (plan.headers !== null) await headers.apply(db, access, plan.headers, now);
  if (!isEmpty(plan.files)) {
    const { files: changes, written } = plan;
    const write = async () => {
      // To make room in the quota, the oldest revisions may just have been given up.
      await requireKept(db, access, restored_revision);
      const paths = written.map(({ path }) => path);
      await restoreFiles(db, access, restored_revision, paths, now);
    };
    await writeRevision(db, storage, access, { changes, revision, written, write }, now);
  }
  const opens = opened.held.map(({ entity, operation, principal }) => ({ entity, operation, principal }));
  await audit(
    db,
    access,
    {
      type: 'app.revision_restored',
      target: { kind: 'app', id: app.id },
      app_id: app.id,
      before: { revision: app.revision },
      after: { revision, restored_revision, opens },
    },
    now,
  );
  return revision;
}

interface Outcome {
  readonly plan: Plan;
  readonly opened: readonly Opening[];
  readonly kept: readonly string[];
  readonly revision: number;
}

function present(access: { readonly revision: RevisionRow }, { plan, opened, kept, revision }: Outcome) {
  const written = plan.documents.map(({ name }) => String(name));
  return {
    revision,
    restored_revision: access.revision.revision,
    changes: {
      files: plan.files,
      entities: {
        created: written.filter((name) => plan.createdEntities.includes(name)),
        updated: written.filter((name) => !plan.createdEntities.includes(name)),
        deleted: [...plan.removed],
      },
      headers: plan.headers !== null,
    },
    impact: { newly_open: opened.map(presentOpening), kept_entities: [...kept] },
    left_out: [...leftOut],
  };
}

const presentOpening = ({ entity, operation, principal, before, after, example }: Opening) => ({
  entity,
  operation,
  principal,
  before,
  after,
  example: example && { ...example },
});

const opensRules = (opened: readonly Opening[]) =>
  new Problem(
    'conflict',
    'restore_opens_rules',
    'The rules of this revision would open data. Look at `newly_open`, then name each entity and operation in `opens` to agree, or restore only `files` and `headers`.',
    { members: { newly_open: opened.map(presentOpening) }, retrySafe: false },
  );
