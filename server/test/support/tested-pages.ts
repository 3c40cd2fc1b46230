// Small pages for browser tests, served by a real server: a task list and a sign-in form. Tests can replace parts
// of both.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

export interface PageParts {
  readonly field?: string;
  readonly button?: string;
  /** A JavaScript expression that computes the number of tasks from `tasks`. */
  readonly count?: string;
  readonly more?: string;
  readonly script?: string;
}

const parts: Required<PageParts> = {
  field: '<label>New task <input name="title" placeholder="What to do?" data-testid="title"></label>',
  button: '<button data-testid="add">Add</button>',
  count: 'tasks.length',
  more: '',
  script: '',
};

const renderPage = (body: string, script: string) => `<!doctype html><html lang="en"><title>Tasks</title>
<link rel="icon" href="data:,"><main><h1>Tasks</h1>${body}</main><script>${script}</script></html>`;

/** Renders a page with a form, and a list of tasks with their count. */
export function renderTasks(replaced: PageParts = {}): string {
  const { field, button, count, more, script } = { ...parts, ...replaced };
  return renderPage(
    `<form id="add" aria-label="New task">${field} ${button}</form><p role="status"></p><ul></ul>${more}`,
    `const tasks = [];
    const input = document.querySelector('#add input');
    function show() {
      document.querySelector('[role=status]').textContent = (${count}) + ' of ' + tasks.length + ' to do';
      document.querySelector('ul').replaceChildren(...tasks.map((task) => Object.assign(document.createElement('li'), { textContent: task })));
    }
    document.querySelector('#add').addEventListener('submit', (event) => {
      event.preventDefault();
      tasks.push(input.value);
      input.value = '';
      show();
    });
    ${script}`,
  );
}

/** Renders a sign-in page that shows the signed-in user and the length of their password. */
export const renderSignIn = (): string =>
  renderPage(
    `<form aria-label="Sign in"><label>E-mail <input name="email"></label>
    <label>Password <input name="password" type="password"></label><button>Sign in</button></form><p role="status"></p>`,
    `document.querySelector('form').addEventListener('submit', (event) => {
      event.preventDefault();
      const { email, password } = Object.fromEntries(new FormData(event.target));
      document.querySelector('[role=status]').textContent = 'Signed in as ' + email + ', ' + password.length + ' characters';
      event.target.remove();
    });`,
  );

export interface TestedPages {
  readonly origin: string;
  /** The pages' bodies, by path. Other paths return 404, and paths under `/broken` return 500. */
  readonly pages: Map<string, string>;
  /** The method, URL and body of every request. */
  readonly received: string[];
}

export async function startTestedPages(): Promise<TestedPages> {
  const pages = new Map<string, string>();
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push(`${request.method} ${request.url} ${body}`);
    const path = new URL(request.url ?? '/', 'http://page').pathname;
    const page = pages.get(path);
    response.writeHead(path.startsWith('/broken') ? 500 : page === undefined ? 404 : 200, {
      'content-type': 'text/html',
    });
    response.end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, pages, received };
}
