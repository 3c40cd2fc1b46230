// Owns the resolving of names: all addresses or none, and an error is never taken for an empty answer.
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

export type AsksDns = Pick<Resolver, 'resolve4' | 'resolve6' | 'cancel'>;

/** The machine's DNS servers. A new one for each look-up: a broken answer fails everything its resolver has under way. */
export const machineDns = (): AsksDns => new Resolver({ timeout: 2_000, tries: 2 });

/** All addresses, IPv4 first. Undefined when there are none, or when it is not certain that these are all. */
export async function resolve(
  ask: () => AsksDns,
  host: string,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  if (isIP(host) !== 0) return [host];
  const dns = ask();
  const cancel = () => dns.cancel();
  signal?.addEventListener('abort', cancel);
  const [v4, v6] = await Promise.all([known(dns.resolve4(host)), known(dns.resolve6(host))]);
  signal?.removeEventListener('abort', cancel);
  if (v4 === undefined || v6 === undefined) return undefined;
  return v4.length + v6.length === 0 ? undefined : [...v4, ...v6];
}

/** That there are none of a kind is an answer; any other error is not. */
const known = (asked: Promise<string[]>): Promise<string[] | undefined> =>
  asked.catch((error) => (error.code === 'ENODATA' || error.code === 'ENOTFOUND' ? [] : undefined));
