// Owns how `plinth dev` calls the API: with the demo owner's token or that of an app user.
import { randomUUID } from 'node:crypto';

export type DemoRequest = <Body>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  payload?: object,
  as?: string,
  headers?: Readonly<Record<string, string>>,
) => Promise<Body>;

/** The ids of these requests begin like this, and the log that `plinth dev` shows leaves them out. */
export const demoRequestPrefix = 'plinth-dev-';

/** Throws if the answer is not 200. `as`: the token of somebody else. */
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
