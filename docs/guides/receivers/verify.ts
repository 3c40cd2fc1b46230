// Verifies that a delivery is genuine and recent. Copy `verify` into your receiver, or run this file (Node 24):
//   WEBHOOK_SECRET=whsec_… node verify.ts HEADERS [BODY]      HEADERS: a file of `Name: value` lines; BODY: or stdin
// Exit code 0: genuine. 1: refused, with the reason on stderr.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

const toleranceSeconds = 5 * 60;

/** Returns undefined if the delivery is genuine, otherwise the reason. `body`: the raw bytes, before any parsing. */
export function verify(secret: string, header: (name: string) => string, body: Buffer, nowMs: number) {
  if (!/^whsec_./.test(secret)) return 'WEBHOOK_SECRET is missing or does not begin with whsec_';
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')];
  if (!/^\d+$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds)
    return 'webhook-timestamp is more than five minutes off';
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const standard = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
  const signatures = header('webhook-signature').split(' ');
  if (!signatures.some((signature) => same(signature, standard))) return 'webhook-signature does not match';
  // For 24 hours after a rotation there are two signatures, and X-Service-Signature is made with the new secret only.
  const service = createHmac('sha256', secret).update(body).digest('hex');
  if (signatures.length === 1 && !same(header('x-service-signature'), service))
    return 'X-Service-Signature does not match';
  return undefined;
}

/** Compares in constant time. */
function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

if (import.meta.main) {
  const [headersFile = '', bodyFile = 0] = process.argv.slice(2);
  const headers = new Map(
    readFileSync(headersFile, 'utf8')
      .split(/\r?\n/)
      .map((line) => [line.split(':')[0]?.toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const header = (name: string) => headers.get(name) ?? '';
  const refused = verify(process.env.WEBHOOK_SECRET ?? '', header, readFileSync(bodyFile), Date.now());
  if (refused !== undefined) console.error(refused);
  process.exitCode = refused === undefined ? 0 : 1;
}
