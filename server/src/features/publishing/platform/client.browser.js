// The runtime client of a published app: its data, the sign-in of its users and its events, for the app's own pages.
//
//   import { auth, entities } from '/_plinth/client.js';
//   await auth.signIn({ email, password });
//   const { items } = await entities.Task.list({ filter: { done: false }, sort: '-created_date' });
//
// Every failure is a PlinthError. What a user may read and write is decided on the server, by the rules of each entity.
// Documentation: docs/guides/runtime-client.md

// @ts-expect-error It is made for each app: its id, the address of the API, and the ways in which people can sign in.
import { app } from '/_plinth/app.js';

export { app };

/**
 * @typedef {{ id: string, email: string, full_name: string, role: 'admin' | 'user', has_password: boolean, created_date: string }} User
 * @typedef {{ token: string, expires_at: string, user: User }} SignedIn
 * @typedef {SignedIn & { renew_at: number }} Session
 * @typedef {{ loc: (string | number)[], msg: string, type: string }} Fault
 * @typedef {{ body?: unknown, query?: Record<string, string>, token?: string }} Call
 * @typedef {Record<string, unknown> & { id: string }} Item  A record, with the fields of its entity.
 * @typedef {object} ListOptions
 * @property {object} [filter] In the query language: `{ done: false, due: { $lt: '2027-01-01' } }`.
 * @property {string} [sort] Fields, joined by commas; a leading `-` reverses: `-created_date`.
 * @property {string[]} [fields] Only these fields.
 * @property {number} [limit] 1 to 1,000, default 100.
 * @property {string} [cursor] `next_cursor` of the page before.
 */

/** An error answer, or none: `status` is then 0 and `code` is `unreachable`. Decide by `code`; `message` is for people. */
export class PlinthError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, detail?: string | Fault[] }} problem
   */
  constructor(status, problem) {
    const { code, detail } = problem;
    super(Array.isArray(detail) ? detail.map(describeFault).join(' ') : (detail ?? 'Something went wrong. Try again.'));
    this.name = 'PlinthError';
    this.status = status;
    /** `validation` for fields that are not valid. */
    this.code = Array.isArray(detail) ? 'validation' : (code ?? 'unknown');
    /** The faults of the fields, or all members of the problem. */
    this.details = Array.isArray(detail) ? detail : problem;
  }
}

/** @param {Fault} fault */
function describeFault({ loc, msg }) {
  const [, ...field] = loc; // the first is `body` or `query`
  const name = field.join('.') || 'the request';
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} ${msg}.`;
}

// ---- data

/** @param {string} name */
const createEntity = (name) => {
  const path = `entities/${encodeURIComponent(name)}`;
  /** @param {string} id */
  const at = (id) => `${path}/${encodeURIComponent(id)}`;
  return {
    /**
     * One page of records that the caller may read, newest first.
     * @param {ListOptions} [options]
     * @returns {Promise<{ items: Item[], next_cursor: string | null, has_more: boolean }>}
     */
    list: ({ filter, fields, sort, limit, cursor } = {}) =>
      call('GET', path, {
        query: {
          ...(filter && { q: JSON.stringify(filter) }),
          ...(fields && { fields: fields.join(',') }),
          ...(sort && { sort }),
          ...(limit && { limit: String(limit) }),
          ...(cursor && { cursor }),
        },
      }),
    /** @param {object} [filter] @returns {Promise<number>} */
    count: async (filter) =>
      (await call('GET', `${path}/count`, { query: filter ? { q: JSON.stringify(filter) } : {} })).count,
    /** @param {string} id @returns {Promise<Item>} */
    get: (id) => call('GET', at(id)),
    /** @param {object} data @returns {Promise<Item>} */
    create: (data) => call('POST', path, { body: data }),
    /**
     * Fields that are not sent keep their value.
     * @param {string} id @param {object} changes @returns {Promise<Item>}
     */
    update: (id, changes) => call('PUT', at(id), { body: changes }),
    /** Moves the record to the trash. @param {string} id @returns {Promise<void>} */
    delete: async (id) => {
      await call('DELETE', at(id));
    },
  };
};

/**
 * The entities of the app by name: `entities.Task`.
 * @type {Record<string, ReturnType<typeof createEntity>>}
 */
export const entities = new Proxy(Object.create(null), {
  // `then` would make `await entities` wait forever.
  get: (_, name) => (typeof name === 'string' && name !== 'then' ? createEntity(name) : undefined),
});

// ---- events

const trackPath = 'analytics/track/batch';

export const analytics = {
  /**
   * Stores that something happened on this page, by the user who is signed in: `track('order_placed', { total: 12.5 })`.
   * @param {string} name @param {Record<string, string | number | boolean | null>} [properties] @returns {Promise<void>}
   */
  track: async (name, properties = {}) => {
    const page_url = location.origin + location.pathname; // the rest of an address may have tokens
    // The id makes it safe to repeat: the first attempt may have been stored.
    const body = { events: [{ event_name: name, event_id: crypto.randomUUID(), properties, page_url }] };
    const attempt = () => call('POST', trackPath, { body });
    const { rejected } = await attempt().catch((error) => {
      if (error.status === 0) return attempt();
      throw error;
    });
    if (rejected.length > 0)
      throw new PlinthError(200, { code: rejected[0].reason, detail: 'The event was rejected.' });
  },
};

// ---- sign-in

export const auth = {
  /** Who is signed in, as far as this page knows. @returns {User | null} */
  get user() {
    return session?.user ?? null;
  },
  /** @param {{ email: string, password: string }} input @returns {Promise<User>} */
  signIn: async ({ email, password }) =>
    begin(await send('POST', 'auth/sign-in', { body: { email, password, expires_in_seconds: tokenSeconds } })),
  /** A link is sent to the address, if it can sign up. @param {{ email: string, password: string, full_name?: string }} input */
  signUp: async (input) => {
    await send('POST', 'auth/sign-up', { body: input });
  },
  /** A link is sent to the address, if a user has it. @param {{ email: string }} input */
  requestLink: async ({ email }) => {
    await send('POST', 'auth/link', { body: { email } });
  },
  /** Whether the page was opened with a link of a mail that was not used yet. */
  hasLink: () => takeLink() !== undefined,
  /**
   * Signs in with the link that the page was opened with, and sets a password if one is given. Null if there is no link.
   * @param {{ password?: string }} [input] @returns {Promise<User | null>}
   */
  useLink: async ({ password } = {}) => {
    const link_token = takeLink();
    if (link_token === undefined) return null;
    const body = { link_token, password, expires_in_seconds: tokenSeconds };
    try {
      const signedIn = await send('POST', 'auth/link/use', { body });
      link = undefined;
      return begin(signedIn);
    } catch (error) {
      if (error instanceof PlinthError && error.status === 410) link = undefined;
      throw error;
    }
  },
  /** Reads the signed-in user from the server; null if nobody is signed in. @returns {Promise<User | null>} */
  me: async () => {
    if (session === null) return null;
    try {
      const user = await call('GET', 'auth/me');
      if (session) keep({ ...session, user });
      return user;
    } catch (error) {
      if (error instanceof PlinthError && error.status === 401) return null;
      throw error;
    }
  },
  signOut: async () => {
    const token = session?.token;
    keep(null);
    if (token) await send('POST', 'auth/sign-out', { token }).catch(() => {}); // it expires by itself
  },
  /**
   * Calls the listener now, and whenever somebody signs in or out, also in another tab. Returns a function that ends it.
   * @param {(user: User | null) => void} listener @returns {() => void}
   */
  onChange: (listener) => {
    listeners.add(listener);
    listener(auth.user);
    return () => listeners.delete(listener);
  },
};

/** @type {string | undefined} */
let link;

/** The token of the link. It is removed from the address, where others could see it. */
function takeLink() {
  const token = /^#plinth_link=([\w-]+)$/.exec(location.hash)?.[1];
  if (token) history.replaceState(history.state, '', location.pathname + location.search);
  link = token ?? link;
  return link;
}

// ---- the token of the user, in local storage: all tabs of the app share it, and it is there when the page is opened again

const tokenSeconds = 86_400;
const storageKey = `plinth ${app.id}`;
const minRenewalMs = 60_000;

/** @type {Set<(user: User | null) => void>} */
const listeners = new Set();
/** @type {Session | null} */
let session = null;
become(readStored() ?? readGiven());
addEventListener('storage', ({ key }) => {
  if (key === storageKey || key === null) become(readStored());
});

/** @returns {Session | null} */
function readStored() {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? 'null');
    return stored && Date.parse(stored.expires_at) > Date.now() ? stored : null;
  } catch {
    return session; // no storage: the token is in this page only
  }
}

/**
 * The session that the console chose for a preview, if the browser gives the preview no storage.
 *
 * @returns {Session | null}
 */
function readGiven() {
  return Reflect.get(window, 'plinth_session') ?? null;
}

/** @param {SignedIn} signedIn */
function begin(signedIn) {
  const life = Date.parse(signedIn.expires_at) - Date.now();
  keep({ ...signedIn, renew_at: Date.now() + Math.max(life / 2, minRenewalMs) });
  return signedIn.user;
}

/** @param {Session | null} next */
function keep(next) {
  try {
    if (next) localStorage.setItem(storageKey, JSON.stringify(next));
    else localStorage.removeItem(storageKey);
  } catch {
    // As above.
  }
  become(next);
}

/** @param {Session | null} next */
function become(next) {
  const isSame = JSON.stringify(session?.user) === JSON.stringify(next?.user);
  session = next;
  if (!isSame) for (const listener of listeners) listener(auth.user);
}

/** @type {Promise<void> | undefined} */
let renewing;

/** Renews the token when half of its time is over: one tab at a time, so the others find the new one. */
async function renewIfDue() {
  if (!session || Date.now() < session.renew_at) return;
  renewing ??= (navigator.locks ? navigator.locks.request(storageKey, renew) : renew()).finally(() => {
    renewing = undefined;
  });
  await renewing;
}

async function renew() {
  become(readStored()); // another tab may have done it
  if (!session || Date.now() < session.renew_at) return;
  try {
    begin(await send('POST', 'auth/renew', { token: session.token }));
  } catch (error) {
    if (error instanceof PlinthError && error.status === 401) keep(null);
    else keep({ ...session, renew_at: Date.now() + minRenewalMs }); // not reachable: the token is still valid
  }
}

// ---- heartbeats: that the user is there, while the page is visible

const heartbeatMs = 60_000;

/** Not with `call`: it must not sign anybody out, or keep a session alive that nobody uses. */
function sendHeartbeat() {
  if (!session || document.visibilityState !== 'visible') return;
  const body = { events: [{ event_name: '__user_heartbeat_event__' }] };
  send('POST', trackPath, { body, token: session.token }).catch(() => {}); // the next one follows
}
setInterval(sendHeartbeat, heartbeatMs);
auth.onChange(sendHeartbeat);

// ---- requests

/**
 * Calls an operation as the user who is signed in, or as nobody.
 * @param {string} method @param {string} path @param {Call} [options] @returns {Promise<any>}
 */
async function call(method, path, options) {
  await renewIfDue();
  const token = session?.token;
  try {
    return await send(method, path, { ...options, token });
  } catch (error) {
    if (!token || !(error instanceof PlinthError) || error.status !== 401) throw error;
    if (session?.token === token) become(readStored()); // another tab may have renewed it
    if (session && session.token !== token) return send(method, path, { ...options, token: session.token });
    keep(null);
    throw error;
  }
}

/** @param {string} method @param {string} path @param {Call} [options] @returns {Promise<any>} */
async function send(method, path, { body, query = {}, token } = {}) {
  const url = new URL(`/api/apps/${app.id}/${path}`, app.api);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const response = await fetch(url, {
    method,
    credentials: 'omit',
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(token && { Authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => undefined);
  if (response === undefined)
    throw new PlinthError(0, {
      code: 'unreachable',
      detail: 'The server could not be reached. Check your connection.',
    });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new PlinthError(response.status, answer);
  return answer;
}
