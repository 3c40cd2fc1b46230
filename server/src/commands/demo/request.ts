// Owns how `plinth dev` calls the API: in this process, with the demo owner's token or that of an app user.
import type { App } from '../../app.ts';

export type DemoRequest = <Body>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  payload?: object,
  as?: string,
  headers?: Readonly<Record<string, string>>,
) => Promise<Body>;

/** Throws if the answer is not 200. `as`: the token of somebody else. */
export const demoRequest =
  ({ server }: App, token: string): DemoRequest =>
  async (method, url, payload, as = token, headers = {}) => {
    const authorization = `Bearer ${as}`;
    const response = await server.inject({ method, url, payload, headers: { ...headers, authorization } });
    if (response.statusCode !== 200)
      throw new Error(`demo data: ${method} ${url} returned ${response.statusCode}: ${response.body}`);
    return response.json();
  };
