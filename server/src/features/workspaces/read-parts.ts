// Reads all rows of a workspace for an archive. Small parts, and those on which others depend, are read in one snapshot
// of a few seconds. The others are read by page, without a transaction around them, because a snapshot that is held for
// long slows down the background work of all workspaces. What that means for an archive: docs/api/workspaces.md#export-and-import
import type { ArchiveTable, IdColumn } from '../../kit/archive/columns.ts';
import type { TableLines } from '../../kit/archive/write-archive.ts';
import { nameTransaction } from '../../kit/background/snapshots.ts';
import { minIdAt } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { type ArchiveTables, describeTable, peopleTable } from './archive-rows.ts';
import { type ArchivePart, parts } from './parts.ts';
import {
  type AppRevision,
  allRows,
  countUnsealed,
  findChain,
  type Key,
  listAppRevisions,
  listSecretNames,
  maxPageBytes,
  maxSmallLine,
  olderRows,
  type Range,
  readEnds,
  readLine,
  readPage,
  readPeople,
  readPeoplePage,
  recentRows,
  rowsAtRevision,
  rowsOfChain,
  rowsUntil,
  type SealedChain,
} from './store/pages.ts';

/** Parts that don't fit into the snapshot's time or memory are read by page after it. */
const maxSnapshotMs = 4_000;
const maxSnapshotBytes = 64 * 1024 * 1024;
/** Longer than any transaction, and than the difference between two processes' clocks. What is older stays as it is. */
const recentMs = 10 * 60 * 1000;
const maxPageRows = 5_000;
const minPageRows = maxPageBytes / maxSmallLine;

export interface ReadOptions {
  readonly db: Db;
  readonly workspaceId: string;
  readonly tables: ArchiveTables;
  readonly signal?: AbortSignal;
  /** Called after each page, with what has been read so far. */
  readonly onPage?: (read: { readonly counts: Record<string, number>; readonly pages: number }) => Promise<void>;
}

/** When a table's rows were read, and how many. */
interface TableTimes {
  readonly first_at: string;
  readonly last_at: string;
  readonly rows: number;
}

export interface WorkspaceReading {
  readonly secretNames: readonly { readonly app_id: string; readonly name: string }[];
  /** The number of audit entries that are not sealed yet, and so not read. */
  readonly unsealed: number;
  /** Reads the rows, in the order of the tables. May be called once. */
  readonly lines: () => AsyncGenerator<TableLines>;
  /** Complete when all rows have been read. */
  readonly times: Readonly<Record<string, TableTimes>>;
}

/** Some rows of one table. `keys` are those of the lines. */
interface Page {
  readonly lines: readonly string[];
  readonly keys: readonly Key[];
}

/** What was read in the snapshot, and the rest of the part, which may be empty. */
interface StartedPart {
  readonly pages: readonly Page[];
  readonly rest: AsyncGenerator<Page>;
}

/** Credits are first, because an import compares their sums. */
const inSnapshot = parts
  .filter(({ read }) => read === 'together' || read === 'log')
  .toSorted((a, b) => Number(b.table.startsWith('credit_')) - Number(a.table.startsWith('credit_')));

/** Reads what must be read in one snapshot, and returns a function that reads everything else. */
export async function startReading(options: ReadOptions): Promise<WorkspaceReading> {
  const { db, workspaceId } = options;
  const times: Record<string, TableTimes> = {};
  const pages = { read: 0 };
  const people = new Set<string>();
  const since = minIdAt(new Date(Date.now() - recentMs));
  const started = new Map<string, StartedPart>();
  /** Where to look for people after the snapshot. */
  const peopleRanges = new Map<ArchivePart, readonly Range[]>();
  // Readers are created in the snapshot's transaction, and use the database itself when they read on after it.
  const source = { db };
  const read = (part: ArchivePart, ranges: readonly Range[]) =>
    readPages(source, options, part, ranges, { times, pages });
  const snapshot = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      await nameTransaction(tx, 'export');
      source.db = tx;
      const endsAt = performance.now() + maxSnapshotMs;
      const apps = await listAppRevisions(tx, workspaceId);
      const ownersOf = (part: ArchivePart) => (part.owner === 'app_id' ? apps.map(({ id }) => id) : [workspaceId]);
      const ends = new Map<string, readonly Range[]>();
      for (const part of parts.filter((part) => part.read === 'pages')) {
        const owners = await readEnds(tx, part, ownersOf(part));
        ends.set(
          part.table,
          owners.map(({ id, end }) => rowsUntil(part, id, end)),
        );
      }
      let bytes = 0;
      const isWithinLimits = () => bytes < maxSnapshotBytes && performance.now() < endsAt;
      for (const part of inSnapshot) {
        const ranges =
          part.read === 'log'
            ? [recentRows(part, workspaceId, since)]
            : ownersOf(part).map((owner) => allRows(part, owner));
        const rest = read(part, ranges);
        const pages: Page[] = [];
        while (isWithinLimits()) {
          const { value, done } = await rest.next();
          if (done) break;
          pages.push(value);
          bytes += value.lines.reduce((sum, line) => sum + line.length, 0);
        }
        started.set(part.table, { pages, rest });
        if (part.read === 'together' && isWithinLimits()) await collectPeople(tx, part, ranges, people, options);
        else peopleRanges.set(part, [allRows(part, workspaceId)]);
      }
      const chain = await findChain(tx, workspaceId);
      const unsealed = await countUnsealed(tx, workspaceId);
      const secretNames = await listSecretNames(tx, workspaceId);
      return { apps, ends, chain, unsealed, secretNames };
    })
    .finally(() => {
      source.db = db;
    });
  const rangesOf = (part: ArchivePart): readonly Range[] =>
    listRanges(part, workspaceId, since, { ...snapshot, started });

  async function* lines(): AsyncGenerator<TableLines> {
    for (const part of parts.filter((part) => part.read === 'pages')) peopleRanges.set(part, rangesOf(part));
    for (const [part, ranges] of peopleRanges) await collectPeople(db, part, ranges, people, options);
    yield { table: peopleTable, lines: [] };
    const ids = [...people];
    for (let n = 0; n < ids.length; n += maxPageRows)
      yield { table: peopleTable, lines: await readPeople(db, ids.slice(n, n + maxPageRows)) };
    for (const part of parts) {
      const { table } = part;
      yield { table, lines: [] };
      if (part.read !== 'together') for await (const page of read(part, rangesOf(part))) yield { table, ...page };
      const { pages, rest } = started.get(table) ?? { pages: [], rest: [] };
      for (const page of pages) yield { table, ...page };
      for await (const page of rest) yield { table, ...page };
      started.delete(table); // its lines need not stay in memory
    }
    const { chain } = snapshot;
    const entries = times.audit_entries?.rows ?? 0;
    if (chain !== undefined && entries !== chain.last_sequence - chain.first_sequence + 1)
      throw new Error('old audit entries were removed while they were exported');
  }
  return { secretNames: snapshot.secretNames, unsealed: snapshot.unsealed, lines, times };
}

interface Snapshot {
  readonly apps: readonly AppRevision[];
  readonly ends: ReadonlyMap<string, readonly Range[]>;
  readonly chain: SealedChain | undefined;
  readonly started: ReadonlyMap<string, StartedPart>;
}

/** What is read of a part after the snapshot. */
function listRanges(
  part: ArchivePart,
  workspaceId: string,
  since: string,
  { apps, ends, chain, started }: Snapshot,
): readonly Range[] {
  switch (part.read) {
    case 'pages':
      return ends.get(part.table) ?? [];
    case 'revisions':
      return apps.map((app) => rowsAtRevision(part, app));
    case 'sealed':
      return chain === undefined ? [] : [rowsOfChain(part, workspaceId, chain)];
    case 'log': {
      const read = started.get(part.table)?.pages.flatMap(({ keys }) => keys.map(([id]) => String(id))) ?? [];
      const older = read.filter((id) => id < since);
      return [olderRows(part, workspaceId, since, older)];
    }
    case 'together':
      return [];
  }
}

/** What has been read so far. */
interface Read {
  readonly times: Record<string, TableTimes>;
  readonly pages: { read: number };
}

const countRows = (times: Read['times']): Record<string, number> =>
  Object.fromEntries(Object.entries(times).map(([table, { rows }]) => [table, rows]));

/** Reads ranges by page. Between two pages, `source.db` may be replaced. */
async function* readPages(
  source: { readonly db: Db },
  { db, tables, signal, onPage }: ReadOptions,
  part: ArchivePart,
  ranges: readonly Range[],
  { times, pages }: Read,
): AsyncGenerator<Page> {
  const described = describeTable(tables, part.table);
  for (const range of ranges) {
    let limit = minPageRows;
    for (let after: Key | undefined; ; ) {
      signal?.throwIfAborted();
      const first_at = new Date().toISOString();
      const rows = await readPage(source.db, part, described, { range, after, limit });
      after = rows.at(-1)?.key;
      if (after === undefined) break;
      let [lines, keys]: [string[], Key[]] = [[], []];
      let [count, bytes] = [0, 0];
      for (const { key, line } of rows) {
        const large = line ?? (await readLine(source.db, part, described, { range, key }));
        if (large === undefined) continue; // removed since its page was read
        lines.push(toOneLine(large));
        keys.push(key);
        count += 1;
        bytes += large.length;
        if (line !== null) continue;
        yield { lines, keys };
        [lines, keys] = [[], []];
      }
      const earlier = times[part.table];
      times[part.table] = {
        first_at: earlier?.first_at ?? first_at,
        last_at: new Date().toISOString(),
        rows: (earlier?.rows ?? 0) + count,
      };
      pages.read += 1;
      if (source.db === db) await onPage?.({ counts: countRows(times), pages: pages.read });
      if (lines.length > 0) yield { lines, keys };
      if (rows.length === rows[0]?.candidates && rows.length < limit) break;
      limit = Math.max(minPageRows, Math.min(maxPageRows, Math.floor((maxPageBytes * count) / (bytes + 1))));
    }
  }
}

/** Replaces line breaks in columns of type `json`. Line breaks within strings are already escaped. */
const toOneLine = (json: string): string => json.replaceAll('\n', ' ');

async function collectPeople(
  db: Db,
  part: ArchivePart,
  ranges: readonly Range[],
  found: Set<string>,
  { tables, signal }: ReadOptions,
): Promise<void> {
  const columns = peopleColumnsOf(describeTable(tables, part.table));
  if (columns.length === 0) return;
  for (const range of ranges)
    for (let after: Key | undefined; ; ) {
      signal?.throwIfAborted();
      const { last, people } = await readPeoplePage(db, part, columns, { range, after, limit: maxPageRows });
      for (const id of people) found.add(id);
      if (last === null) break;
      after = last;
    }
}

/** The columns with ids of people. */
const peopleColumnsOf = ({ columns }: ArchiveTable): string[] =>
  Object.entries(columns).flatMap(([name, column]) =>
    isReference(column) && column.id.tables.includes(peopleTable) ? [name] : [],
  );

type Reference = IdColumn & { readonly id: Extract<IdColumn['id'], { becomes: 'reference' }> };

const isReference = (column: ArchiveTable['columns'][string]): column is Reference =>
  'id' in column && column.id.becomes === 'reference';
