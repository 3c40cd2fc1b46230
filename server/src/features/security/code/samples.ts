// Tests what a regular expression in an app's code lets through, by trying it on dangerous sample strings. Runs
// only in the child process, which can be killed, because the expression may never finish.
import ts from 'typescript';
import { type Use, uses } from './origins.ts';

const dangerous: Readonly<Record<Use, readonly string[]>> = {
  sql: ["x' OR '1'='1", 'name; DROP TABLE users', '1 OR 1=1'],
  command: ['x; id', 'x && id', '$(id)', 'x | id'],
  code: ['process.exit()', 'alert(1)'],
  nosql: ['[object Object]'],
  html: ['<img src=x onerror=alert(1)>', '"><script>alert(1)</script>', '<b>'],
  address: ['http://169.254.169.254/latest', 'https://evil.example/', 'http://localhost:22/'],
  redirect: ['https://evil.example/', '//evil.example/', 'javascript:alert(1)'],
  path: ['../../etc/passwd', '..', '/etc/passwd'],
  cors: ['https://evil.example', 'https://example.com.evil.example', 'null'],
  key: ['__proto__', 'constructor'],
};

const listed = (Object.keys(uses) as Use[]).map((use) => ({ bit: uses[use], samples: dangerous[use] }));

export function readRegExp(node: ts.Node): RegExp | undefined {
  if (!ts.isRegularExpressionLiteral(node)) return undefined;
  const at = node.text.lastIndexOf('/');
  try {
    return new RegExp(node.text.slice(1, at), node.text.slice(at + 1).replace(/[gy]/g, ''));
  } catch {
    return undefined;
  }
}

/**
 * The uses for which a string is safe if the expression matches it (or, with false, does not match it). `isHost` means
 * that the string is a host or an origin, so it has no path.
 */
export function usesSafeAfterMatch(expression: RegExp, matches: boolean, isHost = false): number {
  let bits = 0;
  for (const { bit, samples } of listed) {
    if (samples.every((sample) => expression.test(sample) !== matches)) bits |= bit;
  }
  const isOpen = isOpenEnded(expression.source) || (matches && matchesOtherHost(expression, isHost));
  return isOpen ? bits & ~(uses.address | uses.redirect | uses.cors) : bits;
}

/** Tries hosts that only resemble those in the expression, such as `evilshop.example` for `shop\.example$`. */
function matchesOtherHost(expression: RegExp, isHost: boolean): boolean {
  const hosts = expression.source.match(/[a-z0-9-]+(?:\\?\.[a-z0-9-]+)+/gi) ?? [];
  return hosts.slice(0, 5).some((written) => {
    const host = written.replaceAll('\\', '');
    const others = [`evil${host}`, `${host}.evil.test`, `${host.replaceAll('.', '0')}.test`, host.replaceAll('.', '0')];
    const addresses = isHost
      ? []
      : [`https://evil.test/${host}`, `https://evil.test/?${host}/`, `https://${host}@evil.test/`];
    return [...others, ...others.map((other) => `https://${other}`), ...addresses].some((text) =>
      expression.test(text),
    );
  });
}

/** A URL pattern that does not mark the end of the host also matches `https://example.com.evil.example`. */
function isOpenEnded(source: string): boolean {
  const [, host] = /:\\?\/\\?\/(.*)$/.exec(source) ?? [];
  if (host === undefined) return !source.startsWith('^') && /\\\.\w+$/.test(source);
  return !source.startsWith('^') || !/\\\/|\$|\//.test(host);
}

const marks: readonly (readonly [number, RegExp])[] = [
  [uses.html, /</],
  [uses.sql, /['";]/],
  [uses.command, /[;|&$`\n(]/],
  [uses.code, /[(;]/],
  [uses.path, /\.\.[/\\]|^\//],
  [uses.address, /:\/\/|^\/\//],
  [uses.redirect, /:\/\/|^\/\//],
  [uses.cors, /:\/\//],
];
const everyMark = `../..//etc <b a="x" c='y'>; | & $( \` \n https://evil.example/ ....// //x`;

/** The uses for which a string is safe after its matches have been replaced. */
export function usesSafeAfterReplace(node: ts.Node, replacement: string, replacesAll: boolean): number {
  let replaced: string;
  if (ts.isRegularExpressionLiteral(node)) {
    const expression = readRegExp(node);
    if (expression === undefined || (!replacesAll && !/\/\w*g\w*$/.test(node.text))) return 0;
    replaced = everyMark.replace(new RegExp(expression.source, `${expression.flags}g`), replacement);
  } else if (ts.isStringLiteralLike(node) && replacesAll) {
    replaced = everyMark.replaceAll(node.text, replacement);
  } else return 0;
  let bits = 0;
  for (const [bit, mark] of marks) if (!mark.test(replaced)) bits |= bit;
  return bits;
}
