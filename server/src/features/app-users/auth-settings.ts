// Owns how the users of an app may sign in and sign up (docs/api/app-users.md#settings).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess, AppRow } from '../../core/auth/proofs.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import type { AppAuthSettingsChange, AppUserRow } from './contract.ts';
import { type AuthSettings, getSettings, lockSettings, saveSettings } from './store/settings.ts';
import { hasSignedIn } from './store/sign-ins.ts';

export interface LinkOriginDeps {
  /** The address of the app's own pages; null if it has none. */
  readonly appUrl: (app: Pick<AppRow, 'slug' | 'live_deployment_id'>) => string | null;
}

export const readSettings = async (db: Db, { app }: AppAccess, deps: LinkOriginDeps) =>
  presentSettings(app, await getSettings(db, app.id), deps);

/** Changes only what was sent. */
export function changeSettings(
  db: Db,
  access: AppAccess,
  { sign_up, methods }: AppAuthSettingsChange,
  deps: LinkOriginDeps,
  now: Date,
) {
  const { app } = access;
  return transaction(db, async (db) => {
    const previous = await lockSettings(db, app.id, now);
    const changed: AuthSettings = {
      sign_up: sign_up ?? previous.sign_up,
      password_enabled: methods?.password ?? previous.password_enabled,
      link_enabled: methods?.link ?? previous.link_enabled,
    };
    const answer = presentSettings(app, changed, deps);
    if (isDeepStrictEqual(changed, previous)) return unchanged(answer);
    await saveSettings(db, app.id, changed, now);
    const target = { kind: 'app', id: app.id };
    const [before, after] = [toChange(previous), toChange(changed)];
    await audit(db, access, { type: 'app.auth_settings_changed', target, app_id: app.id, before, after }, now);
    return answer;
  });
}

/** Nobody can sign up by themselves at an app that is not public, whatever its settings say. */
export const signUpInEffect = (
  { public_settings }: Pick<AppRow, 'public_settings'>,
  { sign_up }: AuthSettings,
): AuthSettings['sign_up'] => (sign_up === 'open' && !public_settings.startsWith('public_') ? 'invited' : sign_up);

/**
 * Whether a manager has created this user for a person who is expected to sign up, and who has not signed in yet. Where everybody
 * may sign up, nobody is expected: an account of that address is somebody's already.
 */
export const isAwaited = async (
  db: Db,
  app: Pick<AppRow, 'public_settings'>,
  user: AppUserRow,
  settings: AuthSettings,
): Promise<boolean> => signUpInEffect(app, settings) === 'invited' && !(await hasSignedIn(db, user));

/** Where links lead: to the app's own pages, else to the first origin that it lists. Null: there is no such place. */
export const findLinkOrigin = (
  app: Pick<AppRow, 'slug' | 'live_deployment_id' | 'public_origins'>,
  { appUrl }: LinkOriginDeps,
) => {
  const url = appUrl(app) ?? app.public_origins[0];
  return url === undefined ? null : new URL(url).origin;
};

const toChange = ({ sign_up, password_enabled, link_enabled }: AuthSettings) => ({
  sign_up,
  methods: { password: password_enabled, link: link_enabled },
});

const presentSettings = (app: AppRow, settings: AuthSettings, deps: LinkOriginDeps) => ({
  ...toChange(settings),
  sign_up_in_effect: signUpInEffect(app, settings),
  link_origin: findLinkOrigin(app, deps),
});
