// A drill's receiver: a program in its own process that is never killed, listens over HTTPS on loopback addresses,
// and keeps a journal.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Certificate, makeAuthority } from '../../sandbox/src/certificates.ts';

/**
 * The content of the first message to the program, `listen`. The program replies with its `port`, which is the same on
 * all addresses.
 */
export interface ListenOptions {
  readonly journal: string;
  readonly addresses: readonly string[];
  readonly certificate: Certificate;
}

export interface ReceiverProcess {
  /** A file with the certificate that clients must trust. */
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
