// The hosts of previews (docs/api/publishing.md#previews). Whoever knows the label of such a host can open the preview,
// so labels can't be guessed, and only their hashes are stored.
import { createHash, randomBytes } from 'node:crypto';
import { prepared } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';

/** No slug of an app has this prefix. */
const prefix = 'preview--';
const letters = 'abcdefghijklmnopqrstuvwxyz234567';
const labelForm = /^preview--[a-z2-7]{26}$/;

/** Creates a label with 130 random bits, such as `preview--q3m…`. */
export const mintPreviewLabel = (): string =>
  prefix + Array.from(randomBytes(26), (byte) => letters[byte % letters.length]).join('');

export const isPreviewLabel = (label: string): boolean => labelForm.test(label);

/** No pepper is needed, because a label is too random to be guessed. */
export const hashPreviewLabel = (label: string): Buffer => createHash('sha256').update(label).digest();

export interface FoundPreview {
  readonly app_id: string;
  readonly workspace_id: string;
  /** Null if the preview follows the app. */
  readonly revision: number | null;
}

const selectPreview = prepared<FoundPreview, [labelHash: Buffer, now: Date]>(
  'find preview',
  '/* lookup */ select app_id, workspace_id, revision from app_previews where label_hash = $1 and expires_at > $2',
);

/** Undefined if there is no such preview, or it has expired. */
export const findPreview = async (db: Db, label: string, now: Date): Promise<FoundPreview | undefined> =>
  (await selectPreview(db, hashPreviewLabel(label), now))[0];
