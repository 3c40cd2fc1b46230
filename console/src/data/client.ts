// The only file that imports the SDK's code: one client per workspace, with the cookie of the signed-in person.
import { type Answer, type CallOptions, isPlinthError, type Operations, Plinth, PlinthError } from '@plinth/client';
import { createContext, use } from 'react';

export { isPlinthError, PlinthError };

export type Name = keyof Operations;
export type Args<N extends Name> = NonNullable<Parameters<Operations[N]>[0]>;
export type Data<N extends Name> = Awaited<ReturnType<Operations[N]>>;
export type AnswerOf<N extends Name> = Answer<Data<N>>;
export type EventOf<N extends Name> =
  ReturnType<Operations[N]> extends { stream(): AsyncIterable<infer Event> } ? Event : never;

/** The ids of the last requests, for reports of what failed. */
export const lastRequests: string[] = [];

/** A user of an app, as whom its records are read. */
export interface AppUser {
  readonly app_id: string;
  readonly user_id: string;
}

/** In whose name operations take place: the signed-in person in a workspace, or a user of an app. */
export interface Caller {
  readonly workspaceId: string | undefined;
  readonly appUser: AppUser | undefined;
}

const clients = new Map<string, Plinth>();

function findClient(caller: Caller): Plinth {
  const key = JSON.stringify([caller.workspaceId, caller.appUser]);
  const known = clients.get(key);
  if (known !== undefined) return known;
  const { workspaceId, appUser } = caller;
  const credential =
    appUser === undefined
      ? { session: true, ...(workspaceId !== undefined && { workspaceId }) }
      : { url: new URL(import.meta.url).origin, token: tokenOf(appUser, workspaceId), dangerouslyAllowBrowser: true };
  const client = new Plinth({
    ...credential,
    onNotes: 'ignore', // the screens show them
    onRequest: ({ operation, requestId }) => {
      lastRequests.push(`${operation} ${requestId}`);
      if (lastRequests.length > 10) lastRequests.shift();
    },
  });
  clients.set(key, client);
  return client;
}

const tokenSeconds = 300;

/** Creates a short token when the last one is about to expire. It stays in this function. */
function tokenOf(user: AppUser, workspaceId: string | undefined): () => Promise<string> {
  let last: { readonly token: Promise<string>; readonly until: number } | undefined;
  const create = async () => {
    const args = { ...user, expires_in_seconds: tokenSeconds };
    const { token } = await send({ workspaceId, appUser: undefined }, 'createAppUserToken', args);
    return token ?? '';
  };
  return () => {
    if (last === undefined || last.until < Date.now())
      last = { token: create(), until: Date.now() + (tokenSeconds - 30) * 1_000 };
    last.token.catch(() => {
      last = undefined;
    });
    return last.token;
  };
}

/** The workspace in which the operations of a screen take place. It comes from the address, or from the app. */
export const WorkspaceContext = createContext<string | undefined>(undefined);

/** The user as whom a part of a screen reads. */
export const AppUserContext = createContext<AppUser | undefined>(undefined);

export const useWorkspaceId = (): string | undefined => use(WorkspaceContext);

export const useCaller = (): Caller => ({ workspaceId: use(WorkspaceContext), appUser: use(AppUserContext) });

interface Call<N extends Name> extends PromiseLike<Data<N>> {
  answer(): Promise<AnswerOf<N>>;
  stream(): AsyncIterable<EventOf<N>>;
}

/** Sends one operation. The types of the SDK's methods are found by the name. */
export function send<N extends Name>(caller: Caller, name: N, args: Args<N>, options: CallOptions = {}): Call<N> {
  const client = findClient(caller) as unknown as Record<Name, (args: unknown, options: CallOptions) => unknown>;
  return client[name](args, options) as Call<N>;
}

export const newKey = (): string => crypto.randomUUID?.() ?? String(crypto.getRandomValues(new Uint32Array(4)));
