// A plain model of event queries: which events a filter matches and which values metrics have, in a few lines of
// JavaScript that share no code with the product. Tests compare the API's responses with it.

export type Scalar = string | number | boolean | null;

export interface ModelEvent {
  readonly event_id: string;
  readonly event_name: string;
  readonly at: Date;
  readonly user_id: string | null;
  readonly session_id: string | null;
  readonly page_url: string | null;
  readonly properties: Readonly<Record<string, Scalar>>;
  readonly country: string | null;
  readonly device_type: string | null;
  readonly os: string | null;
}

export type Query = Readonly<Record<string, unknown>>;

/** Returns null if the event has no value. Times become numbers. */
function readValue(event: ModelEvent, field: string): Scalar {
  if (field === 'timestamp') return event.at.getTime();
  if (field.startsWith('properties.')) {
    const key = field.slice('properties.'.length);
    return Object.hasOwn(event.properties, key) ? (event.properties[key] ?? null) : null;
  }
  return Reflect.get(event, field.replace('metadata.', '')) ?? null;
}

/** Returns the value as it appears in responses. */
export const shownValueOf = (event: ModelEvent, field: string): Scalar =>
  field === 'timestamp' ? event.at.toISOString() : readValue(event, field);

export const matches = (event: ModelEvent, query: Query): boolean =>
  Object.entries(query).every(([key, inner]) => {
    if (key === 'and') return (inner as Query[]).every((each) => matches(event, each));
    if (key === 'or') return (inner as Query[]).some((each) => matches(event, each));
    if (key === 'not') return !matches(event, inner as Query);
    return Object.entries(inner as Query).every(([operator, wanted]) =>
      passes(readValue(event, key), operator, toComparable(key, wanted)),
    );
  });

const toComparable = (field: string, wanted: unknown): unknown =>
  field !== 'timestamp' || wanted === null
    ? wanted
    : Array.isArray(wanted)
      ? wanted.map((each) => toComparable(field, each))
      : Date.parse(String(wanted));

function passes(value: Scalar, operator: string, wanted: unknown): boolean {
  const order = compare(value, wanted);
  switch (operator) {
    case 'eq':
      return value === wanted;
    case 'ne':
      return value !== wanted;
    case 'in':
      return (wanted as Scalar[]).includes(value);
    case 'nin':
      return !(wanted as Scalar[]).includes(value);
    case 'contains':
      return typeof value === 'string' && value.toLowerCase().includes(String(wanted).toLowerCase());
    case 'gt':
      return order !== undefined && order > 0;
    case 'gte':
      return order !== undefined && order >= 0;
    case 'lt':
      return order !== undefined && order < 0;
    case 'lte':
      return order !== undefined && order <= 0;
    default:
      throw new Error(`the model has no operator ${operator}`);
  }
}

/**
 * Returns undefined for values of different types and for values without an order. Strings are ordered by their UTF-8
 * bytes.
 */
function compare(a: unknown, b: unknown): number | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return undefined;
}

/** Returns a metric's value for these events, and the number of skipped values. */
export function compute(events: readonly ModelEvent[], name: string, field: string | undefined) {
  if (field === undefined) return { value: events.length, skipped: 0 };
  const values = events.map((event) => readValue(event, field)).filter((value) => value !== null);
  if (name === 'count') return { value: values.length, skipped: 0 };
  if (name === 'count_unique') return { value: new Set(values).size, skipped: 0 };
  const isNumeric = field.startsWith('properties.');
  const numbers = values.filter((value) => isNumeric && typeof value === 'number') as number[];
  return { value: computeOfNumbers(name, numbers), skipped: values.length - numbers.length };
}

function computeOfNumbers(name: string, numbers: readonly number[]): number | null {
  const sum = numbers.reduce((total, each) => total + each, 0);
  if (name === 'sum') return sum;
  if (numbers.length === 0) return null;
  if (name === 'avg') return sum / numbers.length;
  if (name === 'min') return Math.min(...numbers);
  if (name === 'max') return Math.max(...numbers);
  return interpolate(numbers, Number(name.slice(1)) / 100);
}

/** Interpolates linearly between the two nearest values, like PostgreSQL's percentile_cont. */
function interpolate(numbers: readonly number[], fraction: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const position = fraction * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(position)] as number, sorted[Math.ceil(position)] as number];
  return low + (high - low) * (position - Math.floor(position));
}
