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
  const { app } = access;
  return transaction(db, async (db) => {
    await lockApp(db, access);
    const before = (await findSettings(db, access)) ?? defaultSettings;
    const { static_code_default } = await readFeatures(db, access);
    const { static_code_enabled = before.static_code_enabled, headers = {} } = change;
    const after: SettingsRow = { ...before, static_code_enabled, ...withoutUndefined(headers) };
    const changed = (Object.keys(after) as (keyof SettingsRow)[]).filter((name) => before[name] !== after[name]);
    if (changed.length === 0) return unchanged(presentSettings(before, static_code_default));
    await incrementRevision(db, access, { cause: 'headers' }, now);
    await saveSettings(db, access, after);
    if (changed.includes('csp')) await onPolicyChange(db, access);
    const pick = (row: SettingsRow) => Object.fromEntries(changed.map((name) => [name, row[name]]));
    await audit(
      db,
      access,
      {
        type: 'app.updated',
        target: { kind: 'app', id: app.id },
        app_id: app.id,
        before: pick(before),
        after: pick(after),
      },
      now,
    );
    return presentSettings(after, static_code_default);
  });
}

const withoutUndefined = (headers: NonNullable<SecuritySettingsChange['headers']>): Partial<HeaderSettings> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
