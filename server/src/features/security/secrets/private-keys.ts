// Finds private keys: PEM and PGP blocks, including string literals with escaped or joined line endings.
import type { SecretMatch } from './kinds.ts';
import { entropyOf, isPlaceholder } from './placeholder.ts';

const begin = /-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----/g;
/** The longest keys in use have 8,192 bits and take up 6,400 characters. */
const maxBlock = 8_192;
const minKeyCharacters = 40;

export function findPrivateKeys(text: string): SecretMatch[] {
  if (!text.includes('PRIVATE KEY')) return [];
  return [...text.matchAll(begin)].flatMap(({ 0: head, index }) => {
    const block = text.slice(index + head.length, index + head.length + maxBlock);
    const end = block.indexOf('-----');
    const body = end < 0 ? block.slice(0, 200) : block.slice(0, end);
    const secret = toKeyText(body);
    if (secret.length < minKeyCharacters || entropyOf(secret) < 3.5 || isStandIn(body)) return [];
    return [{ kind: 'private_key', start: index, end: index + head.length + body.length, secret }];
  });
}

/** The base64 text alone, so the same key with different line endings has the same identity. */
const toKeyText = (body: string): string =>
  body
    .replace(/\\[nrt]/g, '')
    .replace(/^\s*[A-Za-z-]+:.*$/gm, '')
    .replace(/[^A-Za-z0-9+/=]/g, '');

const isStandIn = (body: string): boolean => isPlaceholder(body.replace(/[^A-Za-z.…<*]/g, '').slice(0, 80));
