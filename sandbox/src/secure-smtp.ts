// A mail server for tests that accepts mail only over STARTTLS and from one user.
import type { AddressInfo, Server } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { Certificate } from './certificates.ts';

export async function startSecureMail(certificate: Certificate, login: { user: string; password: string }) {
  let messages = 0;
  const smtp = new SMTPServer({
    ...certificate,
    onAuth: ({ username, password }, _session, done) =>
      username === login.user && password === login.password
        ? done(null, { user: username })
        : done(new Error('the login is wrong')),
    onData: (_stream, _session, done) => {
      messages += 1;
      done();
    },
  });
  smtp.on('error', () => {}); // clients that disconnect
  const listening = await new Promise<Server>((resolve) => {
    const server = smtp.listen(0, '127.0.0.1', () => resolve(server));
  });
  return {
    port: (listening.address() as AddressInfo).port,
    countMessages: () => messages,
    close: () => new Promise<void>((resolve) => smtp.close(() => resolve())),
  };
}
