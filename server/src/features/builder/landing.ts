// Owns landing a turn: what it has changed becomes one revision of the app, in the transaction that ends the turn. All of it is
// saved, or nothing.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { incrementRevision } from '../../core/identity/apps.ts';
import type { ToolCall } from '../../core/turns/deltas.ts';
import { transaction } from '../../kit/db/database.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type FileDifference, showDifferences } from './diff.ts';
import type { Draft, DraftDeps } from './draft.ts';
import { type EndDeps, failTurn, listRecords, requireClaim, type TurnFailure, writeEnd } from './end.ts';
import { toShownReply } from './step.ts';
import { listSteps } from './store/steps.ts';
import type { TurnRow } from './store/turns.ts';

export type LandingDeps = EndDeps & DraftDeps;

/** Thrown in the transaction to save nothing. */
class LandingRefused extends Error {
  readonly failure: TurnFailure;
  constructor(message: string) {
    super(message);
    this.failure = { source: 'builder', message, refunds: false };
  }
}

/** Saves the draft and ends the turn. If that is refused, nothing is saved, and the turn ends with the reason. */
export async function landTurn(
  db: Db,
  turn: TurnRow,
  access: AppAccess,
  draft: Draft,
  deps: LandingDeps,
  now: Date,
): Promise<void> {
  try {
    const differences = (await readDifferences(db, access, draft, deps)).filter(isChange);
    const shown = showDifferences(differences); // takes time, so not in the transaction
    await transaction(db, async (db) => {
      await requireClaim(db, turn);
      const current = await findAccessOnBehalf(db, turn, turn.app_id, 'editor');
      if (current === undefined) throw new LandingRefused(accessLost);
      const isSaved = draft.isChanged && (differences.length > 0 || draft.changedSchemas.size > 0);
      const revision = isSaved ? await saveDraft(db, current, draft, deps, now) : undefined;
      const steps = await listSteps(db, turn);
      const reply = toShownReply(listRecords(steps));
      const saved = revision === undefined ? [] : [describeRevision(revision, draft, differences, shown)];
      const tool_calls = [...reply.tool_calls, ...saved];
      const note = revision === undefined && reply.content === '' ? noAnswer : null;
      await writeEnd(db, turn, { steps, reply: { ...reply, tool_calls }, note, failure: null }, deps, now);
    });
  } catch (error) {
    await failTurn(db, turn, toFailure(error), deps, now);
  }
}

export const accessLost =
  'Nothing was saved: the person who sent the message lost access, signed out or revoked the token, or the app was deleted. Ask somebody who may change this app to send it again.';
const noAnswer = 'The assistant gave no answer. Nothing was changed.';

/**
 * A storage quota, a limit of files or entities, or a deleted app is a Problem, whose message says what to do. An entity that was
 * valid when the assistant wrote it can be invalid by now if the platform was updated meanwhile.
 */
function toFailure(error: unknown): TurnFailure {
  if (error instanceof LandingRefused) return error.failure;
  if (error instanceof Problem)
    return { source: 'builder', message: `Nothing was saved. ${error.message}`, refunds: false };
  if (error instanceof ValidationError) {
    const faults = error.faults.slice(0, 5).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
    return {
      source: 'builder',
      message: `Nothing was saved, because an entity is not valid. ${faults.join('; ')}. Send your message again.`,
      refunds: false,
    };
  }
  throw error;
}

/** Returns the revision. */
async function saveDraft(
  db: Db,
  access: AppAccess,
  draft: Draft,
  { files, schemas }: LandingDeps,
  now: Date,
): Promise<number> {
  if (draft.changedSchemas.size > 0) await schemas.lock(db, access); // before the app's row, as everybody does
  const revision = await incrementRevision(db, access, now);
  await refuseConflicts(db, access, draft, { files, schemas });
  await schemas.apply(db, access, [...draft.changedSchemas.values()], revision, now);
  const changes = [...draft.changedFiles].map(([path, text]) => ({ path, text }));
  await files.apply(db, access, changes, revision, now);
  return revision;
}

/** Refuses if somebody else has changed a file or schema since the turn first saw it. The app's row is locked. */
async function refuseConflicts(
  db: Db,
  access: AppAccess,
  { changedFiles, changedSchemas, seen }: Draft,
  { files, schemas }: Pick<LandingDeps, 'files' | 'schemas'>,
): Promise<void> {
  const versions = new Map((await files.list(db, access)).map(({ path, sha256 }) => [path, sha256]));
  const revisions = new Map((await schemas.list(db, access)).map(({ name, revision }) => [name, revision]));
  const conflicts = [
    ...[...changedFiles.keys()].filter((path) => (versions.get(path) ?? null) !== seen.files.get(path)),
    ...[...changedSchemas.keys()]
      .filter((name) => (revisions.get(name) ?? 0) !== seen.schemas.get(name))
      .map((name) => `the entity ${name}`),
  ];
  if (conflicts.length === 0) return;
  const listed = conflicts.slice(0, 5).join(', ') + (conflicts.length > 5 ? ' and others' : '');
  throw new LandingRefused(
    `Somebody else changed ${listed} while this turn was running, so nothing was saved. Send your message again: the assistant then works on what is there now.`,
  );
}

/** Read before the transaction: if a file differs by then, the landing is refused anyway. */
async function readDifferences(
  db: Db,
  access: AppAccess,
  { changedFiles }: Draft,
  { files }: LandingDeps,
): Promise<FileDifference[]> {
  const stored = new Map((await files.read(db, access, [...changedFiles.keys()])).map((file) => [file.path, file]));
  return [...changedFiles].map(([path, after]) => {
    const file = stored.get(path);
    const before = file?.encoding === 'utf-8' ? file.content.toString('utf8') : null;
    return { path, existed: file !== undefined, before, after };
  });
}

/** False for a file that the turn has changed back, or written and deleted again. */
const isChange = ({ existed, before, after }: FileDifference): boolean =>
  after === null ? existed : !existed || before !== after;

const maxListedPaths = 100;

function describeRevision(
  revision: number,
  draft: Draft,
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
    entities: [...draft.changedSchemas.keys()],
  };
  return {
    id: 'save_revision',
    name: 'save_revision',
    arguments_string: JSON.stringify(saved),
    status: 'success',
    results: shown,
  };
}
