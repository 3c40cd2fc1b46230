// An app's settings for how its users sign in and sign up (docs/api/app-users.md#settings).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess, AppRow } from '../../core/auth/proofs.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import type { AppAuthSettingsChange, AppUserRow } from './contract.ts';
import { type AuthSettings, findSettings, getSettings, lockSettings, saveSettings } from './store/settings.ts';
import { hasSignedIn } from './store/sign-ins.ts';

export interface LinkOriginDeps {
  /** Returns the address of the app's own pages, or null if it has none. */
  readonly appUrl: (app: Pick<AppRow, 'slug' | 'live_deployment_id'>) => string | null;
}

type SettingsDeps = LinkOriginDeps & MailDeps;

export const readSettings = async (db: Db, deps: SettingsDeps, { app }: AppAccess) =>
  presentSettings(app, await getSettings(db, app.id), deps);

/** Changes only the settings that were sent. */
export async function changeSettings(
  db: Db,
  deps: SettingsDeps,
  access: AppAccess,
  change: AppAuthSettingsChange,
  now: Date,
) {
  const { settings, isChanged } = await saveChange(db, access, change, now);
  const answer = presentSettings(access.app, settings, deps);
  return isChanged ? answer : unchanged(answer);
}

const saveChange = (db: Db, access: AppAccess, { sign_up, methods }: AppAuthSettingsChange, now: Date) =>
  transaction(db, async (db) => {
    const { app } = access;
    const previous = await lockSettings(db, app.id, now);
    const settings: AuthSettings = {
      sign_up: sign_up ?? previous.sign_up,
      password_enabled: methods?.password ?? previous.password_enabled,
      link_enabled: methods?.link ?? previous.link_enabled,
    };
    if (isDeepStrictEqual(settings, previous)) return { settings, isChanged: false };
    await saveSettings(db, app.id, settings, now);
    const target = { kind: 'app', id: app.id };
    const [before, after] = [toChange(previous), toChange(settings)];
    await audit(db, access, { type: 'app.auth_settings_changed', target, app_id: app.id, before, after }, now);
    return { settings, isChanged: true };
  });

// ---- for other features

interface MailDeps {
  readonly mail: Pick<Mail, 'configured' | 'inboxUrl'>;
}

/** Used by the assistant that builds the app. Until the settings are saved, nobody has chosen who may sign up. */
export const createSignUpChoice = ({ mail }: MailDeps) => ({
  async read(db: Db, { app }: AppAccess) {
    const saved = await findSettings(db, app.id);
    return { mode: saved?.sign_up ?? 'closed', isChosen: saved !== undefined, canMail: mail.configured };
  },
  async save(db: Db, access: AppAccess, sign_up: AuthSettings['sign_up'], now: Date): Promise<void> {
    await saveChange(db, access, { sign_up }, now);
  },
});

/** Used by the pages of a published app: the settings in effect. */
export async function readSignInOffer(
  db: Db,
  { mail }: MailDeps,
  app: Pick<AppRow, 'id' | 'public_settings'>,
): Promise<SignInOffer> {
  const settings = await getSettings(db, app.id);
  const offer = { ...toChange(settings), sign_up: offerSignUp(app, settings, { mail }), mail: mail.configured };
  return mail.inboxUrl === undefined ? offer : { ...offer, mail_inbox: mail.inboxUrl };
}

export interface SignInOffer {
  readonly sign_up: AuthSettings['sign_up'];
  readonly methods: { readonly password: boolean; readonly link: boolean };
  /** Whether this installation can send e-mail. */
  readonly mail: boolean;
  /** The page that shows all mails, if a stand-in keeps them instead of delivering them. */
  readonly mail_inbox?: string;
}

// ---- what the settings mean

/** Who can sign up at present. Signing up requires mail and a way to sign in. */
const offerSignUp = (
  app: Pick<AppRow, 'public_settings'>,
  settings: AuthSettings,
  { mail }: MailDeps,
): AuthSettings['sign_up'] =>
  mail.configured && (settings.password_enabled || settings.link_enabled) ? signUpInEffect(app, settings) : 'closed';

/** Self-service sign-up is off for an app that is not public, regardless of this setting. */
export const signUpInEffect = (
  { public_settings }: Pick<AppRow, 'public_settings'>,
  { sign_up }: AuthSettings,
): AuthSettings['sign_up'] => (sign_up === 'open' && !public_settings.startsWith('public_') ? 'invited' : sign_up);

/**
 * Whether a manager created this user for a person who is expected to sign up but has not signed in yet. False for all
 * users if sign-up is open to everyone, because an existing account then already belongs to someone.
 */
export const isAwaited = async (
  db: Db,
  app: Pick<AppRow, 'public_settings'>,
  user: AppUserRow,
  settings: AuthSettings,
): Promise<boolean> => signUpInEffect(app, settings) === 'invited' && !(await hasSignedIn(db, user));

/**
 * The origin that links point to: the origin of the app's own pages, or else the first in `public_origins`. Null if the
 * app has neither.
 */
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

const presentSettings = (app: AppRow, settings: AuthSettings, deps: SettingsDeps) => ({
  ...toChange(settings),
  sign_up_in_effect: offerSignUp(app, settings, deps),
  link_origin: findLinkOrigin(app, deps),
});
