// The API calls of `plinth dev`, made with the token of the demo's owner or of an app user.
import { randomUUID } from 'node:crypto';

export type DemoRequest = <Body>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  payload?: object,
  as?: string,
  headers?: Readonly<Record<string, string>>,
) => Promise<Body>;

/** These calls' request ids start with this prefix, so `plinth dev` can leave the calls out of its log. */
export const demoRequestPrefix = 'plinth-dev-';

/** Throws if the status is not 200. `as` is another person's token. */
export const demoRequest =
  (baseUrl: string, token: string): DemoRequest =>
  async (method, url, payload, as = token, headers = {}) => {
    const response = await fetch(baseUrl + url, {
      method,
      headers: {
        ...headers,
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        authorization: `Bearer ${as}`,
        'x-request-id': demoRequestPrefix + randomUUID(),
      },
      ...(payload !== undefined && { body: JSON.stringify(payload) }),
    });
    const body = await response.text();
    if (response.status !== 200) throw new Error(`demo data: ${method} ${url} returned ${response.status}: ${body}`);
    return JSON.parse(body);
  };
