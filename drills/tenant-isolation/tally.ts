// Counts requests and responses by caller, operation and aim, and collects the leaks.
import type { HttpRequest, HttpResponse } from './client.ts';
import type { Aim, AttackRequest } from './requests.ts';

type Counts = Record<string, Record<string, number>>;

const shown = 20;
const outsideServices = /^\w+ 503 (ad_platform_unavailable|model_not_configured|model_unavailable)$/;

export class Tally {
  readonly byKind: Counts = {};
  readonly byOperation: Record<string, number> = {};
  readonly serverErrors: Record<string, number> = {};
  leakCount = 0;
  /** The first few leaks. */
  readonly leaks: string[] = [];
  /** How often a caller's credential was rejected although it is valid. */
  signedOut = 0;
  readonly #statuses: Record<string, Map<number, number>> = {};

  count({ kind, aim, op }: AttackRequest, { status, body }: HttpResponse): void {
    if (status >= 500) {
      const failure = `${op.route.name} ${status} ${/"code":"(\w+)"/.exec(body)?.[1]}`;
      this.serverErrors[failure] = (this.serverErrors[failure] ?? 0) + 1;
    }
    // A 401 for a wrong password does not count.
    if (status === 401 && kind.isSignedIn && body.includes('"code":"credentials_')) this.signedOut += 1;
    this.byKind[kind.name] ??= {};
    const row = this.byKind[kind.name] as Record<string, number>;
    const column = `${Math.floor(status / 100)}xx`;
    row[column] = (row[column] ?? 0) + 1;
    this.byOperation[op.route.name] = (this.byOperation[op.route.name] ?? 0) + 1;
    this.#statuses[aim] ??= new Map();
    const statuses = this.#statuses[aim];
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  /** Counts responses that report a failure within Plinth. */
  countServerErrors(): number {
    const ours = Object.entries(this.serverErrors).filter(([failure]) => !outsideServices.test(failure));
    return ours.reduce((sum, [, count]) => sum + count, 0);
  }

  leak(
    { kind, aim, op }: AttackRequest,
    { method, path }: HttpRequest,
    status: number,
    where: string,
    excerpt: string,
  ): void {
    const line = `${op.route.name} by ${kind.name}, ${aim}, in ${where}: ${method} ${path} → ${status} ${excerpt}`;
    this.leakCount += 1;
    if (this.leaks.length < shown) this.leaks.push(line);
  }

  get byAim(): Counts {
    return Object.fromEntries(
      Object.entries(this.#statuses).map(([aim, statuses]) => [aim, Object.fromEntries([...statuses].sort())]),
    );
  }

  /** Returns the share of responses that match, for one aim or for all. */
  share(aim: Aim | undefined, like: (status: number) => boolean): number {
    const all = Object.entries(this.#statuses)
      .filter(([name]) => aim === undefined || name === aim)
      .flatMap(([, statuses]) => [...statuses]);
    const sum = (entries: typeof all) => entries.reduce((total, [, count]) => total + count, 0);
    return sum(all.filter(([status]) => like(status))) / sum(all);
  }
}
