// The `format` values in schemas (docs/api/entities.md#schema-document), each with its fault type.
import { isIPv4, isIPv6 } from 'node:net';
import { parseTime } from '../../../kit/text.ts';
import { compilePattern, estimateCompileSteps } from './pattern.ts';

interface Format {
  readonly fault: string;
  accepts(text: string): boolean;
  /** The cost of the check, if it counts against the pattern budget. */
  countSteps?(text: string): number;
}

const matchesPattern = (form: RegExp): Format => ({
  fault: 'string_pattern_mismatch',
  accepts: (text) => form.test(text),
});
const passesCheck = (accepts: (text: string) => boolean): Format => ({
  fault: 'string_pattern_mismatch',
  accepts,
});
const anyText = passesCheck(() => true);

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const hostname = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
const clockTime = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;
const emailForm = /^[^\s@"(),:;<>[\\\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z0-9-]{2,}$/;

const formatsByName = {
  date: { fault: 'date_parsing', accepts: isDate },
  'date-time': { fault: 'datetime_parsing', accepts: (text) => parseTime(text) !== undefined },
  time: matchesPattern(clockTime),
  email: { fault: 'email_parsing', accepts: (text) => text.length <= 254 && emailForm.test(text) },
  uri: { fault: 'url_parsing', accepts: (text) => text.length <= 2048 && URL.canParse(text) },
  hostname: matchesPattern(hostname),
  ipv4: passesCheck(isIPv4),
  ipv6: passesCheck((text) => isIPv6(text) && !text.includes('%')),
  uuid: matchesPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i),
  regex: { ...passesCheck((text) => compilePattern(text) !== undefined), countSteps: estimateCompileSteps },
  // Hints for forms, which show a file upload or an editor. Any text is accepted.
  file: anyText,
  richtext: anyText,
} satisfies Record<string, Format>;

export type FormatName = keyof typeof formatsByName;
export const formats: Readonly<Record<FormatName, Format>> = formatsByName;

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text) && text >= '1970';
}
