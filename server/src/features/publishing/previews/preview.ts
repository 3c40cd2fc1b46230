// Creates and deletes previews: kept revisions of an app, each shown on a host of its own (docs/api/publishing.md#previews).
import { audit } from '../../../core/audit/audit.ts';
import { hashPreviewLabel, mintPreviewLabel } from '../../../core/auth/previews.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { AppAddresses } from '../../../core/identity/app-addresses.ts';
import { lockApp } from '../../../core/identity/apps.ts';
import { transaction } from '../../../kit/db/database.ts';
import { newId } from '../../../kit/ids.ts';
import { limitReached } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { appsDomainMissing } from '../publish.ts';
import type { NewPreview } from './contract.ts';
import type { KeptRevisions } from './serve.ts';
import {
  countPreviews,
  insertPreview,
  listOldestPreviews,
  listPreviews,
  type Preview,
  removePreviews,
} from './store.ts';

/** A user of the app whom a token signs in. */
export interface SignedInUser {
  readonly credential_id: string;
  readonly token: string;
  readonly expires_at: string;
  readonly user: { readonly id: string; readonly email: string };
}

export interface PreviewDeps {
  readonly addresses: AppAddresses;
  readonly revisions: KeptRevisions;
  /** False if apps would be on the host of the API, and the operator has not allowed that. */
  readonly mayPublish: boolean;
  /** Signs in a user of the app for an hour. Throws 404 if there is no such user. */
  signInUser(db: Db, access: AppAccess, userId: string, now: Date): Promise<SignedInUser>;
}

const lifeMs = 24 * 60 * 60 * 1000;
const maxOfApp = 20;
const maxOfWorkspace = 500;

/** An app's oldest previews make room for new ones. */
export function startPreview(db: Db, deps: PreviewDeps, access: AppAccess, input: NewPreview, now: Date) {
  if (!deps.mayPublish) throw appsDomainMissing();
  return transaction(db, async (db) => {
    const app = await lockApp(db, access); // serialises what is counted per app
    if (input.revision !== undefined) await deps.revisions.require(db, access, input.revision);
    const replaced = await listOldestPreviews(db, access, maxOfApp - 1);
    await removePreviews(db, access, replaced);
    if ((await countPreviews(db, access, now)) >= maxOfWorkspace) throw tooMany();
    const signedIn = await signIn(db, deps, access, input.app_user_id, now);
    const label = mintPreviewLabel();
    const row = {
      id: newId(),
      workspace_id: app.workspace_id,
      app_id: app.id,
      label_hash: hashPreviewLabel(label),
      revision: input.revision ?? null,
      credential_id: signedIn?.credential_id ?? null,
      created_date: now,
      expires_at: new Date(now.getTime() + lifeMs),
    };
    await insertPreview(db, row);
    const revision = row.revision ?? app.revision;
    const follows = row.revision === null;
    const expires_at = row.expires_at.toISOString();
    const after = {
      revision,
      follows,
      app_user_id: signedIn?.user.id ?? null,
      expires_at,
      replaced: replaced.map(({ id }) => id),
    };
    await audit(db, access, { ...auditTarget(row), type: 'app.preview_created', after }, now);
    return {
      id: row.id,
      url: deps.addresses.urlOf(label) + toFragment(signedIn),
      revision,
      follows,
      signed_in_as: signedIn
        ? { app_user_id: signedIn.user.id, email: signedIn.user.email, expires_at: signedIn.expires_at }
        : null,
      sandboxed: deps.addresses.areSandboxed,
      expires_at,
    };
  });
}

/** A sandboxed page has no storage and reaches no data, so nobody is signed in there. */
async function signIn(
  db: Db,
  { addresses, signInUser }: PreviewDeps,
  access: AppAccess,
  userId: string | undefined,
  now: Date,
): Promise<SignedInUser | undefined> {
  return userId === undefined || addresses.areSandboxed ? undefined : signInUser(db, access, userId, now);
}

/**
 * What the page's script takes over as the session of the runtime client. It is in the fragment, which browsers never
 * send to a server.
 */
function toFragment(signedIn: SignedInUser | undefined): string {
  if (signedIn === undefined) return '';
  const { token, expires_at, user } = signedIn;
  // The client never renews the token, because it could not be valid for longer.
  const session = { token, expires_at, user, renew_at: Number.MAX_SAFE_INTEGER };
  return `#plinth_session=${Buffer.from(JSON.stringify(session)).toString('base64url')}`;
}

/** The preview's address answers 404 at once, and its token stops working. */
export function deletePreview(db: Db, access: AppAccess & { readonly preview: Preview }, now: Date) {
  return transaction(db, async (db) => {
    const { preview } = access;
    await removePreviews(db, access, [preview]);
    const before = { revision: preview.revision, follows: preview.revision === null };
    await audit(db, access, { ...auditTarget(preview), type: 'app.preview_deleted', before }, now);
    return { success: true } as const;
  });
}

/** Part of moving the app to the trash. */
export async function endPreviews(db: Db, access: AppAccess): Promise<void> {
  await removePreviews(db, access, await listPreviews(db, access));
}

const auditTarget = ({ id, app_id }: Preview) => ({ target: { kind: 'preview', id }, app_id });

const tooMany = () =>
  limitReached(
    maxOfWorkspace,
    'previews',
    `A workspace can have at most ${maxOfWorkspace} previews. Delete some, or wait until the oldest have expired.`,
  );
