// Reads values with a special format: durations, variable names and error types.
import { idOrNull } from '../../../kit/ids.ts';
import { errorTypes, toShortType } from './error-types.ts';
import { fault, type Place, readInteger, readObject, readText } from './source.ts';

const dayMs = 86_400_000;
const maxDurationMs = 30 * dayMs;

const units: Readonly<Record<string, number>> = {
  days: dayMs,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
  milliseconds: 1,
};

const isoForm = /^P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?$/;

/** Reads `PT1M30S` or `{"minutes": 1, "seconds": 30}` as milliseconds. */
export function readDuration(place: Place, minMs = 0): number | undefined {
  const ms = typeof place.value === 'string' ? readIsoDuration(place, place.value) : readDurationObject(place);
  if (ms === undefined) return undefined;
  if (ms < minMs) return fault(place, 'must be longer than zero');
  if (ms > maxDurationMs) return fault(place, 'must be at most 30 days');
  return ms;
}

function readIsoDuration(place: Place, text: string): number | undefined {
  const match = isoForm.exec(text);
  if (match === null || /[PT]$/.test(text))
    return fault(place, 'must be a duration such as PT30S, PT1H30M or P2D, without years or months');
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return (weeks * 7 + days) * dayMs + hours * 3_600_000 + minutes * 60_000 + Math.round(seconds * 1_000);
}

function readDurationObject(place: Place): number | undefined {
  const names = Object.keys(units);
  const fields = readObject(place, names);
  if (fields === undefined) return undefined;
  const parts = names.flatMap((name) => {
    const field = fields.get(name);
    return field === undefined ? [] : [{ unitMs: units[name] ?? 0, count: readInteger(field, 0, maxDurationMs) }];
  });
  if (parts.length === 0)
    return fault(place, 'must contain at least one of days, hours, minutes, seconds, milliseconds');
  return parts.reduce((sum, { unitMs, count = 0 }) => sum + unitMs * count, 0);
}

/** The variables that every expression in a task may use. */
export const taskVariables = ['context', 'input', 'workflow', 'task', 'secrets'] as const;
const reservedVariables: readonly string[] = [...taskVariables, 'error', 'ENV', '__loc__'];
const variableForm = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Reads the name of a variable that the definition declares. */
export function readVariableName(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string' || !variableForm.test(value))
    return fault(place, 'must be 1 to 64 letters, digits and underscores, and must not begin with a digit');
  if (reservedVariables.includes(value) || value.startsWith('__'))
    return fault(place, `must not be a reserved name (${reservedVariables.join(', ')}) or begin with two underscores`);
  return value;
}

/** A URI defined by the specification. */
const standardType = /^https:\/\/serverlessworkflow\.io\/spec\/1\.0\.\d+\/errors\/(.*)$/s;

/** Reads an error type: one of ours, as a short name or a URI, or a URI that the author chose. */
export function readErrorType(place: Place): string | undefined {
  const text = readText(place, 256);
  if (text === undefined) return undefined;
  const type = toShortType(text);
  const isKnown = errorTypes.some((known) => known === type);
  const isOwn = /^[a-z][a-z0-9+.-]*:\S+$/i.test(type) && !standardType.test(type);
  return isKnown || isOwn ? type : fault(place, `must be one of ${errorTypes.join(', ')}, or a URI of your own`);
}

/** Reads a literal string. Expressions are rejected, because they would be compared literally and never match. */
export function readLiteralText(place: Place, max: number): string | undefined {
  const text = readText(place, max);
  return text?.startsWith('${') ? fault(place, 'must not be an expression') : text;
}

export const isId = (value: unknown): value is string => typeof value === 'string' && idOrNull(value) !== null;

/** Reads a literal id. */
export const readId = (place: Place): string | undefined =>
  isId(place.value) ? place.value : fault(place, 'must be an id or an expression');

const entityForm = /^[A-Za-z]\w{0,63}$/;

/** Reads a literal entity name. */
export function readEntityName(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string' || !entityForm.test(value))
    return fault(place, 'must be an entity name of up to 64 letters, digits and underscores, beginning with a letter');
  place.findings.entityNames.add(value);
  return value;
}
