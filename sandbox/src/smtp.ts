// A mail server for development and tests: takes every mail over real SMTP and shows it in an inbox over HTTP, with
// switches for a server that is slow, refuses or hangs up.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export interface Mail {
  readonly to: string[];
  readonly from: string;
  readonly subject: string;
  readonly text: string;
}

export interface MailSandbox {
  readonly smtpUrl: string;
  /** `GET /inbox?to=…` gives the mails as JSON, newest last. */
  readonly inboxUrl: string;
  readonly inbox: readonly Mail[];
  behave(how: Behaviour): void;
  close(): Promise<void>;
}

export type Behaviour = 'well' | 'refusing' | 'hanging up';

export async function startMailSandbox(
  ports: { smtp: number; inbox: number } = { smtp: 0, inbox: 0 },
): Promise<MailSandbox> {
  const inbox: Mail[] = [];
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
        read(Buffer.concat(chunks), to).then((mail) => {
          inbox.push(mail);
          done();
        }, done);
      });
    },
  });
  smtp.on('error', () => {}); // a port in use is reported by `listen`; a client that breaks off concerns nobody
  const port = await listen(smtp.server as unknown as Server, ports.smtp, () => smtp.listen(ports.smtp, '127.0.0.1'));
  const pages = createServer((request, response) => {
    const to = new URL(request.url ?? '/', 'http://inbox').searchParams.get('to');
    const mails = to === null ? inbox : inbox.filter((mail) => mail.to.includes(to));
    response.setHeader('content-type', 'application/json').end(JSON.stringify(mails));
  });
  const inboxPort = await listen(pages, ports.inbox, () => pages.listen(ports.inbox, '127.0.0.1'));
  return {
    smtpUrl: `smtp://127.0.0.1:${port}`,
    inboxUrl: `http://127.0.0.1:${inboxPort}/inbox`,
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

async function read(raw: Buffer, to: string[]): Promise<Mail> {
  const mail = await PostalMime.parse(raw);
  return { to, from: mail.from?.address ?? '', subject: mail.subject ?? '', text: mail.text ?? '' };
}

async function listen(server: Server, _port: number, start: () => void): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('listening', resolve);
  server.once('error', reject);
  start();
  await promise;
  return (server.address() as AddressInfo).port;
}
