// Decides which host a request is for. The host distinguishes requests to published apps from requests to the API, so
// requests with an ambiguous host are rejected.
import type { IncomingMessage } from 'node:http';

/**
 * The host of an absolute target takes precedence over the Host header (RFC 9112, 3.2.2):
 *
 *   GET http://shop.example/a?b    Host: other.example    is read as    GET /a?b    Host: shop.example
 */
export function takeAbsoluteTarget(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.startsWith('/')) return;
  const [, host, target] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(url) ?? [];
  if (host === undefined || target === undefined) return;
  request.headers.host = host;
  request.url = target.startsWith('/') ? target : `/${target}`;
}

/** A name or an address with an optional port. */
const hostForm = /^(?:[\w.~-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** Whether there is at most one Host header, and its value is a well-formed host. */
export function hasUsableHost({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): boolean {
  if (!hostForm.test(headers.host ?? '')) return false;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count <= 1;
}
