// Owns the formats that a schema may ask of a text (docs/contract.md §5.1), each with the fault it is refused by.
import { isIPv4, isIPv6 } from 'node:net';
import { parseTime } from '../../../kit/text.ts';
import { compilingSteps, patternOf } from './pattern.ts';

interface Format {
  readonly fault: string;
  holds(text: string): boolean;
  /** What looking costs, where that is worth counting. */
  steps?(text: string): number;
}

const matching = (form: RegExp): Format => ({ fault: 'string_pattern_mismatch', holds: (text) => form.test(text) });
const checked = (holds: (text: string) => boolean): Format => ({ fault: 'string_pattern_mismatch', holds });
const anyText = checked(() => true);

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const hostname = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
const clockTime = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;
const emailForm = /^[^\s@"(),:;<>[\\\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z0-9-]{2,}$/;

const named = {
  date: { fault: 'date_parsing', holds: isDate },
  'date-time': { fault: 'datetime_parsing', holds: (text) => parseTime(text) !== undefined },
  time: matching(clockTime),
  email: { fault: 'email_parsing', holds: (text) => text.length <= 254 && emailForm.test(text) },
  uri: { fault: 'url_parsing', holds: (text) => text.length <= 2048 && URL.canParse(text) },
  hostname: matching(hostname),
  ipv4: checked(isIPv4),
  ipv6: checked((text) => isIPv6(text) && !text.includes('%')),
  uuid: matching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i),
  regex: { ...checked((text) => patternOf(text) !== undefined), steps: compilingSteps },
  // What a form shows as an upload or an editor: where the file lies and how the text is marked up is the app's own affair.
  file: anyText,
  richtext: anyText,
} satisfies Record<string, Format>;

export type FormatName = keyof typeof named;
export const formats: Readonly<Record<FormatName, Format>> = named;

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text) && text >= '1970';
}
