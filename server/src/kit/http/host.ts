// Owns which host a request is for. By the host, requests of published apps are told from those of the API, so a request whose host
// can be read in two ways is refused.
import type { IncomingMessage } from 'node:http';

/**
 * The host of an absolute target counts, whatever the Host header says (RFC 9112, 3.2.2):
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

/** A name or an address, and perhaps a port. */
const hostForm = /^(?:[\w.~-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** Whether there is at most one Host header, and its value has the form of a host. */
export function hasUsableHost({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): boolean {
  if (!hostForm.test(headers.host ?? '')) return false;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count <= 1;
}
