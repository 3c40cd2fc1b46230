// Ids from names: commands take what a person calls a thing, such as the name of an app or the e-mail address of one of
// its users.
import type { Plinth } from '../../sdk/src/index.ts';
import { CommandError } from './exit.ts';
import { findSimilar } from './similar.ts';

type Ids = Readonly<Record<string, unknown>>;

interface Named {
  readonly id: string;
  readonly names: readonly (string | null)[];
}

interface Finder {
  readonly noun: string;
  /** Whether the other arguments say where to look. */
  readonly needs: readonly string[];
  list(plinth: Plinth, ids: Readonly<Record<string, string>>, wished: string): AsyncIterable<Named> | Promise<Named[]>;
}

const isId = (value: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);

const bySearch = (search: string) => (search === '' ? {} : { search });

/** What can be named, by the argument of operations. */
const finders: Readonly<Record<string, Finder>> = {
  app_id: {
    noun: 'app',
    needs: [],
    async *list(plinth, _ids, search) {
      for await (const { id, name, slug } of plinth.listApps(bySearch(search))) yield { id, names: [name, slug] };
    },
  },
  agent_id: {
    noun: 'agent',
    needs: [],
    async *list(plinth, _ids, search) {
      for await (const { id, name } of plinth.listAgents(bySearch(search))) yield { id, names: [name] };
    },
  },
  user_id: {
    noun: 'user of the app',
    needs: ['app_id'],
    async *list(plinth, { app_id = '' }, search) {
      for await (const { id, email } of plinth.listAppUsers({ app_id, ...bySearch(search) }))
        yield { id, names: [email] };
    },
  },
  webhook_id: {
    noun: 'webhook',
    needs: [],
    async list(plinth, { app_id, agent_id = '' }) {
      const webhooks =
        app_id === undefined ? await plinth.listAgentWebhooks({ agent_id }) : await plinth.listAppWebhooks({ app_id });
      return webhooks.map(({ id, description, target_url }) => ({ id, names: [description, target_url] }));
    },
  },
  delivery_id: {
    noun: 'delivery',
    needs: ['webhook_id'],
    async list(plinth, { app_id, agent_id = '', webhook_id = '' }, wished) {
      if (!/^[1-9]\d*$/.test(wished)) return [];
      const query = { webhook_id, after_seq: Number(wished) - 1, limit: 1 };
      const { items } =
        app_id === undefined
          ? await plinth.listAgentDeliveries({ agent_id, ...query })
          : await plinth.listAppDeliveries({ app_id, ...query });
      return items.map(({ id, sequence }) => ({ id, names: [String(sequence)] }));
    },
  },
  workflow_id: {
    noun: 'workflow',
    needs: ['app_id'],
    async *list(plinth, { app_id = '' }) {
      for await (const { id, name } of plinth.listWorkflows({ app_id })) yield { id, names: [name] };
    },
  },
  conversation_id: {
    noun: 'conversation',
    needs: ['agent_id'],
    async list(plinth, { agent_id = '' }) {
      const conversations = await plinth.listConversations({ agent_id });
      const [latest] = conversations.toSorted((a, b) => (a.created_date < b.created_date ? 1 : -1));
      return latest === undefined ? [] : [{ id: latest.id, names: ['latest'] }];
    },
  },
  entity_id: {
    noun: 'record',
    needs: ['app_id', 'entity_name'],
    async list(plinth, { app_id = '', entity_name = '' }, wished) {
      const [, field, value] = /^(\w+)=(.*)$/s.exec(wished) ?? [];
      if (field === undefined) return [];
      const { items } = await plinth.listRecords({ app_id, entity_name, q: { [field]: value }, limit: 3 });
      return items.map(({ id }) => ({ id, names: [wished] }));
    },
  },
};

/** Whether a thing of this kind can be named where the other arguments are these. */
export const canBeNamed = (argument: string, ids: Ids): boolean =>
  finders[argument]?.needs.every((name) => ids[name] !== undefined) ?? false;

/** The id of the thing that has this name. `ids` are the other arguments, with which it is found. */
export async function findId(plinth: Plinth, argument: string, wished: string, ids: Ids): Promise<string> {
  const finder = finders[argument];
  if (finder === undefined || isId(wished)) return wished;
  const found: string[] = [];
  for await (const { id, names } of await finder.list(plinth, ids as Record<string, string>, wished))
    if (names.includes(wished)) found.push(id);
  const [id] = found;
  if (id === undefined) throw await describeMissing(plinth, argument, wished, ids);
  if (found.length > 1)
    throw new CommandError(
      `More than one ${finder.noun} is called ${quote(wished)}. Pass an id: ${found.slice(0, 3).join(', ')}`,
      'ambiguous',
    );
  return id;
}

/** The error for a name that nothing has, with the names that are most like it. */
async function describeMissing(plinth: Plinth, argument: string, wished: string, ids: Ids): Promise<CommandError> {
  const similar = findSimilar(wished, await listNames(plinth, argument, ids));
  const hint = similar.length > 0 ? ` Did you mean ${similar.map(quote).join(', ')}?` : '';
  return new CommandError(`There is no ${finders[argument]?.noun} ${quote(wished)}.${hint}`, 'not_found');
}

/** A name as it is written on the command line: names may contain spaces and commas. */
export const quote = (name: string): string => JSON.stringify(name);

/** Whether `listNames` knows things of this kind. */
export const canBeListed = (argument: string): boolean => argument === 'entity_name' || argument in finders;

/** The first names of things of a kind, for completion and for hints. */
export async function listNames(plinth: Plinth, argument: string, ids: Ids): Promise<string[]> {
  if (argument === 'entity_name') {
    const schemas = await plinth.listEntitySchemas({ app_id: String(ids.app_id) });
    return schemas.map(({ name }) => name);
  }
  const finder = finders[argument];
  if (finder === undefined || !canBeNamed(argument, ids)) return [];
  const names: (string | null)[] = [];
  for await (const each of await finder.list(plinth, ids as Record<string, string>, '')) {
    names.push(each.names[0] ?? null);
    if (names.length === 100) break;
  }
  return names.filter((name) => name !== null);
}
