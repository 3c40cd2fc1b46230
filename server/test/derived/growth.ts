// The growth test's tools. They build the worst bodies that a schema allows at a given size, measure a request's
// CPU time, and decide whether the time grows faster than the size.
import type { JsonSchema } from '../../src/kit/http/json-schema.ts';

export interface Point {
  readonly size: number;
  readonly cpuMs: number;
}

/** Times below this are noise. */
const floorMs = 2;
/** The tolerated factor over linear growth. A quadratic algorithm takes 256 times as long at sixteen times the size. */
const tolerance = 2.5;
/** An absolute limit, because linear growth is still too slow if each value takes very long. */
const maxMs = 2_000;

/** Describes where the time grows faster than the size or exceeds the limit. Returns undefined if neither happens. */
export function findExcess(points: readonly Point[]): string | undefined {
  for (const [index, large] of points.entries()) {
    for (const small of points.slice(0, index)) {
      const [ratio, least] = [large.size / small.size, Math.max(small.cpuMs, floorMs)];
      if (large.cpuMs > tolerance * ratio * least)
        return `${Math.round(ratio)} times the size took ${Math.round(large.cpuMs / least)} times as long: ${formatPoints(points)}`;
    }
    if (large.cpuMs > maxMs) return `more than ${maxMs} ms: ${formatPoints(points)}`;
  }
  return undefined;
}

export const formatPoints = (points: readonly Point[]): string =>
  points.map(({ size, cpuMs }) => `${String(size).padStart(9)}: ${cpuMs.toFixed(1).padStart(6)} ms`).join('');

/** Returns up to three sizes, each at least 1. */
export const sizesUpTo = (largest: number): number[] => [
  ...new Set([64, 16, 1].map((part) => Math.max(1, Math.floor(largest / part)))),
];

/** Small sizes are measured repeatedly, because the first run includes compiling the code. */
const maxRepetitions = 3;

/** Measures the CPU time that `work` uses on this thread at each size. */
export async function measureGrowth(
  sizes: readonly number[],
  work: (size: number) => Promise<unknown>,
): Promise<Point[]> {
  const largest = Math.max(...sizes);
  const points: Point[] = [];
  for (const size of sizes) {
    const repetitions = Math.min(maxRepetitions, Math.ceil(largest / size / 2));
    const cpuMs = await measureCpu(async () => {
      for (let done = 0; done < repetitions; done += 1) await work(size);
    });
    points.push({ size, cpuMs: cpuMs / repetitions });
  }
  return points;
}

async function measureCpu(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** A body may have 150,000 values. Larger bodies are rejected before they are parsed, which would hide their cost. */
const maxValues = 120_000;

/** Writes a body of at most `bytes` bytes. */
export type WriteBody = (bytes: number) => string;

/** Returns a schema's worst bodies by kind. `maxBytes` is the largest size that will be requested. */
export function listWorstBodies(schema: JsonSchema, maxBytes: number): Record<string, WriteBody> {
  const valueBytes = Math.max(12, Math.ceil(maxBytes / maxValues));
  return {
    fitting: (bytes) => writeFitting(schema, { bytes, valueBytes }),
    faulty: (bytes) => writeFaulty(schema, { bytes, valueBytes }),
  };
}

interface BodySize {
  readonly bytes: number;
  /** The length of a value, chosen so that a body does not have too many values. */
  readonly valueBytes: number;
}

const fieldsOf = (schema: JsonSchema) => Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
const typeOf = (schema: JsonSchema): unknown => (Array.isArray(schema.type) ? schema.type[0] : schema.type);
const mayBeLong = (schema: JsonSchema): boolean =>
  schema.enum === undefined && ['array', 'string', 'object'].includes(String(typeOf(schema)));

const oddText = '\\ud83d\\ude00\\u00e9\\"'; // JSON escapes

/**
 * Writes values of the right types that are as long as possible: long lists, long strings full of escapes, and wide
 * objects.
 */
function writeFitting(schema: JsonSchema, { bytes, valueBytes }: BodySize, seed = 0): string {
  if (Array.isArray(schema.enum)) return JSON.stringify(schema.enum[0]);
  switch (typeOf(schema)) {
    case 'array': {
      const items = (schema.items ?? {}) as JsonSchema;
      const itemSize = { bytes: valueBytes * (fieldsOf(items).length + 2), valueBytes };
      const write = (n: number) => writeFitting(items, itemSize, n).padEnd(itemSize.bytes);
      const count = Math.max(1, Math.floor((bytes - 2) / (write(0).length + 6))); // later items are slightly longer
      return `[${Array.from({ length: count }, (_, n) => write(n)).join()}]`;
    }
    case 'object': {
      const fields = fieldsOf(schema);
      const long = fields.filter(([, field]) => mayBeLong(field)).length + 1; // one share is for unknown fields
      const share = Math.floor((bytes - fields.reduce((sum, [name]) => sum + name.length + 12, 2)) / long);
      const known = fields.map(
        ([name, field]) => `"${name}":${writeFitting(field, { bytes: share, valueBytes }, seed)}`,
      );
      return `{${[...known, writeUnknownFields({ bytes: share, valueBytes })].filter(Boolean).join()}}`;
    }
    case 'string':
      return `"${seed.toString(36)}${oddText.repeat(Math.max(0, Math.floor((bytes - 8) / oddText.length)))}"`;
    case 'boolean':
      return 'true';
    default:
      return String(schema.minimum ?? 1);
  }
}

const wrongValues = ['{"k":1e308}', '[[[[0]]]]', '"\\ud800"', 'null', '-1e999'];

/** Writes as many faults as possible: wrong types and items, unknown fields, nesting, long keys, and huge numbers. */
function writeFaulty(schema: JsonSchema, size: BodySize): string {
  if (typeOf(schema) === 'array') return writeWrongList(size);
  const fields = fieldsOf(schema);
  const share = { ...size, bytes: Math.floor((size.bytes - 40) / (fields.length + 2)) };
  const known = fields.map(
    ([name]) => `"${name}":${writeWrongList({ ...share, bytes: share.bytes - name.length - 4 })}`,
  );
  const longKey = `"${'k'.repeat(Math.floor(share.bytes / 2))}":0`;
  return `{${[...known, writeUnknownFields(share), longKey].filter(Boolean).join()}}`;
}

function writeWrongList({ bytes, valueBytes }: BodySize): string {
  const some = wrongValues.map((value) => value.padEnd(valueBytes * 3)).join();
  const count = Math.max(0, Math.floor((bytes - 2) / (some.length + 1)));
  return `[${Array.from({ length: count }, () => some).join()}]`;
}

/** Writes distinct fields that no schema defines. */
function writeUnknownFields({ bytes, valueBytes }: BodySize): string {
  const count = Math.max(0, Math.floor(bytes / (valueBytes + 1)));
  return Array.from({ length: count }, (_, n) => `"k${n.toString(36)}":0`.padEnd(valueBytes)).join();
}
