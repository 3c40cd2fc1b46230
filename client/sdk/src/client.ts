// The client: `new Plinth({ url, token })` has a method for every operation of the table.
import { type Call, type CallOptions, SentCall } from './call.ts';
import { createEntities, createEntity, type Entities, type Entity } from './entities.ts';
import type { AgentOperations, AppOperations, Operations } from './generated/operations.ts';
import { table } from './generated/table.ts';
import { createReporter, type OnNotes } from './notes.ts';
import { findOperation, findRoute } from './operation.ts';
import { type Arguments, withLowerCaseNames } from './request.ts';
import type { Transport } from './send.ts';
import { createSteps, type StepDeps } from './steps.ts';

export interface PlinthOptions {
  /** The address of the installation. Default: PLINTH_URL, or with `session` the origin of the page. */
  readonly url?: string;
  /** A token or key, or a function that returns one for each attempt. Default: PLINTH_TOKEN. */
  readonly token?: string | (() => string | Promise<string>);
  /** For pages of the installation's own origin: the cookie of the signed-in person is the credential. */
  readonly session?: boolean;
  /** The workspace in which operations take place, for credentials that are valid in several. */
  readonly workspaceId?: string;
  /** How often a request is repeated at most. Default: 2. */
  readonly maxRetries?: number;
  /** How long each attempt may take. Default: 30 seconds; operations that may be held for longer have their own time. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  readonly headers?: Readonly<Record<string, string>>;
  /** What happens with notes about parts that could not be read and fields that had no effect. Default: `warn`. */
  readonly onNotes?: OnNotes;
  readonly onRequest?: Transport['onRequest'];
  readonly onResponse?: Transport['onResponse'];
  readonly onRetry?: Transport['onRetry'];
  /** Everybody who opens the page can then read the token. */
  readonly dangerouslyAllowBrowser?: boolean;
}

export interface PlinthApp extends AppOperations {
  /** The records of one entity: `plinth.app(id).entity('Task').list()`. */
  entity(name: string): Entity;
  /** The same by property: `plinth.app(id).entities.Task`. */
  readonly entities: Entities;
}

/** The interface and the class have one name, which makes the methods of the table part of the class. */
export interface Plinth extends Operations {}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor's prototype has every method of the table.
export class Plinth {
  readonly #deps: StepDeps;

  constructor(options: PlinthOptions = {}) {
    this.#deps = createDeps(options);
  }

  /** The operations of one app, with its id bound. */
  app(app_id: string): PlinthApp {
    const bound = this.#bind('app_id', app_id) as unknown as AppOperations;
    return Object.assign(bound, {
      entity: (name: string) => createEntity(bound, name),
      entities: createEntities(bound),
    });
  }

  /** The operations of one agent, with its id bound. */
  agent(agent_id: string): AgentOperations {
    return this.#bind('agent_id', agent_id) as unknown as AgentOperations;
  }

  /**
   * Sends a request to a path of the API, such as `/api/apps?limit=5`, and returns the bytes of its answer. The operation
   * that has the path decides about keys and repeats, as if it had been called by its name.
   */
  request(method: string, path: string, body?: unknown, options: CallOptions = {}): Call<Uint8Array, string> {
    const operation = findRoute(method, path, body !== undefined);
    return new SentCall(createSteps(this.#deps, operation, { body }, options)) as Call<Uint8Array, string>;
  }

  #bind(argument: string, id: string): Record<string, unknown> {
    const names = Object.keys(table).filter((name) => findOperation(name)?.path.includes(`{${argument}}`));
    return Object.fromEntries(
      names.map((name) => [
        name,
        (args: Arguments = {}, options: CallOptions = {}) => this.#call(name, { ...args, [argument]: id }, options),
      ]),
    );
  }

  #call(name: string, args: Arguments, options: CallOptions): SentCall {
    const operation = findOperation(name);
    if (operation === undefined) throw new TypeError(`there is no operation ${name}`);
    return new SentCall(createSteps(this.#deps, operation, args, options));
  }

  static {
    for (const name of Object.keys(table))
      Object.defineProperty(Plinth.prototype, name, {
        value(this: Plinth, args: Arguments = {}, options: CallOptions = {}) {
          return this.#call(name, args, options);
        },
        // Tests replace methods.
        writable: true,
        configurable: true,
      });
  }
}

function createDeps(options: PlinthOptions): StepDeps {
  const { session = false, workspaceId, headers, onNotes = 'warn' } = options;
  const token = session ? undefined : (options.token ?? readSetting('PLINTH_TOKEN'));
  const url = options.url ?? (session ? readOrigin() : readSetting('PLINTH_URL'));
  if (url === undefined)
    throw new TypeError('The address of the installation is missing: pass `url`, or set PLINTH_URL.');
  refuseInvalid(url);
  if (typeof token === 'string') refuseInBrowser(token, options);
  return {
    defaults: {
      url: url.replace(/\/+$/, ''),
      workspaceId,
      headers: withLowerCaseNames(headers),
      timeoutMs: options.timeoutMs ?? 30_000,
      maxRetries: options.maxRetries ?? 2,
      credential: session ? 'session' : token === undefined ? undefined : 'token',
    },
    report: createReporter(onNotes),
    transport: {
      fetch: options.fetch ?? ((...args) => fetch(...args)),
      credentials: session ? 'same-origin' : undefined,
      headers: () => authorize(token, options),
      onRequest: options.onRequest,
      onResponse: options.onResponse,
      onRetry: options.onRetry,
    },
  };
}

/** Otherwise every request would fail as if the connection had been lost. */
function refuseInvalid(url: string): void {
  const { protocol, username, password } = URL.canParse(url) ? new URL(url) : { protocol: '' };
  if (!/^https?:$/.test(protocol) || username || password)
    throw new TypeError('The address of the installation is not valid. `url` must be like https://plinth.example.com.');
}

async function authorize(token: PlinthOptions['token'], options: PlinthOptions): Promise<Record<string, string>> {
  if (token === undefined) return {};
  const text = typeof token === 'function' ? await token() : token;
  refuseInBrowser(text, options);
  return { authorization: `Bearer ${text}` };
}

/** A token in a page can be read by everybody who opens the page. */
function refuseInBrowser(token: string, { dangerouslyAllowBrowser = false }: PlinthOptions): void {
  const isBrowser = 'window' in globalThis && 'document' in globalThis;
  if (!isBrowser || dangerouslyAllowBrowser || !/^pl[pkw]_/.test(token)) return;
  throw new TypeError(
    'This token would be readable in the page. Pages of the installation use `new Plinth({ session: true })`; others call a server of yours.',
  );
}

const readOrigin = () => (globalThis as { location?: { origin: string } }).location?.origin;

function readSetting(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}
