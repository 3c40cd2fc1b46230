// Owns an app's security settings: the headers of its published files, and whether its code is scanned. They hold for what is
// live already, a second after they were changed.
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { incrementRevision, lockApp } from '../../core/identity/apps.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { type HeaderSettings, presentSettings, type SecuritySettingsChange, type SettingsRow } from './contract.ts';
import { findSettings, saveSettings } from './store.ts';

const defaultSettings: SettingsRow = {
  static_code_enabled: true,
  csp: null,
  hsts: null,
  frame_options: null,
  content_type_options: null,
  referrer_policy: null,
  permissions_policy: null,
};

export const getSecuritySettings = async (db: Db, access: AppAccess) =>
  presentSettings((await findSettings(db, access)) ?? defaultSettings);

/** Fields that are not sent keep their value. A change is a new revision of the app. */
export function setSecuritySettings(db: Db, access: AppAccess, change: SecuritySettingsChange, now: Date) {
  const { app } = access;
  return transaction(db, async (db) => {
    await lockApp(db, access);
    const before = (await findSettings(db, access)) ?? defaultSettings;
    const { static_code_enabled = before.static_code_enabled, headers = {} } = change;
    const after: SettingsRow = { ...before, static_code_enabled, ...withoutUndefined(headers) };
    const changed = (Object.keys(after) as (keyof SettingsRow)[]).filter((name) => before[name] !== after[name]);
    if (changed.length === 0) return unchanged(presentSettings(before));
    await saveSettings(db, access, after);
    await incrementRevision(db, access, now);
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
    return presentSettings(after);
  });
}

const withoutUndefined = (headers: NonNullable<SecuritySettingsChange['headers']>): Partial<HeaderSettings> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
