// The queue of e-mails with links. Recipients are chosen here instead of in the request, because the request's
// duration would reveal whether the address has a user.
import { hashOneTimeToken, newOneTimeToken } from '../../core/identity/accounts.ts';
import { type Queue, type QueueRow, retries } from '../../kit/background/queues/queue.ts';
import { toNameInMail } from '../../kit/name-in-mail.ts';
import type { Db } from '../../tables.ts';
import { findLinkOrigin, isAwaited, signUpInEffect } from './auth-settings.ts';
import type { LinkDeps } from './links.ts';
import { countMail } from './mail-limits.ts';
import { awaitedUserMail, existingUserMail, passwordMail, signInMail, signUpMail, type WriteMail } from './mails.ts';
import { findMailingApp, type LinkRow, type MailingApp, openLink } from './store/links.ts';
import { getSettings } from './store/settings.ts';
import { findUserByEmail } from './store/sign-ins.ts';

const linkMs = 60 * 60 * 1000;

export const linkMailQueue = (deps: LinkDeps): Queue<LinkRow & QueueRow> => ({
  name: 'app_user_links',
  owner: 'app_id',
  concurrency: 8,
  perOwner: 2,
  byHand: { retry: true, cancel: true },
  timeoutMs: 30_000,
  // Gives up after about 15 minutes. A user who is still waiting will have requested another e-mail by then.
  retryMs: retries(1_000, 10_000, 60_000, 5 * 60_000, 10 * 60_000),
  async run(row, { db, now }) {
    const app = await findMailingApp(db, row.app_id);
    const origin = app && findLinkOrigin(app, deps);
    if (!app || !origin) return {};
    const writeMail = await chooseMail(db, app, row);
    if (writeMail === undefined) return {};
    const isRetry = row.hash !== null; // a retry has already been counted
    if (!isRetry && !(await countMail(app, row, deps.counters))) return {};
    const token = newOneTimeToken();
    const hash = hashOneTimeToken(token, deps.tokenKeys.peppers[0]);
    await openLink(db, row, { hash, expires_at: new Date(now.getTime() + linkMs) });
    // The token is in the fragment, which browsers never send to a server.
    const link = `${origin}/#plinth_link=${token}`;
    const result = await deps.mail.send({ to: row.email, ...writeMail(toNameInMail(app.name, 'an app'), link) });
    if (result !== 'sent') throw new Error(`link e-mail not sent (${result})`);
    return {};
  },
});

/** Returns undefined if this address gets no e-mail. */
async function chooseMail(db: Db, app: MailingApp, { email, purpose }: LinkRow): Promise<WriteMail | undefined> {
  const settings = await getSettings(db, app.id);
  if (!settings.password_enabled && !settings.link_enabled) return undefined;
  const user = await findUserByEmail(db, app.id, email);
  if (purpose === 'sign_in') return user && (settings.link_enabled ? signInMail : passwordMail);
  const mode = signUpInEffect(app, settings);
  if (mode === 'closed' || (mode === 'invited' && user === undefined)) return undefined;
  if (user !== undefined) {
    if (await isAwaited(db, app, user, settings)) return awaitedUserMail;
    return settings.link_enabled ? existingUserMail : passwordMail;
  }
  return signUpMail;
}
