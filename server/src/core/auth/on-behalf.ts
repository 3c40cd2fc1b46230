// Owns the proof for work that a request has begun and that goes on without it, such as a turn of the builder chat. It is
// issued anew whenever the work is about to do something, by what the person may do at that moment.
import type { AnyDb } from '../../kit/db/database.ts';
import { Problem } from '../../kit/problem.ts';
import { lookUpAppByCredentialId } from './lookup.ts';
import type { AppAccess } from './proofs.ts';
import { decideApp } from './resource-guards.ts';
import type { AppRole } from './roles.ts';

/** The request that began the work. Its columns are part of the row that records the work. */
export interface BegunRequest {
  readonly credential_id: string;
  readonly request_id: string;
  readonly ip: string;
}

/**
 * Undefined if the person no longer has the role, was blocked, removed or deactivated, if the app was deleted, or if the
 * credential of the request was revoked. A credential that merely expired meanwhile was valid when it was used.
 */
export async function findAccessOnBehalf(
  db: AnyDb,
  { credential_id, request_id, ip }: BegunRequest,
  appId: string,
  required: AppRole,
): Promise<AppAccess | undefined> {
  const lookup = await lookUpAppByCredentialId(db, credential_id, appId);
  if (lookup === undefined) return undefined;
  try {
    return decideApp(lookup, { requestId: request_id, address: ip }, required, 'app_not_found');
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
