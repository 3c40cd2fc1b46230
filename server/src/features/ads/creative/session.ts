// Generates assets (docs/api/ads.md#texts-and-images). A call records a session and waits while a worker writes
// the texts and draws the images (background.ts). Any process can wait for any session.

import { audit } from '../../../core/audit/audit.ts';
import { type Price, perCall, perImage } from '../../../core/auth/prices.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { refund, reserve } from '../../../core/credits/reservations.ts';
import { countSuggestion, uncountSuggestion } from '../../../core/credits/unpaid.ts';
import type { AppAddresses } from '../../../core/identity/app-addresses.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
import type { LanguageModel, ModelState } from '../../../gateways/language-model/index.ts';
import { WakeableSleep, type WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import { type Answer, resumableAnswer, withNotes } from '../../../kit/http/answer.ts';
import { newId } from '../../../kit/ids.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { channelSlots, type TextSlot } from '../rules/slots.ts';
import {
  type AssetRow,
  failSession,
  findSession,
  findSessionByKey,
  insertSession,
  listSessionAssets,
  lockFailedSession,
  restartSession,
  type SessionRow,
} from '../store/assets.ts';
import { type ReadFiles, writeBrief } from './brief.ts';
import { type AssetRequest, type GeneratedAssets, type ImageAddress, isMade, presentAsset } from './contract.ts';
import { toLanguage } from './languages.ts';

export interface SessionDeps {
  readonly model: LanguageModel;
  readonly storage: StorageQuota;
  readonly addresses: Pick<AppAddresses, 'urlOf'>;
  readonly imageAddress: ImageAddress;
  readonly readFiles: ReadFiles;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
  readonly clock: Clock;
  readonly shutdownSignal: AbortSignal;
  /** How long a call waits for its images. The default is 30 seconds. */
  readonly assetWaitMs: number | undefined;
}

/** The session queue's table and wake-up topic. */
export const sessionQueue = 'ads_asset_sessions';
export const toSessionTopic = (id: string): string => `ads_assets:${id}`;

const [textCredits, imageCredits] = [2, 0.5];
export const assetPrices: readonly Price[] = [perCall(textCredits), perImage(imageCredits)];

/** Texts cost 2 credits, and each finished image costs 0.5 (docs/api/credits.md). */
export const computeCost = (images: number): number => textCredits + imageCredits * images;

const expiresAfterMs = 24 * 60 * 60 * 1000;
/** Longer than all of a worker's retries combined. */
const leaseMs = 60 * 60 * 1000;
/** Larger than any image drawn so far. */
const expectedImageBytes = 200_000;

export async function generateAssets(
  db: Db,
  deps: SessionDeps,
  access: AppAccess,
  {
    request: { channel_type, language = 'en', ...business },
    modelState,
  }: { readonly request: AssetRequest; readonly modelState: ModelState },
  now: Date,
): Promise<Answer<GeneratedAssets>> {
  const { app } = access;
  await deps.storage.admit(db, access, channelSlots[channel_type].images.length * expectedImageBytes, now);
  // Done before the workspace's credits are locked, because files may be large.
  const brief = await writeBrief(db, access, deps.readFiles, business, deps.addresses.urlOf(app.slug));
  const session = await transaction(db, async (db) => {
    const key = { id: newId(), channel_type, language };
    const reservation_id = await begin(db, deps, access, { session: key, modelState }, now);
    const expires_at = new Date(now.getTime() + expiresAfterMs);
    return insertSession(db, access, { ...key, brief: JSON.stringify(brief), reservation_id, expires_at }, now);
  });
  return answerWith(session, deps);
}

/**
 * Handles a repeated Idempotency-Key by waiting for the session that the first request started. A failed session was
 * not charged, and is restarted.
 */
export async function resumeSession(
  db: Db,
  deps: SessionDeps,
  access: AppAccess,
  begun: unknown,
  now: Date,
): Promise<Answer<GeneratedAssets>> {
  const { session_id } = begun as { session_id: string };
  const session = await findSession(db, access, session_id);
  if (session === undefined) throw modelUnavailable();
  if (session.state !== 'failed') return answerWith(session, deps);
  const modelState = await deps.model.readState();
  await transaction(db, async (db) => {
    // The session is locked before the counter and the credits, as in cancelSession: otherwise the two could deadlock.
    if (!(await lockFailedSession(db, session))) throw modelUnavailable();
    const reservation_id = await begin(db, deps, access, { session, modelState }, now);
    await restartSession(db, session, reservation_id, now);
  });
  return answerWith(session, deps);
}

/**
 * Reserves the credits and audits the request. Checks first how often the model gave no usable texts today, then the
 * credits, then the model. The request is counted as work that nobody pays for until the session is charged. Returns
 * the reservation id.
 */
async function begin(
  db: Db,
  { wake }: SessionDeps,
  access: AppAccess,
  {
    session: { id, channel_type, language },
    modelState,
  }: { readonly session: Pick<SessionRow, 'id' | 'channel_type' | 'language'>; readonly modelState: ModelState },
  now: Date,
): Promise<string> {
  const { app, workspace_id, caller } = access;
  const amount = computeCost(channelSlots[channel_type].images.length);
  const spend = { workspace_id, user_id: caller.user_id, app_id: app.id, reference_id: id, amount, leaseMs };
  await countSuggestion(db, app, now);
  const reservation = await reserve(db, { ...spend, operation: 'generateAssets' }, now);
  if (modelState === 'not_configured') throw modelNotConfigured();
  if (modelState === 'unavailable') throw modelUnavailable();
  const target = { kind: 'ads_asset_session', id };
  const after = { channel_type, language };
  await audit(db, access, { type: 'ads.assets.generated', target, app_id: app.id, after }, now);
  afterCommit(db, () => wake.notify(sessionQueue));
  return reservation.id;
}

const answerWith = (session: SessionRow, deps: SessionDeps): Answer<GeneratedAssets> =>
  resumableAnswer({ session_id: session.id }, async (db) =>
    presentSession(await waitForSession(db, deps, session), deps),
  );

// ---- waiting

const defaultWaitMs = 30_000;

interface Progress {
  readonly session: SessionRow;
  readonly assets: readonly AssetRow[];
}

/**
 * Waits up to 30 seconds for all images to be finished. If there are still no texts, the session is cancelled without a
 * charge, because a caller who is told that the model is unavailable must not find assets and a charge later.
 */
async function waitForSession(db: Db, deps: SessionDeps, { id, workspace_id, app_id }: SessionRow): Promise<Progress> {
  const { wake, shutdownSignal, assetWaitMs = defaultWaitMs } = deps;
  const key = { id, workspace_id, app_id };
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toSessionTopic(id), idle.wake);
  const waitsUntil = performance.now() + assetWaitMs;
  try {
    for (;;) {
      const session = await findSessionByKey(db, key);
      if (session === undefined || session.state === 'failed') throw modelUnavailable();
      const leftMs = shutdownSignal.aborted ? 0 : waitsUntil - performance.now();
      if (session.state === 'ended' || (session.state === 'drawing' && leftMs <= 0))
        return { session, assets: await listSessionAssets(db, key) };
      if (leftMs <= 0) {
        await cancelSession(db, { session, isOurFault: shutdownSignal.aborted }, deps.clock.now());
        continue; // the worker may have been faster
      }
      await idle.sleep(Math.min(wake.pollMs(), leftMs), shutdownSignal);
    }
  } finally {
    unlisten();
  }
}

/**
 * Cancels a session that has no texts. Returns false if it has texts after all. It stays counted as work that nobody
 * pays for only if the model was called, and the fault is not ours.
 */
export const cancelSession = (
  db: Db,
  { session, isOurFault }: { readonly session: SessionRow; readonly isOurFault: boolean },
  now: Date,
): Promise<boolean> =>
  transaction(db, async (db) => {
    const failed = await failSession(db, session);
    if (failed === undefined) return false;
    if (isOurFault || !failed.has_called_model) await uncountSession(db, failed);
    await refund(db, { workspace_id: failed.workspace_id, id: failed.reservation_id }, now);
    return true;
  });

/** Takes back the count of the session's request. Requests from before they were counted have none. */
export async function uncountSession(db: Db, { workspace_id, app_id, counted_at }: SessionRow): Promise<void> {
  if (counted_at !== null) await uncountSuggestion(db, { workspace_id, id: app_id }, counted_at);
}

function presentSession({ session, assets }: Progress, { imageAddress }: SessionDeps): Answer<GeneratedAssets> {
  const listTexts = (slot: TextSlot) => assets.filter((row) => row.slot === slot).map(({ text }) => text ?? '');
  const made = assets.filter((row) => row.kind === 'image' && isMade(row));
  const body = {
    session_id: session.id,
    language: toLanguage(session.language),
    copy: {
      headlines: listTexts('HEADLINE'),
      long_headlines: listTexts('LONG_HEADLINE'),
      descriptions: listTexts('DESCRIPTION'),
    },
    images: made.map((row) => presentAsset(row, imageAddress)),
    background_image_count: assets.filter(({ status }) => status === 'processing').length,
  };
  const partial = [
    ...(assets.some(({ status }) => status === 'failed') ? ['images'] : []),
    ...(session.is_logo_missing ? ['logo'] : []),
  ];
  return withNotes(body, { partial });
}

const modelUnavailable = () =>
  new Problem(
    'unavailable',
    'model_unavailable',
    'The language model is unavailable or did not produce usable text in time. Nothing was generated or charged. Send the request again in a few seconds.',
    { retrySafe: true, headers: { 'retry-after': '5' } },
  );

/** Unlike an outage, this is permanent, so retrying is pointless. */
const modelNotConfigured = () =>
  new Problem(
    'unavailable',
    'model_not_configured',
    'This installation has no language model. Ask its operator to set MODEL_URL.',
    { retrySafe: false },
  );
