// Reads the operations register, docs/api/operations.yaml, and checks its format. The register is reviewed by hand and
// states who may call each operation. Nothing in it is generated from the routes.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

export interface Registered {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Whether the operation needs no credential. */
  readonly isOpen: boolean;
  readonly session: boolean;
  /** Whether personal access tokens with full access are accepted. */
  readonly full: boolean;
  /** Whether read-only personal access tokens are accepted. */
  readonly readOnly: boolean;
  /** Whether personal API keys are accepted. */
  readonly key: boolean;
  /** The scope that a workspace key needs, or null if workspace keys are not accepted. */
  readonly workspaceKey: string | null;
  /** Whether app users are accepted. */
  readonly appUser: boolean;
  /** Whether callers without a credential are accepted if the app is open without login. */
  readonly anonymous: boolean;
  readonly role: string;
  readonly limit: string;
  /** The byte budget, or null if there is none. */
  readonly bytes: string | null;
  /** Whether the operation is refused if the workspace's storage quota is full. */
  readonly isRefusedAtQuota: boolean;
  readonly idempotency: 'none' | 'optional' | 'required';
  readonly repeat: 'safe' | 'key' | 'look';
  /** The lowest plan that includes the operation, or null if every plan does. */
  readonly plan: string | null;
}

const roles = [
  'none',
  'self',
  'operator',
  'member',
  'workspace viewer',
  'workspace editor',
  'workspace admin',
  'workspace owner',
  'workspace viewer (own rows), workspace admin (all rows)',
  'workspace viewer (personal folders), workspace editor (workspace folders)',
  'app viewer',
  'app viewer, own only',
  'app viewer, 403 if not visible',
  'app editor',
  'app owner',
  'entity rules',
  'setup token',
  'metrics token',
] as const;

const credential = z.union([
  z.enum(['session', 'token:full_access', 'token:read_only', 'personal_key', 'app_user', 'anonymous']),
  z.templateLiteral(['workspace_key:', z.string().regex(/^[a-z]+:[a-z]+$/)]),
]);

const limitForm =
  /^\d+ per (minute|\d+ seconds) per (caller|workspace|user|app|hook|address)( and app)?(, group \w+)?(, never scaled|, scaled by override only)?$/;

const Entry = z.strictObject({
  route: z.string().regex(/^(GET|POST|PUT|PATCH|DELETE) \/\S*$/),
  credentials: z.union([z.literal('open'), z.array(credential).nonempty()]),
  role: z.enum(roles),
  limit: z.union([z.literal('none'), z.string().regex(limitForm)]),
  bytes: z.enum(['bulk_bytes', 'file_bytes', 'export_bytes']).optional(),
  storage: z.literal('refused at the quota').optional(),
  idempotency: z.enum(['none', 'optional', 'required']),
  repeat: z.enum(['safe', 'key', 'look']),
  plan: z.enum(['builder', 'pro', 'business', 'enterprise']).optional(),
});

/** The entries by feature and operation. */
const Register = z.record(z.string(), z.record(z.string().regex(/^[a-z]\w*$/), Entry));

const file = new URL('../../../docs/api/operations.yaml', import.meta.url);

export const register: readonly Registered[] = Object.values(Register.parse(parse(readFileSync(file, 'utf8')))).flatMap(
  (feature) => Object.entries(feature).map(([name, entry]) => registered(name, entry)),
);

function registered(name: string, entry: z.infer<typeof Entry>) {
  const { route, credentials, role, limit, bytes, storage, idempotency, repeat, plan } = entry;
  const [method = '', path = ''] = route.split(' ');
  const accepted: readonly string[] = credentials === 'open' ? [] : credentials;
  const scope = accepted.find((one) => one.startsWith('workspace_key:'))?.slice('workspace_key:'.length);
  if (accepted.includes('anonymous') && !accepted.includes('app_user')) {
    throw new Error(`${name}: anonymous is accepted only where app_user is`);
  }
  return {
    name,
    method,
    path,
    isOpen: credentials === 'open',
    session: accepted.includes('session'),
    full: accepted.some((one) => one.startsWith('token:')),
    readOnly: accepted.includes('token:read_only'),
    key: accepted.includes('personal_key'),
    workspaceKey: scope ?? null,
    appUser: accepted.includes('app_user'),
    anonymous: accepted.includes('anonymous'),
    role,
    limit,
    bytes: bytes ?? null,
    isRefusedAtQuota: storage !== undefined,
    idempotency,
    repeat,
    plan: plan ?? null,
  };
}
