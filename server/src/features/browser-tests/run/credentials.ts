// The placeholders for the temporary user's e-mail address and password. Models, recordings and reports contain
// only placeholders; only the page receives the real values. Each run has a different user, so a recording with real
// values could not be replayed.
import type { TestUser } from './types.ts';

const emailPlaceholder = '{{email}}';
export const passwordPlaceholder = '{{password}}';

/**
 * Replaces the e-mail address and password in all strings within the value, including URL-encoded forms, with their
 * placeholders.
 */
export const hideCredentials = <Value>(value: Value, testUser: TestUser): Value => {
  const forms = listForms(testUser);
  return mapTexts(value, (text) =>
    forms.reduce((hidden, [form, placeholder]) => hideForm(hidden, form, placeholder), text),
  );
};

/** Replaces each placeholder in all strings within the value. */
export const fillCredentials = <Value>(value: Value, { email, password }: TestUser): Value =>
  mapTexts(value, (text) =>
    // Passes functions, because `$&` is special in a replacement string.
    text.replaceAll(emailPlaceholder, () => email).replaceAll(passwordPlaceholder, () => password),
  );

const hideForm = (text: string, form: string, placeholder: string): string =>
  text.replace(new RegExp(RegExp.escape(form), 'gi'), placeholder);

/** Pages may change the case of an e-mail address, so case is ignored. */
function listForms({ email, password }: TestUser): (readonly [form: string, placeholder: string])[] {
  const encode = (text: string) => [
    text,
    encodeURIComponent(text),
    new URLSearchParams([['', text]]).toString().slice(1),
  ];
  return [
    ...encode(password).map((form) => [form, passwordPlaceholder] as const),
    ...encode(email).map((form) => [form, emailPlaceholder] as const),
  ];
}

function mapTexts<Value>(value: Value, map: (text: string) => string): Value;
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, map));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapTexts(each, map)]));
}
