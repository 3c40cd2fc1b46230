// Compares the final state, as the owners see it, with the journal.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReceivedRequest } from '../../sandbox/src/webhook-endpoint.ts';
import type { TenantLetter } from './caller-kinds.ts';
import { call } from './client.ts';
import type { Environment } from './environment.ts';
import { compareEvents, differences, findLeak, foreignStamps, hiddenDataFor } from './oracle.ts';
import { eventLineOf, type Journal } from './owner.ts';
import { readAllPages, readAllText, readState, type State, trashedIds } from './tenant.ts';

/** Waits for all deliveries, then returns every difference from the expected state. */
export async function inspect(
  environment: Environment,
  journal: Journal,
  before: Readonly<Record<'b' | 'c', State>>,
  received: readonly ReceivedRequest[],
): Promise<string[]> {
  const { send, tenants, kinds } = environment;
  await waitForDeliveries(journal, received);
  const wrong = differences(journal.expected, await readState(send, tenants.a)).map((part) => `a: ${part}`);
  for (const letter of ['b', 'c'] as const) {
    const tenant = tenants[letter];
    wrong.push(...differences(before[letter], await readState(send, tenant)).map((part) => `${letter}: ${part}`));
    if (foreignStamps(letter, kinds).test(await readAllText(send, tenant)))
      wrong.push(`${letter}: written by a stranger`);
  }
  wrong.push(...wrongDeliveries(environment, journal, received), ...(await unexpectedAttempts(environment, journal)));
  return [...wrong, ...(await missingFromTrash(environment))]; // runs last, because it changes the state
}

const deliveriesOf = (letter: TenantLetter, received: readonly ReceivedRequest[]): ReceivedRequest[] =>
  received.filter(({ path }) => path.split('/')[1] === letter);

/** Returns one line per delivery. Repeats are allowed, because delivery is at least once. */
const distinctEvents = (received: readonly ReceivedRequest[]): string[] => [
  ...new Map(
    deliveriesOf('a', received).map((each) => [each.headers['x-service-delivery'] ?? each.body, eventLineOf(each)]),
  ).values(),
];

async function waitForDeliveries({ events }: Journal, received: readonly ReceivedRequest[]): Promise<void> {
  for (let waits = 0; waits < 300 && distinctEvents(received).length < events.length; waits += 1) await sleep(200);
  await sleep(1_000); // allows time for unexpected deliveries
}

export function wrongDeliveries(
  environment: Environment,
  { events }: Journal,
  received: readonly ReceivedRequest[],
): string[] {
  const wrong = compareEvents(events, distinctEvents(received)).map((each) => `a received: ${each}`);
  for (const letter of ['b', 'c'] as const) {
    const hidden = hiddenDataFor(letter, Object.values(environment.tenants), environment.kinds);
    const strange = deliveriesOf(letter, received).filter(({ body, headers }) =>
      findLeak(hidden, { status: 0, headers, body }),
    );
    if (strange.length > 0) wrong.push(`${letter} received events of another app, ${strange.length} times`);
  }
  return wrong;
}

/** Checks that the victim's delivery log matches the journal and that no one caused a redelivery. */
async function unexpectedAttempts({ send, tenants: { a } }: Environment, { events }: Journal): Promise<string[]> {
  const log = `/api/apps/${a.app_id}/webhooks/${a.kept.webhook_id}/deliveries`;
  const logged = await readAllPages(send, a.token, log, 100);
  const wrong = logged.length === events.length ? [] : [`a: ${logged.length} deliveries of ${events.length} events`];
  for (const id of a.kept.delivery_id ?? []) {
    const { attempts } = await call(send, a.token, 'GET', `${log}/${id}`);
    if (attempts.some(({ kind }: { kind: string }) => kind !== 'scheduled')) wrong.push(`a: ${id} was sent again`);
  }
  return wrong;
}

/** Checks that the owner's records in the trash can still be restored. */
async function missingFromTrash({ send, tenants: { a } }: Environment): Promise<string[]> {
  const wrong: string[] = [];
  for (const id of trashedIds(a)) {
    const path = `/api/apps/${a.app_id}/entities/Note/${id}/restore`;
    const { status, body } = await send({ method: 'POST', path, headers: { authorization: `Bearer ${a.token}` } });
    if (status !== 200 || !body.includes(a.marker)) wrong.push(`a: ${id} is not in the trash`);
  }
  return wrong;
}
