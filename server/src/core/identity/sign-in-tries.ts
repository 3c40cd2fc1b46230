// The limits on attempts to sign in to a person's or an app user's account (docs/api/accounts.md#sign-in).
import { nameClient } from '../../kit/http/connection/client-address.ts';
import { rateLimited, toWholeSeconds } from '../auth/limits.ts';
import type { Counters } from '../auth/rate-limits/counters.ts';

const failureWindowSeconds = 15 * 60;
const maxFailures = 5;
const secondsBetweenTries = 5;

export interface SignInTry {
  /** Set for app users, because an e-mail address identifies a different account in each app. */
  readonly app_id?: string;
  /** The unvalidated text from the request. It may not be an e-mail address. */
  readonly email: string;
  readonly ip: string;
  /** Whether anyone has signed in from this IP address before. */
  readonly isKnownAddress: boolean;
}

/**
 * Throws 429 after five failed attempts for an account from one IP address within 15 minutes. In addition, all
 * addresses together get one attempt per account every five seconds. An address from which anyone has signed in before
 * is counted separately, so strangers elsewhere can't use up its attempts.
 */
export async function refuseRepeatedTries(counters: Counters, tried: SignInTry): Promise<void> {
  const failed = await counters.add(nameFailures(tried), failureWindowSeconds, 0);
  if (failed.count >= maxFailures) throw tooManyTries(maxFailures, failureWindowSeconds, failed.resetMs);
  const tries = await counters.add(nameTries(tried), secondsBetweenTries);
  if (tries.count > 1) throw tooManyTries(1, secondsBetweenTries, tries.resetMs);
}

export async function countFailedTry(counters: Counters, tried: SignInTry): Promise<void> {
  await counters.add(nameFailures(tried), failureWindowSeconds);
}

/** Normalises the address and limits its length, because it becomes part of a counter's name. */
export const nameAccount = (email: string): string => email.trim().toLowerCase().slice(0, 254);

/** The prefixes differ, so no text entered as an e-mail address can produce the name of an app's counter. */
const nameCounter = (kind: string, { app_id, email }: SignInTry): string =>
  app_id === undefined ? `${kind}:${nameAccount(email)}` : `app-${kind}:${app_id}:${nameAccount(email)}`;
const nameFailures = (tried: SignInTry): string => `${nameCounter('sign-in', tried)}:${nameClient(tried.ip)}`;
const nameTries = (tried: SignInTry): string =>
  `${nameCounter('sign-in-try', tried)}${tried.isKnownAddress ? `:${nameClient(tried.ip)}` : ''}`;

function tooManyTries(limit: number, windowSeconds: number, resetMs: number) {
  const seconds = toWholeSeconds(resetMs);
  return rateLimited(
    `Too many attempts to sign in with this e-mail address. Retry in ${seconds} seconds.`,
    limit,
    windowSeconds,
    seconds,
  );
}
