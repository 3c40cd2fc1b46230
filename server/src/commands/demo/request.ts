// Owns how `plinth dev` calls the API: in this process, with the demo owner's token or that of an app user.
import type { App } from '../../app.ts';

export type DemoRequest = <Body>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  payload?: object,
  as?: string,
) => Promise<Body>;

/** Throws if the answer is not 200. `as`: the token of somebody else. */
export const demoRequest =
  ({ server }: App, token: string): DemoRequest =>
  async (method, url, payload, as = token) => {
    const response = await server.inject({ method, url, payload, headers: { authorization: `Bearer ${as}` } });
    if (response.statusCode !== 200)
      throw new Error(`demo data: ${method} ${url} returned ${response.statusCode}: ${response.body}`);
    return response.json();
  };
