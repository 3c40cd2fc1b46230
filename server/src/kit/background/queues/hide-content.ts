// Hides what people have stored from the texts that operators see of queue rows: keys and error messages.
import { createHash } from 'node:crypto';

const hidden = '…';
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/** In this order, because an address may contain a host name. */
const contents: readonly RegExp[] = [
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>]+/gi, // URLs
  /[^\s"'`<>@:;,()]+@[^\s"'`<>@:;,()]+/g, // e-mail addresses
  /(?<!\w)(["'`])(?:(?!\1).)+\1(?!\w)/gs, // quoted values, but not the apostrophes of two contractions
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, // IPv4 addresses
  /\b(?:[a-z0-9-]+\.)+[a-z]{2,}\b/gi, // host names
  new RegExp(`(?<![\\w+/=.-])(?!${uuid}\\b)(?=[\\w+/=.-]*\\d)[\\w+/=.-]{24,}`, 'g'), // tokens and keys. Ids are shown
];

/**
 * Hides what an error message quotes: URLs, e-mail addresses, host names, quoted values, tokens.
 * `connect ECONNREFUSED 10.1.2.3:25` becomes `connect ECONNREFUSED …`.
 */
export const hideContent = (text: string): string =>
  contents.reduce((text, expression) => text.replace(expression, hidden), text);

/**
 * Replaces the words of a key that are not ids by a hash, so equal keys are recognised.
 * `019800aa-52a0-7c4e-8d29-0a4c1d2e9001 example.com` becomes `019800aa-52a0-7c4e-8d29-0a4c1d2e9001 #a379a6f6`.
 */
export const hideInKey = (key: string): string =>
  key
    .split(' ')
    .map((word) => (isId.test(word) ? word : `#${createHash('sha256').update(word).digest('hex').slice(0, 8)}`))
    .join(' ');

const isId = new RegExp(`^${uuid}$`);
