// The session queue. A worker requests the texts from the model and draws the images one by one. Each part is
// stored as soon as it is finished, so another worker can continue with the next part.
import { randomBytes } from 'node:crypto';
import { settle } from '../../../core/credits/reservations.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import { type Queue, retries } from '../../../kit/background/queues/queue.ts';
import type { Job } from '../../../kit/background/workers/schedule.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import { transaction } from '../../../kit/db/database.ts';
import { newId } from '../../../kit/ids.ts';
import type { Outbound } from '../../../kit/outbound/outbound.ts';
import type { Db } from '../../../tables.ts';
import { channelSlots, type ImageSlot, imageSizes } from '../rules/slots.ts';
import {
  type AssetRow,
  failUnfinishedImages,
  findSessionByKey,
  insertAssets,
  listSessionAssets,
  type NewAsset,
  recordMissingLogo,
  recordModelCall,
  removeExpiredSessions,
  removeOldAssets,
  type SessionRow,
  saveImage,
  saveSessionState,
} from '../store/assets.ts';
import type { Brief } from './brief.ts';
import { type AdCopy, writeCopy } from './copy.ts';
import { toImageKey } from './image.ts';
import { toLanguage } from './languages.ts';
import { styles } from './render/draw.ts';
import type { Renderer } from './render/renderer.ts';
import { cancelSession, computeCost, sessionQueue, toSessionTopic, uncountSession } from './session.ts';

export interface AssetQueueDeps {
  readonly model: LanguageModel;
  readonly renderer: Renderer;
  readonly objectStorage: ObjectStorage;
  readonly outbound: Outbound;
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly clock: Clock;
}

/** Shorter than the caller's wait of 30 seconds. */
const maxCopyMs = 25_000;

export const createSessionQueue = (deps: AssetQueueDeps): Queue<SessionRow> => ({
  name: sessionQueue,
  owner: 'workspace_id',
  byHand: {
    retry: 'The session has ended and unused credits were returned. Start another one with generateAssets.',
    cancel: true,
  },
  // A run spends most of its time waiting for the model. Images are drawn one at a time, and workspaces take turns.
  concurrency: 16,
  perOwner: 4,
  timeoutMs: 5 * 60_000,
  // An object storage outage may last for minutes.
  retryMs: retries(1_000, 10_000, 60_000, 240_000, 600_000),
  async run(session, { db, signal }) {
    const state = session.state === 'writing' ? await write(db, deps, session, signal) : session.state;
    if (state === 'drawing') {
      await drawImages(db, deps, session, signal);
      await endSession(db, session, deps.clock.now());
    }
    deps.wake.notify(toSessionTopic(session.id));
    return {};
  },
  async onDeadLetter(db, session) {
    const now = deps.clock.now();
    if (!(await cancelSession(db, { session, isOurFault: false }, now))) await endSession(db, session, now);
  },
});

export const assetJobs: readonly Job[] = [
  { name: 'remove expired asset sessions', everyMs: 60_000, run: removeExpiredSessions },
  { name: 'remove old generated assets', everyMs: 60_000, run: removeOldAssets },
];

// ---- texts

/** Returns the session's new state, or undefined if the session no longer exists. */
async function write(
  db: Db,
  { model, clock }: AssetQueueDeps,
  session: SessionRow,
  signal: AbortSignal,
): Promise<SessionRow['state'] | undefined> {
  const { texts } = channelSlots[session.channel_type];
  const { business_name, business_description, landing_page_url } = toBrief(session);
  const business = { business_name, business_description, landing_page_url };
  const about = { language: toLanguage(session.language), business };
  // The session may have been cancelled since it was claimed.
  if (!(await recordModelCall(db, session))) return (await findSessionByKey(db, session))?.state;
  const copy = await writeCopy(model, texts, about, AbortSignal.any([signal, AbortSignal.timeout(maxCopyMs)]));
  signal.throwIfAborted(); // another worker is taking over
  if (typeof copy === 'string') {
    // An earlier claim may have called the model with success, and crashed.
    const isOurFault = copy === 'unavailable' && !session.has_called_model;
    await cancelSession(db, { session, isOurFault }, clock.now());
  } else
    await transaction(db, async (db) => {
      if (await saveSessionState(db, session, 'writing', 'drawing'))
        await insertAssets(db, session, listNewAssets(session, copy));
    });
  // A worker that has lost its claim may have written texts in the meantime, whose images still have to be drawn.
  return (await findSessionByKey(db, session))?.state;
}

/** The cast is safe, because only `writeBrief` writes this column. */
const toBrief = ({ brief }: SessionRow): Brief => brief as Brief;

/** The rows for the texts and for the images to be drawn. */
function listNewAssets({ channel_type, language }: SessionRow, copy: AdCopy): NewAsset[] {
  const { texts, images } = channelSlots[channel_type];
  const rows = [
    ...texts.flatMap((slot) =>
      (copy[slot] ?? []).map((text) => ({ slot, kind: 'text' as const, text, status: 'ready' as const })),
    ),
    ...images.map((slot) => ({
      slot,
      kind: 'image' as const,
      ...imageSizes[slot],
      file_name: `${randomBytes(20).toString('hex')}.jpg`,
      status: 'processing' as const,
    })),
  ];
  return rows.map((row, position) => ({ ...row, id: newId(), position, language }));
}

// ---- images

async function drawImages(db: Db, deps: AssetQueueDeps, session: SessionRow, signal: AbortSignal): Promise<void> {
  const assets = await listSessionAssets(db, session);
  const waiting = assets.filter(({ status }) => status === 'processing');
  if (waiting.length === 0) return;
  let logo = await fetchLogo(session, deps, signal);
  let failure: unknown;
  for (const asset of waiting) {
    try {
      const { image, hasLogo } = await deps.renderer.render({ ...describeImage(session, asset, assets), logo });
      if (!hasLogo) logo = undefined; // the next image can't use it either
      signal.throwIfAborted();
      await store(db, deps, asset, Buffer.from(image));
    } catch (error) {
      signal.throwIfAborted();
      failure ??= error; // the remaining images may succeed
    }
  }
  if (failure !== undefined) throw failure;
  if (logo === undefined && toBrief(session).logo_url !== null) await recordMissingLogo(db, session);
}

async function store(db: Db, { objectStorage }: AssetQueueDeps, asset: AssetRow, image: Buffer): Promise<void> {
  if (asset.file_name === null) throw new Error('an image asset has no file name');
  const key = toImageKey(asset.file_name);
  await objectStorage.put(key, image);
  if (!(await saveImage(db, asset, image.length))) await objectStorage.remove([key]);
}

/** Each image in a session gets a different headline. The session id selects one of three styles. */
function describeImage(session: SessionRow, asset: AssetRow, assets: readonly AssetRow[]) {
  const { business_name, accent } = toBrief(session);
  const textsOf = (slot: string) => assets.filter((each) => each.slot === slot).map(({ text }) => text ?? '');
  const choose = (texts: readonly string[]) => texts[asset.position % texts.length] ?? '';
  const seed = Number.parseInt(session.id.slice(-6), 16);
  return {
    workspace_id: session.workspace_id,
    app_id: session.app_id,
    slot: asset.slot as ImageSlot, // only images reach this point
    style: styles[seed % styles.length] ?? 'deep',
    language: session.language,
    name: business_name,
    headline: choose(textsOf('HEADLINE')),
    description: choose(textsOf('DESCRIPTION')),
    accent,
  };
}

const logoLimits = { maxBodyBytes: 5 * 1024 * 1024, timeoutMs: 10_000 };

/** Undefined if the app has no logo or it can't be fetched. The image then shows the name's first letter. */
async function fetchLogo(
  session: SessionRow,
  { outbound }: AssetQueueDeps,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const { logo_url: url } = toBrief(session);
  if (url === null) return undefined;
  for (let tries = 0; tries < 2; tries += 1) {
    const got = await outbound.send({ owner: session.workspace_id, method: 'GET', url, ...logoLimits, signal });
    if (got.outcome === 'answered' && got.status === 200 && !got.truncated) return got.body;
  }
  return undefined;
}

/** Charges for the finished assets, and marks undrawn images as failed. */
const endSession = (db: Db, session: SessionRow, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    if (!(await saveSessionState(db, session, 'drawing', 'ended'))) return;
    const made = await failUnfinishedImages(db, session);
    await uncountSession(db, session);
    await settle(db, { workspace_id: session.workspace_id, id: session.reservation_id }, computeCost(made), now);
  });
