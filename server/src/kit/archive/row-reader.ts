// Checks an archive's rows against their table's description, and replaces their ids.
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { hexToId, newId } from '../ids.ts';
import { describeIssue } from '../issues.ts';
import { ArchiveError } from './archive-error.ts';
import type { ArchiveTable, Column, IdColumn } from './columns.ts';
import type { Row, RowBatch } from './read-archive.ts';

export interface RowReader {
  /** Returns the rows to store. Their ids have not yet been replaced. */
  check(batch: RowBatch): Row[];
  /**
   * Replaces the ids in checked rows. A row may refer to earlier rows and to any row in the same batch. Rows that refer to
   * something else are left out, or refused.
   */
  replaceIds(table: string, rows: readonly Row[]): Row[];
  /** Registers the replacement for an id in the archive. */
  learn(table: string, id: string, becomes: string): void;
  /** Returns the replacements of learned ids to which no row has referred. */
  listUnused(): string[];
  /** Returns the number of rows by table that were left out. */
  readonly skipped: Readonly<Record<string, number>>;
}

export interface RowReaderOptions {
  /**
   * Leaves out rows that refer to something that is not in the archive. Its tables were read one after another, so
   * something may have been removed before it was read, but after what refers to it was. Otherwise such rows are refused.
   */
  readonly skipsDangling: boolean;
}

const maxKnownIds = 2_000_000;

export function createRowReader(
  tables: Readonly<Record<string, ArchiveTable>>,
  ownerId: string,
  { skipsDangling }: RowReaderOptions = { skipsDangling: false },
): RowReader {
  const checks = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, createRowCheck(name, table)]));
  const known = createIdMap();
  const key = createSecretKey(randomBytes(32));
  const skipped: Record<string, number> = {};

  const addId = (table: string, id: string, becomes: string) => {
    if (known.get(table, id) !== undefined) throw new ArchiveError(`it contains a duplicate id in ${table}`);
    if (known.count() >= maxKnownIds)
      throw new ArchiveError(`it contains more than ${maxKnownIds} ids that rows can refer to`);
    known.set(table, id, becomes);
  };
  const replaceReference = (at: string, id: string, { tables, ifMissing }: Reference): string | null => {
    for (const table of tables) {
      const becomes = known.get(table, id);
      if (becomes === undefined) continue;
      known.markUsed(table, id);
      return becomes;
    }
    if (ifMissing === 'null') return null;
    if (ifMissing === 'replace') return toUnknownId(key, id);
    throw new ArchiveError(`${at} refers to something that is not in the archive`);
  };
  const replaceId = (at: string, { id }: IdColumn, value: unknown): unknown => {
    if (id.becomes === 'owner') return ownerId;
    if (id.becomes === 'new') return id.known ? value : newId();
    return isId(value) ? replaceReference(at, value, id) : value;
  };

  const isDangling = (row: Row, ids: readonly (readonly [string, IdColumn])[]) =>
    ids.some(([name, { id }]) => {
      const value = row[name];
      if (id.becomes !== 'reference' || id.ifMissing !== 'refuse' || !isId(value)) return false;
      return id.tables.every((table) => known.get(table, value) === undefined);
    });
  /** A row that is left out may leave others of the batch without what they refer to. */
  const skipDangling = (
    table: string,
    rows: readonly Row[],
    ids: readonly (readonly [string, IdColumn])[],
    own?: string,
  ) => {
    const kept = rows.filter((row) => !isDangling(row, ids));
    if (kept.length === rows.length) return rows;
    skipped[table] = (skipped[table] ?? 0) + rows.length - kept.length;
    if (own === undefined) return kept;
    for (const row of rows) if (!kept.includes(row)) known.remove(table, String(row[own]));
    return skipDangling(table, kept, ids, own);
  };

  return {
    check: ({ table, file, firstLine, rows }) =>
      rows.map((row, index) => {
        try {
          return checks[table]?.(row) ?? {};
        } catch (error) {
          throw error instanceof ArchiveError
            ? new ArchiveError(`${file} line ${firstLine + index}: ${error.message}`)
            : error;
        }
      }),
    replaceIds(table, rows) {
      const { columns = {}, binary = [] } = tables[table] ?? {};
      const ids = Object.entries(columns).filter((entry): entry is [string, IdColumn] => isIdColumn(entry[1]));
      const own = ids.find(([, { id }]) => id.becomes === 'new' && id.known)?.[0];
      if (own !== undefined) for (const row of rows) addId(table, String(row[own]), newId());
      return (skipsDangling ? skipDangling(table, rows, ids, own) : rows).map((row) => {
        const stored = { ...row };
        for (const [name, column] of ids) stored[name] = replaceId(`${table}.${name}`, column, row[name]);
        if (own !== undefined) stored[own] = known.get(table, String(row[own]));
        for (const name of binary) stored[name] = `\\x${Buffer.from(String(row[name]), 'base64').toString('hex')}`;
        return stored;
      });
    },
    learn(table, id, becomes) {
      addId(table, id, becomes);
      known.expectUse(table, id);
    },
    listUnused: known.listUnused,
    skipped,
  };
}

/** Maps ids to their replacements, per table. Ids are packed into 16 characters to save memory. */
function createIdMap() {
  const tables = new Map<string, Map<string, string>>();
  const unused = new Map<string, Set<string>>();
  const pack = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex').toString('latin1');
  const unpack = (packed: string) => hexToId(Buffer.from(packed, 'latin1').toString('hex'));
  let count = 0;
  return {
    count: () => count,
    get(table: string, id: string): string | undefined {
      const packed = tables.get(table)?.get(pack(id));
      return packed && unpack(packed);
    },
    set(table: string, id: string, becomes: string): void {
      const ids = tables.get(table) ?? new Map<string, string>();
      tables.set(table, ids.set(pack(id), pack(becomes)));
      count += 1;
    },
    remove: (table: string, id: string) => void tables.get(table)?.delete(pack(id)),
    expectUse: (table: string, id: string) =>
      void unused.set(table, (unused.get(table) ?? new Set<string>()).add(pack(id))),
    markUsed: (table: string, id: string) => void unused.get(table)?.delete(pack(id)),
    listUnused: () =>
      [...unused].flatMap(([table, ids]) => [...ids].map((packed) => unpack(tables.get(table)?.get(packed) ?? ''))),
  };
}

type Reference = Extract<IdColumn['id'], { becomes: 'reference' }>;

const isIdColumn = (column: Column): column is IdColumn => 'id' in column;
const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{8}-/.test(value);

/** Maps an id to a new unique id. Within one import, the result is always the same for the same id. */
function toUnknownId(key: KeyObject, id: string): string {
  const hex = createHmac('sha256', key).update(id).digest('hex');
  return hexToId(`${hex.slice(0, 12)}8${hex.slice(13, 16)}8${hex.slice(17)}`); // version 8: a custom format
}

function createRowCheck(name: string, { columns, atMost, complete }: ArchiveTable): (row: Row) => Row {
  const shape = z.strictObject(
    Object.fromEntries(
      Object.entries(columns).map(([column, described]) => [
        column,
        isIdColumn(described) ? described.value : described,
      ]),
    ),
  );
  const tallies = new Map<unknown, { rows: number; sum: number }>();
  return (row) => {
    const parsed = shape.safeParse(row);
    if (!parsed.success) throw new ArchiveError(describeFirst(parsed.error.issues, row));
    if (atMost !== undefined) {
      const { rows, per, sumOf, sum = Number.POSITIVE_INFINITY } = atMost;
      const owner = per === undefined ? '' : row[per];
      const tally = tallies.get(owner) ?? { rows: 0, sum: 0 };
      tallies.set(owner, tally);
      tally.rows += 1;
      tally.sum += sumOf === undefined ? 0 : Number(row[sumOf]);
      if (tally.rows > rows || tally.sum > sum)
        throw new ArchiveError(
          `it contains more ${name} than ${per === undefined ? 'a workspace' : 'an app'} can have`,
        );
    }
    return complete === undefined ? parsed.data : complete(parsed.data);
  };
}

/** The description names the column but never contains its value. */
function describeFirst([issue]: readonly z.core.$ZodIssue[], row: Row): string {
  if (issue === undefined) return 'is not in the export format';
  if (issue.code === 'unrecognized_keys') return `has an unknown column: ${issue.keys[0]?.slice(0, 64)}`;
  const value = issue.path.reduce<unknown>((inner, key) => (inner as Row | null | undefined)?.[String(key)], row);
  return `${issue.path.join('.')} ${describeIssue(issue, value).msg}`;
}
