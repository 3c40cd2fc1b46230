// Owns the limits on tries to sign in to one account, of a person or of a user of an app (docs/api/accounts.md#sign-in).
import { nameClient } from '../../kit/http/client-address.ts';
import type { Counters } from '../auth/counters.ts';
import { rateLimited, toWholeSeconds } from '../auth/limits.ts';

const failureWindowSeconds = 15 * 60;
const maxFailures = 5;
const secondsBetweenTries = 5;

export interface SignInTry {
  /** For a user of an app: their e-mail address means another account in every app. */
  readonly app_id?: string;
  /** As it was sent: it may be no address at all. */
  readonly email: string;
  readonly ip: string;
  /** Whether somebody has signed in at the IP address before. */
  readonly isKnownAddress: boolean;
}

/**
 * Refuses after five failures for one account from one IP address within 15 minutes. Guesses from many addresses are slowed
 * down: one try per five seconds for each account. An address at which somebody has signed in before has its own count, so
 * that strangers elsewhere can't use it up.
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

/** Normalised, and bounded because it becomes part of a name. */
export const nameAccount = (email: string): string => email.trim().toLowerCase().slice(0, 254);

/** What a person enters as an e-mail address can't name a counter of an app: the names begin differently. */
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
