// Lookups: the reads by key at the start of every request. Lookups that arrive in the same turn of the event loop
// are combined into one statement, because most of a short statement's cost is the overhead of sending and starting it:
//
//   request ── lookup ─┐
//   request ── lookup ─┼─ one turn ─→ one statement ─→ one row per lookup, with its key
//   request ── lookup ─┘
//
// A statement is sent after all its lookups have arrived, so each lookup sees everything committed before it arrived.
//
//   No result reaches another caller.    Each row contains the key that it was looked up by. If it isn't the caller's
//                                        key, all of the statement's lookups fail, and the connection is closed.
//   No lookup makes another fail.        If a statement fails, its lookups are sent separately through the pool,
//                                        unless it failed because a lookup tried to write.
//   No lookup waits for large results.   A statement has at most 16 lookups, and about 64 KiB of results.
//   Strangers are kept apart.            Lookups through `db` and `strangersDb` are never combined.
import { currentHolder, hold, uncounted } from '../process-time.ts';
import { countParsing } from './client.ts';
import { type SharedReads, WrongAnswer } from './shared-reads.ts';

const maxTogether = 16;
const bytesTogether = 64 * 1024;
const measuredBytes = 4 * 1024; // parsing fewer bytes takes microseconds

/** The types of a lookup's key values. */
export type KeyType = 'bytea' | 'uuid' | 'text';

/** The statements for a single lookup and for many lookups. */
export interface LookupTexts {
  readonly types: readonly KeyType[];
  readonly one: string;
  readonly many: string;
}

/** `text` selects at most one row as a JSON value. `types` are the types of its parameters `$1`, `$2` and so on. */
export function writeLookup(text: string, types: readonly KeyType[]): LookupTexts {
  const parameters = types.map((type, index) => `$${index + 1}::${type}`);
  const elements = types.map((_, index) => `q.p${index + 1}`);
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`);
  const names = types.map((_, index) => `p${index + 1}`);
  const select = (values: readonly string[]) =>
    `/* lookup */ select (${text.replace(/\$(\d+)(::uuid)?/g, (_, nth) => values[nth - 1] as string)})::text as found,
      ${values.map((value, index) => writeKeyPart(value, types[index])).join(" || ' ' || ")} as key`;
  return {
    types,
    one: select(parameters),
    many: `${select(elements)}, q.n::integer
      from unnest(${arrays.join(', ')}) with ordinality q(${names.join(', ')}, n)`,
  };
}

const writeKeyPart = (value: string, type: KeyType | undefined): string =>
  `coalesce(${type === 'bytea' ? `encode(${value}, 'hex')` : `${value}::text`}, '')`;

/** Formats the key in the same way as the statement does. */
const toKey = (values: readonly unknown[], types: readonly KeyType[]): string =>
  values.map((value, index) => toKeyPart(value, types[index])).join(' ');

function toKeyPart(value: unknown, type: KeyType | undefined): string {
  if (value === null || value === undefined) return '';
  if (type === 'bytea') return (value as Buffer).toString('hex');
  return type === 'uuid' ? String(value).toLowerCase() : String(value);
}

/** Combines lookups into statements. */
export interface Lookups {
  /** Returns null if nothing was found, and undefined if there was no response. */
  lookUp(texts: LookupTexts, values: readonly unknown[]): Promise<unknown>;
}

export interface LookupEvents {
  /** Called when a statement with this many lookups is sent. */
  onSent?(lookups: number): void;
  onWrongAnswer?(): void;
}

interface Lookup {
  readonly values: readonly unknown[];
  readonly key: string;
  readonly countHold: ((heldMs: number) => void) | undefined;
  resolve(found: string | null | undefined): void;
  reject(error: unknown): void;
}

interface Row {
  readonly found: string | null;
  readonly key: string;
  /** Starts at 1. Missing for a single lookup. */
  readonly n?: number;
}

export function openLookups(shared: SharedReads, { onSent, onWrongAnswer }: LookupEvents): Lookups {
  const arrived = new Map<LookupTexts, Lookup[]>();
  /**
   * The size of the largest recent result, in characters. After a large result, fewer lookups are combined for a while.
   */
  const largest = new WeakMap<LookupTexts, number>();

  const countTogether = (texts: LookupTexts): number =>
    Math.max(1, Math.min(maxTogether, Math.floor(bytesTogether / (largest.get(texts) ?? 1))));

  function sendArrived(texts: LookupTexts): void {
    const lookups = arrived.get(texts) ?? [];
    arrived.delete(texts);
    const together = countTogether(texts);
    for (let from = 0; from < lookups.length; from += together) void send(texts, lookups.slice(from, from + together));
  }

  async function send(texts: LookupTexts, lookups: readonly Lookup[]): Promise<void> {
    try {
      onSent?.(lookups.length);
      let parsingMs = 0;
      const addParsing = (heldMs: number) => {
        parsingMs += heldMs;
      };
      const rows = await countParsing(addParsing, () => shared.read<Row>(toStatement(texts, lookups)));
      if (rows !== undefined && parsingMs > 0) shareHold(parsingMs, lookups, rows);
      for (const [index, lookup] of lookups.entries())
        lookup.resolve(rows === undefined ? undefined : (findRow(rows, index) as Row).found);
      const size = rows?.reduce((most, { found }) => Math.max(most, found?.length ?? 0), 1) ?? 1;
      largest.set(texts, Math.max(size, (largest.get(texts) ?? 1) * 0.98));
    } catch (error) {
      for (const lookup of lookups) lookup.reject(error);
      if (error instanceof WrongAnswer) onWrongAnswer?.();
    }
  }

  return {
    async lookUp(texts, values) {
      const { promise, resolve, reject } = Promise.withResolvers<string | null | undefined>();
      const lookup = { values, key: toKey(values, texts.types), countHold: currentHolder(), resolve, reject };
      const waiting = arrived.get(texts);
      if (waiting === undefined) {
        arrived.set(texts, [lookup]);
        // Runs after all requests that have already arrived, and before the process waits for more.
        uncounted(() => setImmediate(sendArrived, texts));
      } else waiting.push(lookup);
      const found = await promise;
      if (found === null || found === undefined) return found;
      return found.length < measuredBytes ? JSON.parse(found) : hold(() => JSON.parse(found));
    },
  };
}

/** Divides the parsing time among the callers, in proportion to the size of their results. */
function shareHold(heldMs: number, lookups: readonly Lookup[], rows: readonly Row[]): void {
  const lengthAt = (index: number) => findRow(rows, index)?.found?.length ?? 0;
  const total = lookups.reduce((sum, _, index) => sum + lengthAt(index), 0);
  for (const [index, { countHold }] of lookups.entries())
    if (lengthAt(index) > 0) countHold?.((heldMs * lengthAt(index)) / total);
}

function toStatement(texts: LookupTexts, lookups: readonly Lookup[]) {
  const [first] = lookups as readonly [Lookup];
  const isOne = lookups.length === 1;
  return {
    text: isOne ? texts.one : texts.many,
    values: isOne ? first.values : texts.types.map((_, index) => lookups.map(({ values }) => values[index])),
    lookups: lookups.length,
    check: (rows: readonly Row[]) => {
      const isRight = ({ key }: Lookup, index: number) => findRow(rows, index)?.key === key;
      if (rows.length !== lookups.length || !lookups.every(isRight))
        throw new WrongAnswer("a lookup returned another lookup's row");
    },
  };
}

/** Rows normally arrive in the order of the values. Their numbers are checked in case they don't. */
function findRow(rows: readonly Row[], index: number): Row | undefined {
  const row = rows[index];
  return row === undefined || (row.n ?? 1) === index + 1 ? row : rows.find(({ n }) => n === index + 1);
}
