// Lands a turn: its changes become one revision of the app, in the transaction that ends the turn. Either all
// changes are saved or none.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { incrementRevision } from '../../core/identity/apps.ts';
import type { RevisionReason } from '../../core/identity/revisions.ts';
import type { ToolCall } from '../../core/turns/deltas.ts';
import { transaction } from '../../kit/db/database.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import { toStorableText } from '../../kit/text.ts';
import type { FileDifference } from '../../kit/text-edit/diff.ts';
import type { Db } from '../../tables.ts';
import { showDifferences } from './diff.ts';
import type { AppSignUp, Draft, DraftDeps, HeldOpening, HeldSchemas, SchemaDocument } from './draft.ts';
import { type EndDeps, failTurn, listRecords, requireClaim, TurnFailed, type TurnFailure, writeEnd } from './end.ts';
import { noteHeld, saveHeldRules } from './held-rules.ts';
import { saveSignUp } from './sign-up.ts';
import { toShownReply } from './step.ts';
import { findMessage } from './store/messages.ts';
import { listSteps } from './store/steps.ts';
import type { TurnRow } from './store/turns.ts';

export type LandingDeps = EndDeps & DraftDeps & { readonly signUp: AppSignUp };

/** Saves the draft and ends the turn. If saving is refused, nothing is saved and the turn ends with the reason. */
export async function landTurn(
  db: Db,
  deps: LandingDeps,
  access: AppAccess,
  { turn, draft }: { readonly turn: TurnRow; readonly draft: Draft },
  now: Date,
): Promise<void> {
  try {
    // All of this is slow, so it is done outside the transaction, which refuses if anything has changed meanwhile.
    const differences = (await readDifferences(db, deps, access, draft)).filter(isChange);
    const schemas = await readSchemaChanges(db, deps, access, draft, now);
    const shown = showDifferences([...schemas.differences, ...differences]);
    const reason = await readReason(db, turn);
    await transaction(db, async (db) => {
      await requireClaim(db, turn);
      const current = await findAccessOnBehalf(db, turn, turn.app_id, 'editor');
      if (current === undefined) throw refuseLanding(accessLost);
      const isRevision = draft.isChanged && differences.length + schemas.differences.length > 0;
      const changesSchemas = draft.changedSchemas.size > 0;
      if (changesSchemas || draft.signUp !== undefined) await deps.schemas.lock(db, current); // before the app's row
      const revision = await saveDraft(db, deps, current, { draft, schemas, isRevision, reason }, now);
      const heldSignUp = draft.signUp === undefined ? [] : await saveSignUp(db, deps, current, draft.signUp, now);
      const held = [...schemas.held, ...heldSignUp];
      const steps = await listSteps(db, turn);
      const reply = toShownReply(listRecords(steps));
      const saved =
        revision === undefined ? [] : [describeRevision(revision, { ...schemas, held }, differences, shown)];
      const tool_calls = [...reply.tool_calls, ...saved];
      const isUnchanged = revision === undefined && draft.signUp === undefined;
      const noteAnswer = isUnchanged && reply.content === '' ? noAnswer : null;
      const note = held.length > 0 ? noteHeld(held) : noteAnswer;
      await writeEnd(db, deps, turn, { steps, reply: { ...reply, tool_calls }, note, failure: null }, now);
    });
  } catch (error) {
    await failTurn(db, deps, turn, toFailure(error), now);
  }
}

/** Thrown in the transaction to roll back all changes. */
const refuseLanding = (message: string) => new TurnFailed({ source: 'builder', message, refunds: false });

export const accessLost =
  'Nothing was saved because the app was deleted, or the person who sent the message lost access, signed out or revoked the token. Ask someone who can edit this app to send the message again.';
const noAnswer = 'The assistant did not reply. Nothing was changed. Send your message again.';

/**
 * A Problem reports a storage quota, a limit on files or entities, or a deleted app. Its message tells the person what
 * to do. An entity that was valid when the assistant wrote it may have become invalid through a platform update.
 */
function toFailure(error: unknown): TurnFailure {
  if (error instanceof TurnFailed) return error.failure;
  if (error instanceof Problem)
    return { source: 'builder', message: `Nothing was saved. ${error.message}`, refunds: false };
  if (error instanceof ValidationError) {
    const faults = error.faults.slice(0, 5).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
    return {
      source: 'builder',
      message: `Nothing was saved because an entity is not valid. ${faults.join('; ')}. Send your message again.`,
      refunds: false,
    };
  }
  throw error;
}

interface DraftToSave {
  readonly draft: Draft;
  readonly schemas: SchemaChanges;
  /** False if the turn changed nothing, or only proposes rules. */
  readonly isRevision: boolean;
  readonly reason: RevisionReason;
}

/** Returns the new revision, if there is one. The schemas must be locked if the draft changes any. */
async function saveDraft(
  db: Db,
  { files, schemas }: LandingDeps,
  access: AppAccess,
  { draft, schemas: changes, isRevision, reason }: DraftToSave,
  now: Date,
): Promise<number | undefined> {
  const entities = [...draft.changedSchemas.keys()];
  if (!isRevision && entities.length === 0) return undefined;
  const revision = isRevision ? await incrementRevision(db, access, reason, now) : undefined;
  await refuseConflicts(db, { files, schemas }, access, { draft, changes });
  if (revision !== undefined) await schemas.apply(db, access, changes.documents, revision, now);
  if (entities.length > 0) {
    const revisions = new Map((await schemas.list(db, access)).map(({ name, revision }) => [name, revision]));
    await saveHeldRules(db, access, { replaced: entities, held: changes.held, revisions }, now);
  }
  if (revision === undefined) return undefined;
  const changedFiles = [...draft.changedFiles].map(([path, text]) => ({ path, text }));
  await files.apply(db, access, changedFiles, revision, now);
  return revision;
}

const maxSummary = 200;

/** The revision is described by the beginning of the message that asked for it. */
async function readReason(db: Db, turn: TurnRow): Promise<RevisionReason> {
  const message = await findMessage(db, turn, turn.message_id);
  const summary = toStorableText((message?.content ?? '').slice(0, maxSummary)); // the cut may split a character
  return { cause: 'chat', message_id: turn.message_id, summary };
}

/** Throws if a file or schema has changed since the turn first saw it. The app's row must be locked. */
async function refuseConflicts(
  db: Db,
  { files, schemas }: Pick<LandingDeps, 'files' | 'schemas'>,
  access: AppAccess,
  {
    draft: { changedFiles, changedSchemas, seen },
    changes: { withoutRecords },
  }: { readonly draft: Draft; readonly changes: SchemaChanges },
): Promise<void> {
  const versions = new Map((await files.list(db, access)).map(({ path, sha256 }) => [path, sha256]));
  const revisions = new Map((await schemas.list(db, access)).map(({ name, revision }) => [name, revision]));
  const conflicts = [
    ...[...changedFiles.keys()].filter((path) => (versions.get(path) ?? null) !== seen.files.get(path)),
    ...[...changedSchemas.keys()]
      .filter((name) => (revisions.get(name) ?? 0) !== seen.schemas.get(name))
      .map((name) => `the entity ${name}`),
    // Rules for signed-in users were not held because there were no records that they could open.
    ...(await schemas.listWithRecords(db, access, withoutRecords)).map((name) => `the records of ${name}`),
  ];
  if (conflicts.length === 0) return;
  const listed = conflicts.slice(0, 5).join(', ') + (conflicts.length > 5 ? ' and others' : '');
  throw refuseLanding(
    `Someone else changed ${listed} while this turn was running, so nothing was saved. Send your message again, and the assistant will work with the latest version.`,
  );
}

/** Runs before the transaction. If a file changes in the meantime, the landing is refused. */
async function readDifferences(
  db: Db,
  { files }: LandingDeps,
  access: AppAccess,
  { changedFiles }: Draft,
): Promise<FileDifference[]> {
  const stored = new Map((await files.read(db, access, [...changedFiles.keys()])).map((file) => [file.path, file]));
  return [...changedFiles].map(([path, after]) => {
    const file = stored.get(path);
    const before = file?.encoding === 'utf-8' ? file.content.toString('utf8') : null;
    return { path, existed: file !== undefined, before, after };
  });
}

type SchemaChanges = HeldSchemas & { readonly differences: readonly FileDifference[] };

async function readSchemaChanges(
  db: Db,
  { schemas }: LandingDeps,
  access: AppAccess,
  { changedSchemas }: Draft,
  now: Date,
): Promise<SchemaChanges> {
  const stored = new Map((await schemas.list(db, access)).map(({ name, document }) => [name, document]));
  const changes = await schemas.separate(db, access, [...changedSchemas.values()], now);
  const differences = changes.documents.map((document): FileDifference => {
    const name = String(document.name);
    const before = stored.get(name);
    const texts = { before: before === undefined ? null : toText(before), after: toText(document) };
    return { path: `entity ${name}`, existed: before !== undefined, ...texts };
  });
  return { ...changes, differences: differences.filter(isChange) };
}

/** The rules come first, because a long difference is cut. */
const toText = ({ name, rls, ...rest }: SchemaDocument): string =>
  `${JSON.stringify({ name, rls, ...rest }, null, 2)}\n`;

/** False for a file that the turn changed back, or that it created and then deleted. */
const isChange = ({ existed, before, after }: FileDifference): boolean =>
  after === null ? existed : !existed || before !== after;

const maxListedPaths = 100;

function describeRevision(
  revision: number,
  { documents, held }: Pick<SchemaChanges, 'documents'> & { readonly held: readonly HeldOpening[] },
  differences: readonly FileDifference[],
  shown: string,
): ToolCall {
  const pick = (isWanted: (file: FileDifference) => boolean) => {
    const paths = differences.filter(isWanted).map(({ path }) => path);
    return { count: paths.length, paths: paths.slice(0, maxListedPaths) };
  };
  const saved = {
    revision,
    created: pick(({ existed }) => !existed),
    changed: pick(({ existed, after }) => existed && after !== null),
    deleted: pick(({ after }) => after === null),
    entities: documents.map(({ name }) => name),
    ...(held.length > 0 && {
      held: held.map(({ entity, operation, principal }) => ({ entity, operation, principal })),
    }),
  };
  return {
    id: 'save_revision',
    name: 'save_revision',
    arguments_string: JSON.stringify(saved),
    status: 'success',
    results: shown,
  };
}
