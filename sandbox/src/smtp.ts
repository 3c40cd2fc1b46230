// A mail server for development and tests. It accepts mail over real SMTP and shows it in an inbox over HTTP: as a page
// to browsers, as JSON to programs. It can be switched to be slow, reject mail or close connections.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { answerWithMailHtml, type ShownMail, toInboxPage } from './inbox-page.ts';
import { answerWithPage, notFoundPage, wantsPage } from './pages/page.ts';

export interface Mail {
  readonly to: string[];
  readonly from: string;
  readonly subject: string;
  readonly text: string;
}

export interface MailSandbox {
  /** The setting `SMTP_URL`. It names the inbox, to which the console links. */
  readonly smtpUrl: string;
  /** `GET /inbox?to=…` returns the messages as JSON, newest last. Browsers get a page, newest first. */
  readonly inboxUrl: string;
  readonly inbox: readonly Mail[];
  behave(how: Behaviour): void;
  close(): Promise<void>;
}

export type Behaviour = 'well' | 'refusing' | 'hanging up';

const keptMails = 1_000;

/** `startPage` is the sandbox's start page. */
export async function startMailSandbox(
  ports: { smtp: number; inbox: number } = { smtp: 0, inbox: 0 },
  startPage?: string,
): Promise<MailSandbox> {
  const inbox: Mail[] = [];
  const shown: ShownMail[] = [];
  let nextId = 1;
  let behaviour: Behaviour = 'well';
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, session, done) => {
      if (behaviour === 'hanging up') (session as unknown as { _connection?: { close(): void } })._connection?.close();
      done(behaviour === 'refusing' ? Object.assign(new Error('mailbox unavailable'), { responseCode: 550 }) : null);
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map((recipient) => recipient.address);
        read(Buffer.concat(chunks), to).then(({ mail, html }) => {
          inbox.push(mail);
          shown.push({ ...mail, id: nextId++, at: Date.now(), html });
          for (const list of [inbox, shown]) list.splice(0, list.length - keptMails);
          done();
        }, done);
      });
    },
  });
  smtp.on('error', () => {}); // `listen` reports a port in use, and disconnecting clients can be ignored
  const port = await listen(smtp.server as unknown as Server, ports.smtp, () => smtp.listen(ports.smtp, '127.0.0.1'));
  const pages = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://inbox');
    const to = searchParams.get('to');
    if (wantsPage(request)) {
      const { status, headers, body } = answerBrowser(pathname, to || null);
      return void response.writeHead(status, headers).end(body);
    }
    const mails = to === null ? inbox : inbox.filter((mail) => mail.to.includes(to));
    response.setHeader('vary', 'accept');
    response.setHeader('content-type', 'application/json').end(JSON.stringify(mails));
  });
  function answerBrowser(pathname: string, to: string | null) {
    if (pathname === '/') return { status: 302, headers: { location: '/inbox' }, body: '' };
    if (pathname === '/inbox') return answerWithPage(toInboxPage({ mails: shown, to, keptMails, startPage }));
    const id = /^\/inbox\/(\d+)\/html$/.exec(pathname)?.[1];
    const html = shown.find((mail) => String(mail.id) === id)?.html;
    return html === undefined ? answerWithPage(notFoundPage(startPage), 404) : answerWithMailHtml(html);
  }
  const inboxPort = await listen(pages, ports.inbox, () => pages.listen(ports.inbox, '127.0.0.1'));
  const inboxUrl = `http://127.0.0.1:${inboxPort}/inbox`;
  return {
    smtpUrl: `smtp://127.0.0.1:${port}?inbox=${encodeURIComponent(inboxUrl)}`,
    inboxUrl,
    inbox,
    behave: (how) => {
      behaviour = how;
    },
    close: async () => {
      await new Promise<void>((resolve) => smtp.close(resolve));
      await new Promise((resolve) => pages.close(resolve));
    },
  };
}

async function read(raw: Buffer, to: string[]): Promise<{ mail: Mail; html: string | undefined }> {
  const { from, subject = '', text = '', html } = await PostalMime.parse(raw);
  return { mail: { to, from: from?.address ?? '', subject, text }, html };
}

async function listen(server: Server, _port: number, start: () => void): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('listening', resolve);
  server.once('error', reject);
  start();
  await promise;
  return (server.address() as AddressInfo).port;
}
