// An app's security settings: the headers of its published files, and whether its code is scanned. A change
// applies to the live app within a second.
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess, AppReach } from '../../core/auth/proofs.ts';
import { incrementRevision, lockApp } from '../../core/identity/apps.ts';
import { readFeatures } from '../../core/identity/features.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { type HeaderSettings, presentSettings, type SecuritySettingsChange, type SettingsRow } from './contract.ts';
import { findSettings, saveSettings } from './store.ts';

const defaultSettings: SettingsRow = {
  static_code_enabled: null,
  csp: null,
  hsts: null,
  frame_options: null,
  content_type_options: null,
  referrer_policy: null,
  permissions_policy: null,
};

export const getSecuritySettings = async (db: Db, access: AppReach) => {
  const { static_code_default } = await readFeatures(db, access);
  return presentSettings((await findSettings(db, access)) ?? defaultSettings, static_code_default);
};

export interface SettingsDeps {
  /** Called in the change's transaction, for features that store findings about the app's pages. */
  readonly onPolicyChange: (db: Db, access: AppAccess) => Promise<void>;
}

/** Omitted fields keep their value. A change creates a new revision of the app. */
export function setSecuritySettings(
  db: Db,
  { onPolicyChange }: SettingsDeps,
  access: AppAccess,
  change: SecuritySettingsChange,
  now: Date,
) {
  return transaction(db, async (db) => {
    await lockApp(db, access);
    const before = (await findSettings(db, access)) ?? defaultSettings;
    const { static_code_default } = await readFeatures(db, access);
    const { static_code_enabled = before.static_code_enabled, headers = {} } = change;
    const after: SettingsRow = { ...before, static_code_enabled, ...withoutUndefined(headers) };
    if (listChanged({ before, after }).length === 0) return unchanged(presentSettings(before, static_code_default));
    await incrementRevision(db, access, { cause: 'headers' }, now);
    await saveChange(db, { onPolicyChange }, access, { before, after }, now);
    return presentSettings(after, static_code_default);
  });
}

interface SettingsDifference {
  readonly before: SettingsRow;
  readonly after: SettingsRow;
}

const listChanged = ({ before, after }: SettingsDifference) =>
  (Object.keys(after) as (keyof SettingsRow)[]).filter((name) => before[name] !== after[name]);

async function saveChange(
  db: Db,
  { onPolicyChange }: SettingsDeps,
  access: AppAccess,
  change: SettingsDifference,
  now: Date,
): Promise<void> {
  const { app } = access;
  const changed = listChanged(change);
  await saveSettings(db, access, change.after);
  if (changed.includes('csp')) await onPolicyChange(db, access);
  const pick = (row: SettingsRow) => Object.fromEntries(changed.map((name) => [name, row[name]]));
  const [before, after] = [pick(change.before), pick(change.after)];
  const target = { kind: 'app', id: app.id };
  await audit(db, access, { type: 'app.updated', target, app_id: app.id, before, after }, now);
}

/** An app's headers, for features that restore them as part of a revision that they have started. */
export const createRestoredHeaders = (deps: SettingsDeps) => ({
  async apply(db: Db, access: AppAccess, headers: HeaderSettings, now: Date): Promise<void> {
    const before = (await findSettings(db, access)) ?? defaultSettings;
    await saveChange(db, deps, access, { before, after: { ...before, ...headers } }, now);
  },
});

const withoutUndefined = (headers: NonNullable<SecuritySettingsChange['headers']>): Partial<HeaderSettings> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
