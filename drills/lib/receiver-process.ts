// Owns the receiver of a drill: a program in a process of its own, which is never killed, listens over HTTPS on addresses of
// loopback, and keeps a journal.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Certificate, makeAuthority } from '../../sandbox/src/certificates.ts';

/** The first message that the program gets, as `listen`. It answers with its `port`, the same on all addresses. */
export interface ListenOptions {
  readonly journal: string;
  readonly addresses: readonly string[];
  readonly certificate: Certificate;
}

export interface ReceiverProcess {
  /** A file with the certificate that clients have to trust. */
  readonly authority: string;
  readonly port: number;
  send(command: object): void;
  stop(): void;
}

export async function startReceiver(
  program: string,
  { folder, journal, addresses }: { folder: string; journal: string; addresses: readonly string[] },
): Promise<ReceiverProcess> {
  const authority = await makeAuthority();
  const trusted = join(folder, 'authority.pem');
  writeFileSync(trusted, authority.ca);
  const certificate = await authority.issue(...addresses.map((address) => `IP:${address}`));
  await authority.close();
  const child = fork(program);
  const listen: ListenOptions = { journal, addresses, certificate };
  child.send({ listen });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    authority: trusted,
    port,
    send: (command) => void child.send(command),
    stop: () => void child.kill('SIGKILL'),
  };
}
