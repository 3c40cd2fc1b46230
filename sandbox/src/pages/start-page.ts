// The sandbox's start page: what each server stands in for, and where its page is.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Html, html } from './html.ts';
import { notFoundPage, sendPage } from './page.ts';

interface ServerLink {
  readonly text: string;
  readonly url: string;
}

/** A server of the sandbox, as the start page presents it. */
export interface ListedServer {
  readonly name: string;
  /** What it stands in for, in one sentence. */
  readonly description: string;
  readonly address: string;
  /** Its page for people. */
  readonly page?: ServerLink;
  /** What it shows as JSON. */
  readonly json?: ServerLink;
}

export interface StartPage {
  readonly url: string;
  /** Lists the servers. They start after the page, because their pages link to it. */
  list(servers: readonly ListedServer[]): void;
  close(): Promise<void>;
}

export async function startStartPage(port = 0): Promise<StartPage> {
  let listed: readonly ListedServer[] = [];
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/') return sendPage(response, notFoundPage(url), 404);
    sendPage(response, { title: 'Servers', main: renderServers(listed), startPage: url });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    list: (servers) => {
      listed = servers;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const renderServers = (servers: readonly ListedServer[]): Html => html`<h1>Sandbox</h1>
<p class="quiet">These servers stand in for the services that Plinth talks to, while you develop. All of them are on this machine, and nothing leaves it.</p>
<ul class="servers">${servers.map(renderServer)}</ul>`;

const renderServer = ({ name, description, address, page, json }: ListedServer): Html => html`<li>
<h2>${name}</h2>
<p>${description}</p>
<p class="quiet"><code>${address}</code></p>
<p class="links">${page && html`<a class="button" href="${page.url}">${page.text}</a>`}
${json && html`<a href="${json.url}">${json.text} (JSON)</a>`}</p>
</li>`;
