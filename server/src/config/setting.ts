// Setting declarations, and the parsers that several subjects share.

export interface Setting<Value> {
  readonly description: string;
  /** The default as it would appear in the environment. Undefined if the setting has no default. */
  readonly defaultText?: string;
  /** If true, the service does not start without this setting. */
  readonly required?: true;
  parse(text: string): Value;
}

/** The parsed values of a subject's settings. */
export type Values<Settings> = {
  readonly [Name in keyof Settings]: Settings[Name] extends Setting<infer Value> ? Value : never;
};

export type Environment = Readonly<Record<string, string | undefined>>;

export const setting = <Value>(about: string, fallback: string, parse: (text: string) => Value): Setting<Value> => ({
  description: about,
  defaultText: fallback,
  parse,
});

export const required = <Value>(about: string, parse: (text: string) => Value): Setting<Value> => ({
  description: about,
  required: true,
  parse,
});

export const optional = <Value>(about: string, parse: (text: string) => Value): Setting<Value | undefined> => ({
  description: about,
  parse,
});

export const text = (value: string) => value;

export function wholeNumber(min: number, max: number) {
  return (value: string): number => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max)
      throw new Error(`must be an integer from ${min} to ${max}`);
    return number;
  };
}

export function flag(value: string): boolean {
  if (value !== 'true' && value !== 'false') throw new Error('must be true or false');
  return value === 'true';
}

export function oneOf<const V extends string>(values: readonly V[]) {
  return (value: string): V => {
    const found = values.find((each) => each === value);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  };
}

export function listOf<const V extends string>(values: readonly V[]) {
  const parse = oneOf(values);
  return (value: string): V[] => [...new Set(commaList(value).map(parse))];
}

export function matching(form: RegExp, hint: string) {
  return (value: string): string => {
    if (!form.test(value)) throw new Error(`must be ${hint}`);
    return value;
  };
}

export function url(...protocols: string[]) {
  return (value: string): string => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new Error(`must be a URL (${protocols.join(' or ')}//…)`);
    return value.replace(/\/$/, '');
  };
}

/** Accepts labels of letters, digits and hyphens. The domain must leave room for a slug of 63 characters before it. */
export function domain(value: string): string {
  const name = value.toLowerCase().replace(/\.$/, '');
  const isName = name.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
  if (!isName || name.length > 189 || /(^|\.)\d+$/.test(name))
    throw new Error('must be a domain name, such as apps.example, without a scheme or port');
  return name;
}

export function time(value: string): Date {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) throw new Error('must be a date, such as 2027-03-01');
  return date;
}

export const commaList = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
