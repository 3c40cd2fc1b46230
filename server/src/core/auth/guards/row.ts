// The guards for rows of features' tables, either on their own or nested in a workspace or an app.
import type { AnyDb } from '../../../kit/db/database.ts';
import type { Exchange } from '../../../kit/http/exchange.ts';
import { idOrNull } from '../../../kit/ids.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { AppAccess, Caller, WorkspaceAccess } from '../proofs.ts';
import { toCaller } from '../request/caller.ts';
import {
  type AppRowLookup,
  type JsonRow,
  type LookupResult,
  lookUpPerson,
  type PersonLookup,
  prepareAppRowLookup,
  prepareResourceLookup,
  type ResourceLookup,
} from '../request/lookup.ts';
import type { WorkspaceRole } from '../roles.ts';
import type { Guard } from './guard.ts';
import { decideWorkspace, readRequestedWorkspace } from './workspace.ts';

interface ResourceOptions<Noun extends string, Row> {
  readonly noun: Noun;
  /** The table must have the columns `id` and `workspace_id`. */
  readonly table: string;
  readonly needs: string;
  /** Converts the row from JSON, in which times are text. */
  readonly fromJson: (json: JsonRow<Row>) => Row;
  /** The role that the caller needs for this row. Undefined if the caller can't see it. */
  readonly requiredRole: (row: Row, caller: Caller) => WorkspaceRole | undefined;
}

/**
 * Guards a row of a feature's table, identified by `<noun>_id` in the path. The lookup reads the row, so no second
 * query is needed.
 */
export function resourceGuard<Noun extends string, Row extends { workspace_id: string }>({
  noun,
  table,
  needs,
  fromJson,
  requiredRole,
}: ResourceOptions<Noun, Row>): Guard<WithRow<WorkspaceAccess, Noun, Row>> {
  const notFoundCode = `${noun}_not_found`;
  const pathParam = `${noun}_id`;
  const lookUpRow = prepareResourceLookup<Row>(table);
  return {
    needs,
    choosesWorkspace: false,
    pathParam,
    refusals: [
      { status: 404, code: notFoundCode },
      { status: 403, code: 'member_blocked' },
      { status: 403, code: 'role_required' },
    ],
    lookUp: (db, hash, exchange) => lookUpRow(db, hash, idOrNull(exchange.params[pathParam])),
    decide: (lookup: ResourceLookup<Row>, exchange) => {
      if (lookup.resource === null) throw notFound(notFoundCode);
      const row = fromJson(lookup.resource);
      const required = requiredRole(row, toCaller(lookup, exchange));
      if (required === undefined || row.workspace_id !== lookup.workspace_id) throw notFound(notFoundCode);
      return addRow(decideWorkspace(lookup, exchange, required, notFoundCode), noun, row);
    },
  };
}

/**
 * Guards a row nested in a resource that another guard protects. The path identifies the row by `<noun>_id`,
 * `<noun>_name` or `pathParam`. `find` runs after the plan check, and the row it returns is added to the proof as
 * `<noun>`.
 */
export function nestedResource<Proof, Noun extends string, Row>(
  guard: Guard<Proof>,
  noun: Noun,
  find: (db: Db, access: Proof, id: string, now: Date) => Promise<Row | undefined>,
  pathParam = `${noun}_id`,
): Guard<WithRow<Proof, Noun, Row>> {
  const code = `${noun}_not_found`;
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 404, code }],
    // `loadNested` adds the row before the proof is used.
    decide: (lookup, exchange) => guard.decide(lookup, exchange) as WithRow<Proof, Noun, Row>,
    loadNested: async (db, proof, exchange) => {
      const outer = guard.loadNested === undefined ? proof : await guard.loadNested(db, proof, exchange);
      const id = exchange.params[pathParam] ?? exchange.params[`${noun}_name`] ?? '';
      const row = await find(db, outer, id, exchange.now);
      if (row === undefined) throw notFound(code);
      return addRow(outer, noun, row);
    },
  };
}

interface AppRowOptions<Noun extends string, Row> {
  readonly noun: Noun;
  /** The table must have the columns `id` and `app_id`. */
  readonly table: string;
  /** Converts the row from JSON, in which times are text. Undefined if this path must not find the row. */
  readonly fromJson: (json: JsonRow<Row>) => Row | undefined;
  readonly pathParam?: string;
}

/**
 * Like `nestedResource`, for a row of the app that `guard` looks up. The app's lookup reads the row, so no second query
 * is needed.
 */
export function nestedAppRow<Noun extends string, Row>(
  guard: Guard<AppAccess>,
  { noun, table, fromJson, pathParam = `${noun}_id` }: AppRowOptions<Noun, Row>,
): Guard<WithRow<AppAccess, Noun, Row>> {
  const lookUpRow = prepareAppRowLookup<Row>(table);
  return nestedInLookup(guard, noun, {
    lookUp: (db, hash, { params }) =>
      lookUpRow(db, hash, idOrNull(params[guard.pathParam ?? '']), idOrNull(params[pathParam])),
    findRow: ({ resource }: AppRowLookup<Row>) => (resource === null ? undefined : fromJson(resource)),
  });
}

/**
 * Like `nestedResource`, for a person in the workspace, identified by `email` in the path. The workspace's lookup also
 * reads whether they are a member or invited, so no second query is needed.
 */
export function nestedPerson(guard: Guard<WorkspaceAccess>, accepts: 'members' | 'members and invitations') {
  const readEmail = ({ params }: Exchange) => (params.email ?? '').toLowerCase();
  return nestedInLookup(guard, 'member', {
    lookUp: (db, hash, exchange) => lookUpPerson(db, hash, readRequestedWorkspace(exchange), readEmail(exchange)),
    findRow: ({ person }: PersonLookup, exchange) =>
      person === 'member' || (person === 'invitation' && accepts === 'members and invitations')
        ? { email: readEmail(exchange) }
        : undefined,
  });
}

/** Guards a nested row that the lookup reads. */
function nestedInLookup<Proof, Noun extends string, Row, Lookup extends LookupResult>(
  guard: Guard<Proof>,
  noun: Noun,
  row: {
    lookUp(db: AnyDb, hash: Buffer, exchange: Exchange): Promise<Lookup | undefined>;
    findRow(lookup: Lookup, exchange: Exchange): Row | undefined;
  },
): Guard<WithRow<Proof, Noun, Row>> {
  const code = `${noun}_not_found`;
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 404, code }],
    lookUp: row.lookUp,
    // If the row is undefined, `loadNested` throws 404, after the plan check.
    decide: (lookup: Lookup, exchange) =>
      addRow(guard.decide(lookup, exchange), noun, row.findRow(lookup, exchange) as Row),
    loadNested: async (_db, proof) => {
      if (proof[noun] === undefined) throw notFound(code);
      return proof;
    },
  };
}

type WithRow<Proof, Noun extends string, Row> = Proof & { readonly [N in Noun]: Row };

/** Needs an assertion, because TypeScript does not track computed keys. */
const addRow = <Proof, Noun extends string, Row>(proof: Proof, noun: Noun, row: Row) =>
  ({ ...proof, [noun]: row }) as WithRow<Proof, Noun, Row>;
