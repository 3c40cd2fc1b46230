// Owns the look at everything afterwards, through the owners: what is not as the journal says.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Heard } from '../../sandbox/src/hooks.ts';
import { done } from './client.ts';
import type { Letter } from './kinds.ts';
import { differences, hiddenFrom, leakIn, type State, strangeTo, untrue } from './oracle.ts';
import { type Journal, toldIn } from './owner.ts';
import { allOf, stateOf, textOf, trashedIn } from './place.ts';
import type { Stage } from './stage.ts';

/** What is not as it must be, once all deliveries have come. */
export async function inspect(
  stage: Stage,
  journal: Journal,
  before: Readonly<Record<'b' | 'c', State>>,
  heard: readonly Heard[],
): Promise<string[]> {
  const { send, places, kinds } = stage;
  await settled(journal, heard);
  const wrong = differences(journal.expected, await stateOf(send, places.a)).map((part) => `a: ${part}`);
  for (const letter of ['b', 'c'] as const) {
    const place = places[letter];
    wrong.push(...differences(before[letter], await stateOf(send, place)).map((part) => `${letter}: ${part}`));
    if (strangeTo(letter, kinds).test(await textOf(send, place))) wrong.push(`${letter}: written by a stranger`);
  }
  wrong.push(...misheard(stage, journal, heard), ...(await misused(stage, journal)));
  return [...wrong, ...(await restored(stage))]; // last: it changes what is there
}

const heardBy = (letter: Letter, heard: readonly Heard[]): Heard[] =>
  heard.filter(({ path }) => path.split('/')[1] === letter);

/** Once per delivery: at least once is the promise. */
const toldTo = (heard: readonly Heard[]): string[] => [
  ...new Map(
    heardBy('a', heard).map((each) => [each.headers['x-service-delivery'] ?? each.body, toldIn(each)]),
  ).values(),
];

async function settled({ events }: Journal, heard: readonly Heard[]): Promise<void> {
  for (let waits = 0; waits < 300 && toldTo(heard).length < events.length; waits += 1) await sleep(200);
  await sleep(1_000); // what should not come has had its time
}

export function misheard(stage: Stage, { events }: Journal, heard: readonly Heard[]): string[] {
  const wrong = untrue(events, toldTo(heard)).map((each) => `a was told: ${each}`);
  for (const letter of ['b', 'c'] as const) {
    const hidden = hiddenFrom(letter, Object.values(stage.places), stage.kinds);
    const strange = heardBy(letter, heard).filter(({ body, headers }) => leakIn(hidden, { status: 0, headers, body }));
    if (strange.length > 0) wrong.push(`${letter} was told of another’s, ${strange.length} times`);
  }
  return wrong;
}

/** The victim's log holds what the journal says, and nobody had anything sent again. */
async function misused({ send, places: { a } }: Stage, { events }: Journal): Promise<string[]> {
  const log = `/api/apps/${a.app_id}/webhooks/${a.kept.webhook_id}/deliveries`;
  const logged = await allOf(send, a.token, log, 100);
  const wrong = logged.length === events.length ? [] : [`a: ${logged.length} deliveries of ${events.length} events`];
  for (const id of a.kept.delivery_id ?? []) {
    const { attempts } = await done(send, a.token, 'GET', `${log}/${id}`);
    if (attempts.some(({ kind }: { kind: string }) => kind !== 'scheduled')) wrong.push(`a: ${id} was sent again`);
  }
  return wrong;
}

/** What the owner had thrown away is still there to be fetched. */
async function restored({ send, places: { a } }: Stage): Promise<string[]> {
  const wrong: string[] = [];
  for (const id of trashedIn(a)) {
    const path = `/api/apps/${a.app_id}/entities/Note/${id}/restore`;
    const { status, body } = await send({ method: 'POST', path, headers: { authorization: `Bearer ${a.token}` } });
    if (status !== 200 || !body.includes(a.marker)) wrong.push(`a: ${id} is not in the trash`);
  }
  return wrong;
}
