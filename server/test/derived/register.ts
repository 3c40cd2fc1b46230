// Owns the reading of the register of operations in docs/contract.md §1.7: the independent word on who may call what.
// Nothing here is produced from the routes.
import { readFileSync } from 'node:fs';

export interface Registered {
  readonly name: string;
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly isOpen: boolean;
  readonly session: boolean;
  readonly full: boolean;
  readonly readOnly: boolean;
  readonly key: boolean;
  /** A scope, or null when workspace keys are refused. */
  readonly workspaceKey: string | null;
  /** May those who use an app call it: its own users, and anybody where it is open without login. */
  readonly appUser: boolean;
  readonly role: string;
  readonly limit: string;
  readonly idempotency: string;
}

const text = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8');

const prefixes: Record<string, string> = {
  '{W}': '/api/workspace',
  '{A}': '/api/apps/{app_id}',
  '{G}': '/api/agents/{agent_id}',
  '{D}': '/api/apps/{app_id}/ads-platform',
  '{T}': '/api/apps/{app_id}/testing-agent',
  '{X}': '/api/apps/{app_id}/external-auth',
  '{C}': '/api/apps/{app_id}/imported/sessions',
};

const unprefixed = (path: string): string => path.replace(/^\{[WAGDTXC]\}/, (prefix) => prefixes[prefix] ?? prefix);

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** The operations that the sentence after the register opens to those who use an app. */
const runtime = new Set(
  [...(/^Runtime access beside the register:.*? may call (.*?);/m.exec(text)?.[1] ?? '').matchAll(/\w+/g)].map(
    ([name]) => name,
  ),
);

/** One row may name several operations or paths: `live, ready` at `GET /healthz, GET /readyz`. */
function rows(line: string): Registered[] {
  const [
    names = '',
    origin = '',
    routes = '',
    session = '',
    full = '',
    readOnly = '',
    key = '',
    workspaceKey = '',
    role = '',
    limit = '',
    idempotency = '',
  ] = cellsOf(line);
  const paths = [...routes.matchAll(/(GET|POST|PUT|PATCH|DELETE) (\S+?)(?:,|\s|$)/g)];
  const operations = names.split(', ');
  return paths.map(([, method = '', path = ''], index) => ({
    name: operations[index] ?? `${operations[0]}${index + 1}`,
    origin,
    method,
    path: unprefixed(path),
    isOpen: session === 'open' || session.startsWith('bearer'),
    session: session === '●',
    full: full === '●',
    readOnly: readOnly === '●',
    key: key === '●',
    workspaceKey: workspaceKey === '·' || workspaceKey === '' ? null : workspaceKey,
    appUser: runtime.has(operations[index] ?? ''),
    role,
    limit,
    idempotency,
  }));
}

const section = text.slice(
  text.indexOf('### 1.7 Register of operations'),
  text.indexOf('Runtime access beside the register'),
);

export const register: readonly Registered[] = section
  .split('\n')
  .filter((line) => /^\| [a-z]/.test(line))
  .flatMap(rows);

/** The stable codes of §0.4, by status. */
export const contractCodes: ReadonlyMap<number, ReadonlySet<string>> = new Map(
  text
    .slice(text.indexOf('| Status | Codes'), text.indexOf('Any per-app or per-workspace count cap'))
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .flatMap((line) => {
      const [statuses = '', codes = ''] = cellsOf(line);
      const named = new Set([...codes.matchAll(/`([a-z_]+)`/g)].map((match) => match[1] ?? ''));
      return statuses.split(', ').map((status): [number, Set<string>] => [Number(status), named]);
    }),
);
