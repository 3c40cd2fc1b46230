// A run's evidence: screenshots and traces in the object storage, and their signed addresses, which are valid for
// an hour.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { type StorageQuota, serviceCaller } from '../../core/storage/quota.ts';
import type { ObjectStorage } from '../../gateways/storage/index.ts';
import type { Clock } from '../../kit/clock.ts';
import { Answer } from '../../kit/http/answer.ts';
import { isUuid } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import { StorageUnavailable } from '../../kit/unavailable.ts';
import type { Db } from '../../tables.ts';
import { insertEvidence, removeEvidence } from './store/evidence.ts';
import type { ExecutionKey, ExecutionRow } from './store/executions.ts';

export interface EvidenceDeps {
  readonly objectStorage: ObjectStorage;
  readonly storage: StorageQuota;
  readonly clock: Clock;
}

const fileForm = /^\d{1,9}-(?:\d{1,4}\.jpg|trace\.zip)$/;

const toKey = (executionId: string, file: string): string => `tests/${executionId}/${file}`;

/** Each claim uses its own file names, because a removed row's object is not deleted immediately. */
export const nameScreenshot = ({ claims }: Pick<ExecutionRow, 'claims'>, step: number): string =>
  `${claims}-${step}.jpg`;
export const nameTrace = ({ claims }: Pick<ExecutionRow, 'claims'>): string => `${claims}-trace.zip`;

/** The app's own data has priority, so evidence is stored only up to this share of the workspace's quota. */
const shareOfQuota = 0.8;

export type StoreEvidence = (file: string, content: Buffer) => Promise<void>;

/**
 * Returns a function that stores one of the run's files. The file is skipped if the workspace's quota does not allow it
 * or the object storage is unavailable, because the run matters more than its screenshots. The report then contains
 * null instead. Once the storage has been unavailable, no more files are stored.
 */
export function createEvidenceStore(
  db: Db,
  { objectStorage, storage, clock }: EvidenceDeps,
  execution: ExecutionKey,
  signal: AbortSignal,
): StoreEvidence {
  const { workspace_id } = execution;
  let isAvailable = true;
  return async (file, content) => {
    if (!isAvailable || signal.aborted || content.length === 0) return; // empty if the page hangs
    const now = clock.now();
    try {
      await storage.admit(db, { workspace_id, caller: serviceCaller }, content.length, now, shareOfQuota);
      await insertEvidence(db, execution, { file, size_bytes: content.length }, now);
      await putInTime(objectStorage, toKey(execution.id, file), content, signal);
    } catch (error) {
      if (error instanceof StorageUnavailable) {
        isAvailable = false;
        await removeEvidence(db, execution, [file]);
      } else if (!(error instanceof Problem)) throw error;
    }
  };
}

const putMs = 5_000;
const putMsPerMiB = 1_000;

/** A storage that does not respond in time is treated as unavailable. */
async function putInTime(storage: ObjectStorage, key: string, content: Buffer, signal: AbortSignal): Promise<void> {
  const maxMs = putMs + Math.floor((content.length / 2 ** 20) * putMsPerMiB);
  const over = AbortSignal.any([signal, AbortSignal.timeout(maxMs)]);
  const late = Promise.withResolvers<never>();
  over.addEventListener('abort', () => late.reject(new StorageUnavailable(over.reason)), { once: true });
  await Promise.race([storage.put(key, content), late.promise]);
}

// ---- addresses

export type EvidenceAddress = (execution: ExecutionKey, file: string, now: Date) => string;

const goodForMs = 60 * 60_000;

const sign = (key: KeyObject, appId: string, executionId: string, file: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`evidence:${appId}:${executionId}:${file}:${expires}`).digest();

export const createEvidenceAddress =
  (signingKey: KeyObject, baseUrl: string): EvidenceAddress =>
  ({ app_id, id }, file, now) => {
    const expires = String(Math.floor((now.getTime() + goodForMs) / 1000));
    const signature = sign(signingKey, app_id, id, file, expires).toString('base64url');
    return `${baseUrl}/api/apps/${app_id}/testing-agent/evidence/${id}/${file}?expires=${expires}&signature=${signature}`;
  };

interface EvidenceRequest {
  readonly params: { readonly app_id: string; readonly execution_id: string; readonly file: string };
  readonly query: { readonly expires?: unknown; readonly signature?: unknown };
}

/** Anyone with the address may fetch the file. Every other request returns 404. */
export async function getTestEvidence(
  { objectStorage, signingKey }: { readonly objectStorage: ObjectStorage; readonly signingKey: KeyObject },
  { params, query }: EvidenceRequest,
  now: Date,
) {
  const { app_id, execution_id, file } = params;
  const { expires, signature } = query;
  if (!isUuid(execution_id) || !fileForm.test(file) || typeof expires !== 'string' || typeof signature !== 'string')
    throw notFound('report_not_found');
  const expected = sign(signingKey, app_id, execution_id, file, expires);
  const actual = Buffer.from(signature, 'base64url');
  const isSigned = actual.length === expected.length && timingSafeEqual(actual, expected);
  if (!isSigned || Number(expires) * 1000 <= now.getTime()) throw notFound('report_not_found');
  const found = await objectStorage.get(toKey(execution_id, file));
  if (found === undefined) throw notFound('report_not_found');
  const isImage = file.endsWith('.jpg');
  const headers = {
    'content-disposition': `${isImage ? 'inline' : 'attachment'}; filename="${file}"`,
    'content-length': String(found.size),
    'cache-control': 'private, max-age=3600',
    'x-content-type-options': 'nosniff',
  };
  return new Answer(found.content, { headers }, 200, isImage ? imageType : traceType);
}

export const imageType = 'image/jpeg';
export const traceType = 'application/zip';
