// Owns the placeholders for the temporary user's e-mail and password. Models, recordings and reports get the placeholders; only
// the page gets the values. Each run has another user, so a recording with values could not be replayed either.
import type { TestUser } from './types.ts';

const emailPlaceholder = '{{email}}';
export const passwordPlaceholder = '{{password}}';

/** The value with each e-mail and password in its texts replaced by the placeholder, also as they are in URLs and in HTML. */
export const hideCredentials = <Value>(value: Value, testUser: TestUser): Value => {
  const forms = listForms(testUser);
  return mapTexts(value, (text) =>
    forms.reduce((hidden, [form, placeholder]) => hideForm(hidden, form, placeholder), text),
  );
};

/** The value with each placeholder in its texts replaced. */
export const fillCredentials = <Value>(value: Value, { email, password }: TestUser): Value =>
  mapTexts(value, (text) =>
    // Functions, because `$&` in a replacement has a meaning.
    text.replaceAll(emailPlaceholder, () => email).replaceAll(passwordPlaceholder, () => password),
  );

const hideForm = (text: string, form: string, placeholder: string): string =>
  text.replace(new RegExp(RegExp.escape(form), 'gi'), placeholder);

/** Pages show e-mail addresses in other cases, so these are compared without regard to it. */
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
