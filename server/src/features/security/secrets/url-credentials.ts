// Finds passwords in URLs, such as `postgres://app:PASSWORD@db.example.net/main`.
import type { SecretMatch } from './kinds.ts';
import { entropyOf, isPlaceholder } from './placeholder.ts';

const schemeForm = /[a-z][a-z0-9+.-]{1,30}$/i;
const authorityForm = /^([^\s:@/"'`<>\\]{0,128}):([^\s@/"'`<>\\]{1,256})@([^\s/"'`:?#<>\\,;)]{1,255})/;

export function findUrlCredentials(text: string): SecretMatch[] {
  const found: SecretMatch[] = [];
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const authority = authorityForm.exec(text.slice(at + 3, at + 3 + 640));
    const [scheme] = schemeForm.exec(text.slice(Math.max(0, at - 32), at)) ?? [];
    if (authority === null || scheme === undefined) continue;
    const [whole, user = '', password = '', host = ''] = authority;
    // In Cloudinary URLs, the account name takes the place of the host.
    if (!isSecretPassword(user, password, scheme === 'cloudinary' ? `${host}.com` : host)) continue;
    const start = at + 3 + user.length + 1;
    found.push({ kind: 'url_credentials', start, end: at + 3 + whole.length, secret: password });
  }
  return found;
}

function isSecretPassword(user: string, password: string, host: string): boolean {
  if (password.length < 4 || isPlaceholder(password) || /^[$:%{[]|\$\{|^\w*_?PASS(?:WORD)?$/.test(password))
    return false;
  if (password.toLowerCase() === user.toLowerCase() || isHere(host)) return false;
  const isDocumented =
    /(?:^|\.)example(?:\.[a-z]{2,3})?$|\.(?:test|invalid)$|^(?:my|your)?-?(?:host|server|domain)/i.test(host);
  return !isDocumented || (password.length >= 12 && entropyOf(password) >= 3);
}

/** Whether a host is local: this machine, a private address, or a container, whose name has no dot. */
const isHere = (host: string): boolean =>
  /^(?:127\.|0\.0\.0\.0|\[|10\.|192\.168\.)|\.(?:local|localhost|internal)$/i.test(host) || !host.includes('.');
